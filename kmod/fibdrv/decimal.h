/* SPDX-License-Identifier: GPL-2.0 */
/*
 * F(n) in digits to the base of 10^9, for comparison: arithmetic as it was first
 * written in the diary that this driver answers, and after its first improvement.
 */
#ifndef FIBDRV_DECIMAL_H
#define FIBDRV_DECIMAL_H

#include "fibonacci.h"

/* Bytes that F(n) has at least in such digits. */
size_t decimal_least(u32 n);

/* An allocation and a free in each operation. */
int decimal_by_allocating(u32 n, u32 karatsuba, struct fibonacci_answer *answer);

/* Four numbers, allocated once; each is cleared as a whole before a product goes there. */
int decimal_by_size(u32 n, u32 karatsuba, struct fibonacci_answer *answer);

#endif
