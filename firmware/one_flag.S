/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The original: a hart waits until the one flag holds its number, and answers by setting it to 0. */
#include "boot.h"

	.text
	.globl	secondary
secondary:
	la	t0, wake_flag
	ld	t0, 0(t0)
	bne	a0, t0, secondary
	la	t0, start_stack
	ld	sp, 0(t0)
	la	t0, wake_flag
	sd	zero, 0(t0)
	j	started
