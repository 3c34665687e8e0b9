/* SPDX-License-Identifier: GPL-2.0 */
/*
 * F(n), where F(0) = 0, F(1) = 1 and F(n) = F(n - 1) + F(n - 2), by five algorithms.
 */
#ifndef FIBDRV_FIBONACCI_H
#define FIBDRV_FIBONACCI_H

#include "environment.h"

/* As far as `max_n` may go. The sizes of all algorithms are far from overflow there. */
#define FIBONACCI_MOST 10000000

/* The bytes of an answer, and what they cost. */
struct fibonacci_answer {
	void *memory;		/* to be given to fibonacci_release() */
	const void *bytes;	/* somewhere in there */
	size_t size;
	u64 allocate_ns;
	u64 compute_ns;
};

struct fibonacci_algorithm {
	const char *name;
	/*
	 * Bytes that the answer has at least, from n alone: whoever has no room for them
	 * need not wait for all the work to hear of it.
	 */
	size_t (*least)(u32 n);
	/*
	 * n is at most FIBONACCI_MOST, karatsuba from KARATSUBA_LEAST to KARATSUBA_MOST.
	 * 0, -ENOMEM, or -EINTR; the answer is to be released after the first only.
	 */
	int (*compute)(u32 n, u32 karatsuba, struct fibonacci_answer *answer);
};

/* The first one is the usual one. */
#define FIBONACCI_ALGORITHMS 5
extern const struct fibonacci_algorithm fibonacci_algorithms[FIBONACCI_ALGORITHMS];

static inline void fibonacci_release(struct fibonacci_answer *answer)
{
	kvfree(answer->memory);
}

#endif
