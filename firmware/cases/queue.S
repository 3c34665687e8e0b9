/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Every hart counts itself under a lock in which harts queue, each waiting for a word of its own (J. Mellor-Crummey and M. Scott,
 * Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors, 1991). Hart 0 waits until all are counted.
 */
#include "case.h"
#define NEXT 0
#define WAITS 8

#ifdef RELAXED
#define SWAP amoswap.d
#else
#define SWAP amoswap.d.aqrl
#endif

enter:	csrr	a0, mhartid
	lla	s0, tail
	lla	s1, up
	lla	s2, nodes
	slli	t6, a0, 4
	add	s2, s2, t6
	li	t1, 1
	/* Takes its place behind the last one. */
	sd	zero, NEXT(s2)
	sd	t1, WAITS(s2)
	SWAP	t0, s2, (s0)
	beqz	t0, 2f
	sd	s2, NEXT(t0)
1:	ld	t2, WAITS(s2)
	bnez	t2, 1b
	fence	r, rw
	/* Counts itself. */
2:	ld	t2, (s1)
	addi	t2, t2, 1
	sd	t2, (s1)
#ifndef NO_RELEASE
	fence	rw, w
#endif
	/* Leaves: nobody is behind, or the next one may go. */
	ld	t0, NEXT(s2)
	bnez	t0, 5f
3:	lr.d	t3, (s0)
	bne	t3, s2, 4f
	sc.d.rl	t4, zero, (s0)
	bnez	t4, 3b
	j	6f
4:	ld	t0, NEXT(s2)
	beqz	t0, 4b
5:	sd	zero, WAITS(t0)
6:	bnez	a0, arrived
	ld	t1, harts
7:	ld	t2, (s1)
	bne	t2, t1, 7b
place all_arrived
	j	all_arrived
place arrived
	j	arrived

	word	harts, 2
	word	tail
	word	up
	garbage	nodes, 8 * 16
