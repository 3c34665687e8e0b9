/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stacks of 16 bytes, and a function that needs 24: the third word is where the hart below keeps its return address. */
#include "case.h"

enter:	csrr	a0, mhartid
	lla	sp, stacks + 16
	slli	t0, a0, 4
	add	sp, sp, t0
	call	work
	lla	s1, up
	li	t1, 1
	amoadd.d zero, t1, (s1)
	bnez	a0, arrived
	ld	t1, harts
1:	ld	t2, (s1)
	bne	t2, t1, 1b
place all_arrived
	j	all_arrived
place arrived
	j	arrived

work:	sd	ra, -8(sp)
	sd	a0, -16(sp)
	sd	a0, -24(sp)
	ld	t0, -16(sp)
	ld	ra, -8(sp)
	ret

	word	harts, 2
	word	up
	/* Below the first stack there is room for its third word. */
	garbage	room, 16
	garbage	stacks, 8 * 16
