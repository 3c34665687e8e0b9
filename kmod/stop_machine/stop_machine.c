// SPDX-License-Identifier: GPL-2.0
/* Holds the place of the module stop_machine. */
#include <linux/init.h>
#include <linux/module.h>

static int __init stop_machine_begin(void)
{
	pr_info("stop_machine: loaded\n");
	return 0;
}

static void __exit stop_machine_end(void)
{
	pr_info("stop_machine: gone\n");
}

module_init(stop_machine_begin);
module_exit(stop_machine_end);

MODULE_DESCRIPTION("Holds the place of stop_machine");
MODULE_LICENSE("GPL");
