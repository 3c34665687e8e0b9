/* SPDX-License-Identifier: GPL-2.0 */
#ifndef STUB_KTIME_H
#define STUB_KTIME_H

#include <linux/types.h>

/* A number since 4.10 (2456e8553544). */
#ifndef STUB_KTIME_IS_UNION
typedef s64 ktime_t;
#endif

ktime_t ktime_get(void);
ktime_t ktime_add_ns(const ktime_t time, u64 nanoseconds);
ktime_t ktime_sub(const ktime_t later, const ktime_t earlier);
s64 ktime_to_ns(const ktime_t time);

#endif /* STUB_KTIME_H */
