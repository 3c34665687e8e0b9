// SPDX-License-Identifier: GPL-2.0
/* A place holder, which does nothing. */
#include <linux/module.h>

MODULE_DESCRIPTION("A place holder");
MODULE_LICENSE("GPL");
