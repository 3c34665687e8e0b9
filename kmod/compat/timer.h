/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's timers, whose names inside the kernel changed while their use did not.
 *
 *	4.8	The wheel no longer cascades (500462a9de65): a timer that is far away waits in a
 *		coarse bucket. See compat_timer_step().
 *	4.14	timer_setup() and from_timer() appear beside init_timer() (686fef928bba,
 *		4.14-rc3).
 *	4.15	init_timer() and the field "data" are gone; a callback gets its timer, no longer
 *		a number (354b46b1a0ad).
 *	6.2	timer_delete_sync() and timer_delete() are the names (9b13df3fb64e,
 *		bb663f0f3c39). del_timer_sync() and del_timer() stay as wrappers. Stable kernels
 *		took this over, 6.1 among them: before 6.2 the new name may be there, the old one
 *		always is.
 *	6.15	The wrappers are gone (8fa7292fee5c).
 *	6.16	from_timer() is called timer_container_of() (41cb08555c41, 6.16-rc1).
 *
 * What is defined here has names of its own, because a stable kernel may bring a new name at any
 * time. Each is chosen by the version alone. Bookworm's 6.1 and trixie's 6.12 compile two of the
 * branches; those before 4.15 and from 6.16 on are checked against stubs/ only: they were not
 * built against a real kernel.
 */
#ifndef COMPAT_TIMER_H
#define COMPAT_TIMER_H

#include <linux/jiffies.h>
#include <linux/timer.h>
#include <linux/types.h>
#include <linux/version.h>

/*
 * COMPAT_TIMER_CALLBACK(name) stands after the definition of
 * "static void name(struct timer_list *timer)" and without a semicolon. It makes of it what
 * compat_timer_setup() can take.
 *
 * Before 4.15 that is a function of a number. Another function is called, and the pointer is not
 * cast, because to call a function through a pointer of another type is undefined.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(4, 15, 0)
#define COMPAT_TIMER_CALLBACK(name)						\
	static void name##_by_number(unsigned long timer)			\
	{									\
		name((struct timer_list *)timer);				\
	}
#define compat_timer_setup(timer, name)						\
	compat_timer_setup_by_number(timer, name##_by_number)

static inline void compat_timer_setup_by_number(struct timer_list *timer,
						void (*function)(unsigned long))
{
	init_timer(timer);
	timer->function = function;
	timer->data = (unsigned long)timer;
}
#else
#define COMPAT_TIMER_CALLBACK(name)
#define compat_timer_setup(timer, name)	timer_setup(timer, name, 0)
#endif

/* The object of which timer is the member, as the type that variable points to. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(4, 14, 0)
#define compat_timer_container_of(variable, timer, member)			\
	container_of(timer, typeof(*(variable)), member)
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define compat_timer_container_of(variable, timer, member)			\
	from_timer(variable, timer, member)
#else
#define compat_timer_container_of(variable, timer, member)			\
	timer_container_of(variable, timer, member)
#endif

/*
 * Takes a timer back, and says whether it was still pending. When this returns, the callback does
 * not run and will not.
 */
static inline bool compat_timer_delete_sync(struct timer_list *timer)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
	return del_timer_sync(timer);
#else
	return timer_delete_sync(timer);
#endif
}

/*
 * By how many jiffies at most the kernel rounds up a timer that is so many jiffies away.
 *
 * From 4.8 on each level of the wheel has 64 buckets, eight times as wide as those of the level
 * below, and a timer goes to the first level that reaches it: no jiffy early, and late by up to one
 * bucket, which is up to an eighth of the delay. With 250 ticks a second a timer of 10 s is late by
 * up to 256 ms, and one of an hour by up to 131 s. A comment at the top of kernel/time/timer.c
 * has the table. Before 4.8 a timer got a slack of one 256th of its delay.
 */
static inline unsigned long compat_timer_step(unsigned long delay)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(4, 8, 0)
	return delay / 256 + 1;
#else
	unsigned long step = 1;

	/* A level ends one bucket early, so that rounding up stays within it. */
	while (delay / step >= 63)
		step *= 8;
	return step;
#endif
}

#endif /* COMPAT_TIMER_H */
