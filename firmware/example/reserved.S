/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The boot of own.S, with a lock that lr and sc take. MISPLACED puts the .aq on the sc, where RVWMO has it order nothing. */
#ifdef MISPLACED
#define LR lr.w
#define SC sc.w.aq
#else
#define LR lr.w.aq
#define SC sc.w
#endif
	.globl	enter, parked, kernel
enter:	csrr	a0, mhartid
	lla	s0, gate
	lla	s1, lock
	lla	s2, up
	li	t1, 1
	bnez	a0, 1f
	sw	t1, (s0)		/* hart 0 opens the gate */
1:	lw	t0, (s0)		/* every hart waits for it */
	beqz	t0, 1b
2:	LR	t0, (s1)		/* takes the lock */
	bnez	t0, 2b
	SC	t0, t1, (s1)
	bnez	t0, 2b
	lw	t0, (s2)		/* counts itself */
	addi	t0, t0, 1
	sw	t0, (s2)
	fence	rw, w			/* the count is there before the lock is free */
	sw	zero, (s1)		/* and frees the lock */
	beqz	a0, 3f
parked:	j	parked
3:	ld	t1, cores		/* hart 0 waits until all are up */
4:	lw	t0, (s2)
	bne	t0, t1, 4b
kernel:	j	kernel

	.data
cores:	.dword	2
gate:	.word	0
lock:	.word	0
up:	.word	0
