/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the arithmetic needs from its surroundings: the kernel, or a program of
 * user space that tests the same sources (user.c).
 */
#ifndef FIBDRV_ENVIRONMENT_H
#define FIBDRV_ENVIRONMENT_H

#ifdef __KERNEL__

#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/types.h>

/*
 * To be called in long work, about every millisecond or more often: other tasks
 * get their turn, and a signal ends the work. A signal that was there before
 * counts too. Any signal ends it, not only a deadly one: who has set an alarm
 * wants to hear of it now, and a number can be asked for again. By hand: were it
 * begun anew by the kernel (ERESTARTSYS), work that is longer than the interval
 * of a timer would never end. The price is that it also fails where nothing is
 * handled, as when a debugger attaches or the process is frozen.
 */
static inline int breathe(void)
{
	cond_resched();
	return signal_pending(current) ? -EINTR : 0;
}

#else

#include <errno.h>
#include <limits.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef __s64 s64;
typedef __u32 u32;
typedef __u64 u64;

#define GFP_KERNEL_ACCOUNT 0
#define kvfree(memory) free(memory)
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Instructions are counted here, not nanoseconds. */
#define ktime_get_ns() 0ULL

static inline u32 max(u32 a, u32 b)
{
	return a > b ? a : b;
}

/* After how many more a breath or an allocation fails; never, if 0. In user.c. */
extern unsigned long breaths_left;
extern unsigned long allocations_left;

/* Not cleared, as in the kernel. */
static inline void *kvmalloc_array(size_t count, size_t size, int flags)
{
	(void)flags;
	if (allocations_left && !--allocations_left)
		return NULL;
	return malloc(count * size);
}

static inline int breathe(void)
{
	return breaths_left && !--breaths_left ? -EINTR : 0;
}

#endif

/*
 * Limbs have 64 bits, and their products 128. And an answer is handed out as it
 * lies in memory, which is its documented order of bytes on these machines only.
 */
#ifndef __SIZEOF_INT128__
#error "fibdrv needs a compiler with 128 bit integers, so a 64 bit machine"
#endif
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "fibdrv needs a little endian machine"
#endif

#endif
