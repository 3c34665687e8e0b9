/* SPDX-License-Identifier: GPL-2.0 */
/* Linux 4.14, not a real header: init_timer() and timer_setup() side by side. */
#ifndef STUB_TIMER_H
#define STUB_TIMER_H

#include <linux/types.h>

struct timer_list {
	unsigned long expires;
	void (*function)(unsigned long data);
	unsigned long data;
	u32 flags;
};

void init_timer(struct timer_list *timer);
void timer_setup(struct timer_list *timer, void (*callback)(struct timer_list *timer),
		 unsigned int flags);
void add_timer(struct timer_list *timer);
int del_timer(struct timer_list *timer);
int del_timer_sync(struct timer_list *timer);

#define from_timer(variable, timer, member)	container_of(timer, typeof(*(variable)), member)

#endif /* STUB_TIMER_H */
