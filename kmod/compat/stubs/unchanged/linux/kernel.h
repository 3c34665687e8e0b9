/* SPDX-License-Identifier: GPL-2.0 */
#ifndef STUB_KERNEL_H
#define STUB_KERNEL_H

#include <linux/types.h>

#define EPERM		1
#define EINVAL		22
#define ENODATA		61
#define NULL		((void *)0)
#define PAGE_SIZE	4096UL
#define NSEC_PER_SEC	1000000000L

#define container_of(pointer, type, member)					\
	((type *)((char *)(pointer) - __builtin_offsetof(type, member)))

__attribute__((format(printf, 1, 2)))
int printk(const char *format, ...);
__attribute__((format(printf, 3, 4)))
int scnprintf(char *buffer, unsigned long size, const char *format, ...);

#define KBUILD_MODNAME	"stub"
#define pr_fmt(format)	format

#define pr_alert(format, ...)	printk(pr_fmt(format), ##__VA_ARGS__)
#define pr_err(format, ...)	printk(pr_fmt(format), ##__VA_ARGS__)
#define pr_info(format, ...)	printk(pr_fmt(format), ##__VA_ARGS__)

#endif /* STUB_KERNEL_H */
