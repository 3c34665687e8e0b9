/* SPDX-License-Identifier: GPL-2.0 */
/* Linux 6.16, not a real header: hrtimer_setup() alone, and a function that is not written to. */
#ifndef STUB_HRTIMER_H
#define STUB_HRTIMER_H

#include <linux/types.h>

enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
enum hrtimer_mode { HRTIMER_MODE_ABS, HRTIMER_MODE_REL };

/* The function is private by then: whoever uses this must not write it. */
struct hrtimer {
	enum hrtimer_restart (*const private_function)(struct hrtimer *timer);
};

void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *timer),
		   clockid_t clock, enum hrtimer_mode mode);

#endif /* STUB_HRTIMER_H */
