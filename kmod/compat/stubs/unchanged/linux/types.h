/* SPDX-License-Identifier: GPL-2.0 */
#ifndef STUB_TYPES_H
#define STUB_TYPES_H

typedef _Bool bool;
typedef int clockid_t;
typedef unsigned int uint;
typedef unsigned int u32;
typedef long long s64;
typedef unsigned long long u64;

#define S64_MIN	(-0x7fffffffffffffffLL - 1)

#endif /* STUB_TYPES_H */
