/* SPDX-License-Identifier: GPL-2.0 */
#ifndef STUB_ATOMIC_H
#define STUB_ATOMIC_H

#include <linux/types.h>

typedef struct {
	s64 counter;
} atomic64_t;

#define ATOMIC64_INIT(value)	{ (value) }

s64 atomic64_read(const atomic64_t *from);
void atomic64_set(atomic64_t *to, s64 value);

#endif /* STUB_ATOMIC_H */
