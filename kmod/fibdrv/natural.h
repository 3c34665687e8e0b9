/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Natural numbers: limbs of 64 bits, the least first. Lengths are given apart
 * from the limbs, in limbs. Nothing here allocates.
 */
#ifndef FIBDRV_NATURAL_H
#define FIBDRV_NATURAL_H

#include "environment.h"

/*
 * Karatsuba's method halves its numbers and needs their halves to have two limbs
 * at least. The upper bound keeps what is done in one breath below some
 * milliseconds: a product of two numbers below the threshold is one.
 */
#define KARATSUBA_LEAST 4
#define KARATSUBA_MOST 1024
/* Measured: where halving wins, on an x86-64 (docs/kmod.md). */
#define KARATSUBA_USUAL 36

/* What a product may use: scratch limbs, and the length from which it halves; squares twice. */
struct natural_means {
	u64 *scratch;
	u32 karatsuba;
};

/* Scratch limbs that a product or square of numbers with `length` limbs needs. */
size_t natural_scratch(u32 length, u32 karatsuba);

/* `length` without leading zero limbs. */
u32 natural_trim(const u64 *a, u32 length);

/* sum = a + b, `length` limbs each; the carry. The sum may be a or b. */
u64 natural_add(u64 *sum, const u64 *a, const u64 *b, u32 length);

/* difference = a - b, `length` limbs each; the borrow. It may be a or b. */
u64 natural_subtract(u64 *difference, const u64 *a, const u64 *b, u32 length);

/*
 * product = a * b, a_length + b_length limbs, neither a nor b. It is made for
 * a_length >= b_length > 0 that are nearly the same. 0, or -EINTR.
 */
int natural_multiply(u64 *product, const u64 *a, u32 a_length, const u64 *b, u32 b_length,
		     const struct natural_means *means);

/* square = a * a, 2 * length limbs, not a; length > 0. 0, or -EINTR. */
int natural_square(u64 *square, const u64 *a, u32 length, const struct natural_means *means);

#endif
