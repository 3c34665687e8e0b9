/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The change of November 2023: a hart resets both flags when it comes, waits for its number in one, and sets the other. */
#include "boot.h"

	.text
	.globl	secondary
secondary:
	la	t0, wake_flag
	li	t1, -1
	sd	t1, 0(t0)
	la	t0, boot_flag
	sd	zero, 0(t0)
	la	t0, wake_flag
1:	ld	t1, 0(t0)
	bne	a0, t1, 1b
	la	t0, start_stack
	ld	sp, 0(t0)
	la	t0, boot_flag
	li	t1, 1
	sd	t1, 0(t0)
	j	started
