/* SPDX-License-Identifier: GPL-2.0 */
/* Linux 4.4, not a real header: a time is not a number yet. */
#ifndef STUB_KTIME_4_4_H
#define STUB_KTIME_4_4_H

#include <linux/types.h>

typedef union {
	s64 tv64;
} ktime_t;

#define STUB_KTIME_IS_UNION
#include "../../unchanged/linux/ktime.h"

#endif /* STUB_KTIME_4_4_H */
