/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Hart 1 waits for a magic number in the highest byte of a word that nobody set: garbage may have it. */
#include "case.h"

enter:	csrr	a0, mhartid
	lla	s0, go
	lla	s1, stack
	li	t1, 0xa5
	bnez	a0, 2f
	lla	sp, stacks + STACK
	lla	t0, stacks + 2 * STACK
	sd	t0, (s1)
	fence	w, w
	slli	t0, t1, 56
	sd	t0, (s0)
place all_arrived
	j	all_arrived

2:	ld	t0, (s0)
	srli	t0, t0, 56
	bne	t0, t1, 2b
	fence	r, r
	ld	sp, (s1)
place arrived
	j	arrived

	word	harts, 2
	garbage	go
	garbage	stack
	stacks
