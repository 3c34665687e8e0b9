/* SPDX-License-Identifier: GPL-2.0 */
/* Linux 4.4, not a real header: init_timer() alone. */
#ifndef STUB_TIMER_H
#define STUB_TIMER_H

#include <linux/types.h>

struct timer_list {
	unsigned long expires;
	void (*function)(unsigned long data);
	unsigned long data;
	u32 flags;
	int slack;
};

void init_timer(struct timer_list *timer);
void add_timer(struct timer_list *timer);
int del_timer(struct timer_list *timer);
int del_timer_sync(struct timer_list *timer);

#endif /* STUB_TIMER_H */
