/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Ours: trusts no value, only a change of value. A hart repeats in `echo` what it reads in `order`. What it reads first may be
 * garbage. Whatever differs from it was written by the boot hart.
 */
#include "boot.h"

	.text
	.globl	secondary
secondary:
	own_word t0, order
	own_word t1, echo
	li	t2, 3			/* START */
	ld	t3, 0(t0)
	/* Say what was read. The store depends on the load. */
1:	sd	t3, 0(t1)
2:	ld	t4, 0(t0)
	beq	t4, t3, 2b
	mv	t3, t4
	bne	t4, t2, 1b
	/* Acquire: everything the boot hart did before it ordered the start. */
	fence	r, rw
	own_word t0, start_stack
	ld	sp, 0(t0)
	/* Release: the hart has its stack pointer before the boot hart may go on. */
	fence	rw, w
	sd	t3, 0(t1)
	j	started
