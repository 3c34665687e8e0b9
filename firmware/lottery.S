/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whoever draws first boots; the others wait for the status. */
#include "boot.h"

	.text
	.globl	lottery
lottery:
	la	t0, ticket
	li	t1, 1
	amoswap.d.aq t1, t1, (t0)
	beqz	t1, primary
	.globl	secondary
secondary:
	la	t0, status
#ifdef BROKEN
	/* "The lottery is over": true, but a hart that comes late puts it in the place of "the boot is done". */
	li	t1, 1			/* DRAWN */
	sd	t1, 0(t0)
#endif
	li	t1, 2			/* DONE */
1:	ld	t2, 0(t0)
	bne	t2, t1, 1b
	fence	r, rw
	own_stack
	la	t0, present
	li	t1, 1
	amoadd.d.rl zero, t1, (t0)
	j	started
