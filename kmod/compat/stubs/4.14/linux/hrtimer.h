/* SPDX-License-Identifier: GPL-2.0 */
/* Linux 4.14, not a real header: hrtimer_init() alone. */
#ifndef STUB_HRTIMER_H
#define STUB_HRTIMER_H

#include <linux/types.h>

enum hrtimer_restart { HRTIMER_NORESTART, HRTIMER_RESTART };
enum hrtimer_mode { HRTIMER_MODE_ABS, HRTIMER_MODE_REL };

struct hrtimer {
	enum hrtimer_restart (*function)(struct hrtimer *timer);
};

void hrtimer_init(struct hrtimer *timer, clockid_t clock, enum hrtimer_mode mode);

#endif /* STUB_HRTIMER_H */
