// SPDX-License-Identifier: GPL-2.0
/* Holds the place of the module oneshot_timer. */
#include <linux/init.h>
#include <linux/module.h>

static int __init oneshot_timer_begin(void)
{
	pr_info("oneshot_timer: loaded\n");
	return 0;
}

static void __exit oneshot_timer_end(void)
{
	pr_info("oneshot_timer: gone\n");
}

module_init(oneshot_timer_begin);
module_exit(oneshot_timer_end);

MODULE_DESCRIPTION("Holds the place of oneshot_timer");
MODULE_LICENSE("GPL");
