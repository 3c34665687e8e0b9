/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Harts wait for an address and jump to it; there they take their stack. The jump waits for the address, and the load of the stack
 * does not wait for the jump (rule 11 of RVWMO keeps stores back).
 */
#include "case.h"

enter:	csrr	a0, mhartid
	lla	s0, entry
	lla	s1, stack_of
	slli	t6, a0, 3
	add	s1, s1, t6
	bnez	a0, wait
	/* Hart 0 fills in all stacks, and then the address. */
	lla	t0, stacks + STACK
	lla	t1, stack_of
	ld	t2, harts
1:	sd	t0, (t1)
	addi	t0, t0, STACK
	addi	t1, t1, 8
	addi	t2, t2, -1
	bnez	t2, 1b
	fence	rw, w
	lla	t0, go
	sd	t0, (s0)
	ld	sp, (s1)
place all_arrived
	j	all_arrived

wait:	ld	t0, (s0)
	beqz	t0, wait
#ifndef FORGOTTEN
	fence	r, r
#endif
	jr	t0
go:	ld	sp, (s1)
place arrived
	j	arrived

	word	harts, 2
	word	entry
	garbage	stack_of, 64
	stacks
