// SPDX-License-Identifier: GPL-2.0
/*
 * No module: what stop_machine does with ../hrtimer.h, without all else that it needs of a kernel.
 */
#include "../hrtimer.h"

struct hrtimer timer;

static enum hrtimer_restart fired(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}

void prepare(void);
void prepare(void)
{
	compat_hrtimer_setup(&timer, fired, 1, HRTIMER_MODE_ABS);
}
