/* SPDX-License-Identifier: GPL-2.0 */
#ifndef STUB_MODULE_H
#define STUB_MODULE_H

#include <linux/kernel.h>

#define __init
#define __exit

struct kernel_param;

struct kernel_param_ops {
	int (*set)(const char *value, const struct kernel_param *parameter);
	int (*get)(char *buffer, const struct kernel_param *parameter);
};

#define MODULE_STUB(name)	static __attribute__((unused)) const int name##_stub
#define MODULE_DESCRIPTION(text)	MODULE_STUB(description) = sizeof(text)
#define MODULE_LICENSE(text)		MODULE_STUB(license) = sizeof(text)
#define MODULE_PARM_DESC(name, text)	MODULE_STUB(name##_text) = sizeof(text)

#define module_param(name, type, mode)						\
	static __attribute__((unused)) type *const name##_param = ((mode) & 07777) ? &(name) : NULL
#define module_param_cb(name, ops, argument, mode)				\
	static __attribute__((unused)) const struct kernel_param_ops *const name##_param =	\
		((mode) & 07777) ? (ops) : (argument)

#define module_init(function)							\
	static __attribute__((unused)) int (*const stub_init)(void) = function
#define module_exit(function)							\
	static __attribute__((unused)) void (*const stub_exit)(void) = function

#endif /* STUB_MODULE_H */
