// SPDX-License-Identifier: GPL-2.0
/* Holds the place of the module fibdrv. */
#include <linux/init.h>
#include <linux/module.h>

static int __init fibdrv_begin(void)
{
	pr_info("fibdrv: loaded\n");
	return 0;
}

static void __exit fibdrv_end(void)
{
	pr_info("fibdrv: gone\n");
}

module_init(fibdrv_begin);
module_exit(fibdrv_end);

MODULE_DESCRIPTION("Holds the place of fibdrv");
MODULE_LICENSE("GPL");
