/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A message, and accesses to control and status registers between the flag and what it announces: they order no loads. */
#include "case.h"

enter:	csrr	a0, mhartid
	lla	s0, flag
	lla	s1, stack
	bnez	a0, 2f
	lla	sp, stacks + STACK
	lla	t0, stacks + 2 * STACK
	sd	t0, (s1)
	fence	w, w
	li	t0, 1
	sd	t0, (s0)
place all_arrived
	j	all_arrived

2:	ld	t0, (s0)
	beqz	t0, 2b
#ifndef FORGOTTEN
	fence	r, r
#endif
	csrw	mie, zero
	csrw	mscratch, t0
	ld	sp, (s1)
place arrived
	j	arrived

	word	harts, 2
	word	flag
	garbage	stack
	stacks
