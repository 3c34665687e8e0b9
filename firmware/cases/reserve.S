/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A lock by lr and sc that reads what it keeps between the two: if nobody wrote the lock, nobody wrote that. It is no constrained LR/SC loop, so the architecture does not promise that it is
 * ever taken; -DPLAIN forgets the acquire.
 */
#include "case.h"

#ifdef PLAIN
#define RESERVE lr.w
#else
#define RESERVE lr.w.aq
#endif

enter:	csrr	a0, mhartid
	lla	s0, lock
	lla	s1, up
	li	t1, 1
take:	RESERVE	t0, (s0)
	bnez	t0, take
	ld	t2, (s1)
	sc.w	t0, t1, (s0)
	bnez	t0, take
	addi	t2, t2, 1
	sd	t2, (s1)
	fence	rw, w
	sw	zero, (s0)
	bnez	a0, arrived
	ld	t1, harts
1:	ld	t2, (s1)
	bne	t2, t1, 1b
place all_arrived
	j	all_arrived
place arrived
	j	arrived

	word	harts, 2
	word	lock
	word	up
