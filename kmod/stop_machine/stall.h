/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TENBIN_STALL_H
#define TENBIN_STALL_H

#ifndef CONFIG_RCU_STALL_COMMON
#error "stop_machine needs a kernel whose RCU looks for stalls (CONFIG_RCU_STALL_COMMON)"
#endif

/*
 * Whether RCU keeps quiet about stalls. The kernel exports it to modules, and also shows it as
 * /sys/module/rcupdate/parameters/rcu_cpu_stall_suppress, but declares it only in a header of its
 * own, kernel/rcu/rcu.h.
 */
extern int rcu_cpu_stall_suppress;

#endif
