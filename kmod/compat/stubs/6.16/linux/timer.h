/* SPDX-License-Identifier: GPL-2.0 */
/* Linux 6.16, not a real header: no name of before is left. */
#ifndef STUB_TIMER_H
#define STUB_TIMER_H

#include <linux/types.h>

struct timer_list {
	unsigned long expires;
	void (*function)(struct timer_list *timer);
	u32 flags;
};

void timer_setup(struct timer_list *timer, void (*callback)(struct timer_list *timer),
		 unsigned int flags);
void add_timer(struct timer_list *timer);
int timer_delete(struct timer_list *timer);
int timer_delete_sync(struct timer_list *timer);

#define timer_container_of(variable, timer, member)				\
	container_of(timer, typeof(*(variable)), member)

#endif /* STUB_TIMER_H */
