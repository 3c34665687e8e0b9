/* SPDX-License-Identifier: GPL-2.0 */
#ifndef STUB_VERSION_H
#define STUB_VERSION_H

/* Whoever compiles says which kernel: -DLINUX_VERSION_CODE=KERNEL_VERSION(4,14,0). */
#define KERNEL_VERSION(major, minor, patch)	(((major) << 16) + ((minor) << 8) + (patch))

#endif /* STUB_VERSION_H */
