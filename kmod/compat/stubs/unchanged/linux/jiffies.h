/* SPDX-License-Identifier: GPL-2.0 */
#ifndef STUB_JIFFIES_H
#define STUB_JIFFIES_H

#define HZ	250

extern unsigned long jiffies;
unsigned int jiffies_to_msecs(const unsigned long count);

#endif /* STUB_JIFFIES_H */
