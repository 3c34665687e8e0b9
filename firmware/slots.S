/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A slot for each hart: its stack pointer, 0 until it may start. */
#include "boot.h"

	.text
	.globl	secondary
secondary:
	own_word t0, slot
1:	ld	t1, 0(t0)
	beqz	t1, 1b
	fence	r, rw
	mv	sp, t1
	own_word t0, answer
	li	t1, 1
	fence	rw, w
	sd	t1, 0(t0)
	j	started
