// SPDX-License-Identifier: GPL-2.0
/*
 * A timer that goes off once: "secs" seconds after the module was loaded it says so in the kernel's
 * log, and how late it was.
 *
 * The same source builds for kernels before and after the timers' interface changed; what changed,
 * and when, is in ../compat/timer.h.
 *
 *	secs	how long to wait, in seconds, from 1 to 3600; 10 if not given
 *	late_ns	how many nanoseconds late the timer went off, negative if early; can only be read,
 *		and not before (ENODATA)
 *
 * The module can be taken out at any time. A timer that has not gone off yet is deleted then.
 */
#include <linux/atomic.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/timer.h>

#include "../compat/timer.h"

#define LONGEST_SECS	3600

/* late_ns of a timer that has not gone off: no lateness is like that. */
#define NOT_YET		S64_MIN

static unsigned int secs = 10;
module_param(secs, uint, 0444);
MODULE_PARM_DESC(secs, "seconds until the timer goes off, 1 to 3600 (default 10)");

struct oneshot {
	struct timer_list timer;
	/* By the clock of ktime_get(), which does not step. */
	ktime_t due;
	/* One 64-bit word for a writer and readers that do not wait for each other. */
	atomic64_t late_ns;
};

static struct oneshot oneshot = { .late_ns = ATOMIC64_INIT(NOT_YET) };

static int late_ns_get(char *buffer, const struct kernel_param *parameter)
{
	s64 late_ns = atomic64_read(&oneshot.late_ns);

	if (late_ns == NOT_YET)
		return -ENODATA;
	return scnprintf(buffer, PAGE_SIZE, "%lld\n", late_ns);
}

/*
 * The kernel calls this unasked when the name is given at load time: it must be there, if only to
 * refuse.
 */
static int late_ns_set(const char *value, const struct kernel_param *parameter)
{
	return -EPERM;
}

static const struct kernel_param_ops late_ns_ops = {
	.get = late_ns_get,
	.set = late_ns_set,
};
module_param_cb(late_ns, &late_ns_ops, NULL, 0444);
MODULE_PARM_DESC(late_ns, "how late the timer went off, in nanoseconds (read only)");

/* These words are what was asked for, and so the module's name does not stand before them. */
static void say_passed(void)
{
	pr_alert("%u secs passed.\n", secs);
}

/* It does before all others. */
#undef pr_fmt
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

static void went_off(struct timer_list *timer)
{
	struct oneshot *it = compat_timer_container_of(it, timer, timer);
	/* First of all: printing takes time. */
	s64 late_ns = ktime_to_ns(ktime_sub(ktime_get(), it->due));

	atomic64_set(&it->late_ns, late_ns);
	say_passed();
	pr_info("late by %lld ns; the timer wheel rounds such a delay up by as much as %u ms\n",
		late_ns, jiffies_to_msecs(compat_timer_step(secs * (unsigned long)HZ)));
}

COMPAT_TIMER_CALLBACK(went_off)

static int __init oneshot_timer_init(void)
{
	if (secs < 1 || secs > LONGEST_SECS) {
		pr_err("secs=%u is not in 1 to %u\n", secs, LONGEST_SECS);
		return -EINVAL;
	}
	compat_timer_setup(&oneshot.timer, went_off);
	/*
	 * Both at once: what comes between them would be counted as lateness, or hide some. As
	 * jiffies may lag behind the clock, the timer may still go off before it is due.
	 */
	oneshot.due = ktime_add_ns(ktime_get(), secs * (u64)NSEC_PER_SEC);
	oneshot.timer.expires = jiffies + secs * (unsigned long)HZ;
	add_timer(&oneshot.timer);
	return 0;
}

static void __exit oneshot_timer_exit(void)
{
	/*
	 * Where the callback runs on another CPU just now, this waits for it. Else the code that it
	 * executes would vanish under it.
	 */
	if (compat_timer_delete_sync(&oneshot.timer))
		pr_info("deleted before it went off\n");
}

module_init(oneshot_timer_init);
module_exit(oneshot_timer_exit);

MODULE_DESCRIPTION("A timer that goes off once and says how late");
MODULE_LICENSE("GPL");
