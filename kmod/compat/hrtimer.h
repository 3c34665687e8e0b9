/* SPDX-License-Identifier: GPL-2.0 */
/*
 * High-resolution timers, which are set up by another function than before.
 *
 *	6.13	hrtimer_setup() appears beside hrtimer_init() (908a1d775422).
 *	6.15	hrtimer_init() is gone (9779489a31d7).
 *
 * Bookworm's 6.1 and trixie's 6.12 compile the one branch; the other is checked against stubs/
 * only, and was not built against a real kernel.
 */
#ifndef COMPAT_HRTIMER_H
#define COMPAT_HRTIMER_H

#include <linux/hrtimer.h>
#include <linux/types.h>
#include <linux/version.h>

static inline void compat_hrtimer_setup(struct hrtimer *timer,
					enum hrtimer_restart (*function)(struct hrtimer *timer),
					clockid_t clock, enum hrtimer_mode mode)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	hrtimer_init(timer, clock, mode);
	timer->function = function;
#else
	hrtimer_setup(timer, function, clock, mode);
#endif
}

#endif /* COMPAT_HRTIMER_H */
