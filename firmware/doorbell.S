/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A hart sleeps until its software interrupt is pending. It takes no trap: wfi returns for an interrupt that mie allows,
 * whatever mstatus says.
 */
#include "boot.h"

	.text
	.globl	secondary
secondary:
#ifdef QEMU
	/* The watchdog needs traps, and a hart that sleeps here must neither take one nor be woken by it. The boot hart still has its own. */
	csrci	mstatus, 1 << 3
	li	t0, 1 << 7
	csrc	mie, t0
#endif
	csrsi	mie, 1 << 3
	li	t0, CLINT
	slli	t1, a0, 2
	add	t0, t0, t1
	own_word t1, told
#ifdef BROKEN
	/* Test, clear, sleep: a ring between test and clear is lost. */
1:	ld	t2, 0(t1)
	bnez	t2, 2f
	fence	r, o
#ifdef QEMU
	/* With `meet` planted, stay here until the bell has rung, and let the boot hart ring only now. */
	la	t2, meet
	ld	t3, 0(t2)
	beqz	t3, gap
	li	t3, 2
	sd	t3, 0(t2)
3:	lw	t3, 0(t0)
	beqz	t3, 3b
#endif
	.globl	gap
gap:
	sw	zero, 0(t0)
	wfi
	j	1b
#else
	/* Clear, test, sleep: a ring after the clear ends the sleep, and of one before it the test sees the word. */
1:	sw	zero, 0(t0)
	fence	o, r
	ld	t2, 0(t1)
	bnez	t2, 2f
	wfi
	j	1b
#endif
2:	fence	r, rw
	own_stack
	own_word t0, answer
	li	t1, 1
	fence	rw, w
	sd	t1, 0(t0)
	j	started

#if defined(QEMU) && defined(BROKEN)
	/* 1, planted by the loader device: the ring is to fall into the gap. 2: the hart is in the gap. */
	words	meet, .parameters
#endif
