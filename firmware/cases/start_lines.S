/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The start of a firmware that many machines run (OpenSBI's, written anew from what it does): a lottery, a relocation that the winner
 * announces, what it finds out of the platform, and a status behind a release fence. Those who wait go by the status, and set
 * up their control and status registers before they read what the winner found out. Neither those nor `fence.i` order loads.
 */
#include "case.h"

enter:	csrr	s0, mhartid
	/* Who comes first boots. */
	lla	t0, lottery
	li	t1, 1
	amoadd.w t0, t1, (t0)
	bnez	t0, wait_for_copy

	/* All code is in its place: there is nothing to copy here. */
	lla	t0, copied
	li	t1, 1
	fence	rw, rw
	sd	t1, (t0)
	fence.i
	/* How large a stack is on this platform: the file has another one's. */
	lla	t0, size_of_stack
	li	t1, STACK
	sd	t1, (t0)
	/* The others may go on. */
	li	t0, 1
	lla	t1, boot_status
	fence	rw, rw
	sd	t0, (t1)
	li	s1, 1
	j	warm

wait_for_copy:
	lla	t0, copied
1:	ld	t1, (t0)
	beqz	t1, 1b
wait_for_boot_hart:
	li	t0, 1
	lla	t1, boot_status
1:	ld	t2, (t1)
	nop
	bne	t0, t2, 1b
#ifndef FORGOTTEN
	fence	r, r
#endif
	li	s1, 0

warm:	fence.i
	csrw	mie, zero
	lla	t0, size_of_stack
	ld	t1, (t0)
	addi	t2, s0, 1
	mul	t1, t1, t2
	lla	sp, stacks
	add	sp, sp, t1
	csrw	mscratch, sp
	mv	a0, s0
	beqz	s1, arrived
place all_arrived
	j	all_arrived
place arrived
	j	arrived

	word	harts, 2
	word	lottery
	word	copied
	word	boot_status
	word	size_of_stack, 2 * STACK
	stacks
