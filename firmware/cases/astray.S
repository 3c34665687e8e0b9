/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Hart 1 goes where the file names no memory. What a machine does there is its own: QEMU's has a UART, and takes what is misaligned. */
#include "case.h"

enter:	csrr	a0, mhartid
	lla	s0, harts
	bnez	a0, 1f
place all_arrived
	j	all_arrived
1:
#if defined(MISALIGNED)
	lw	t0, 1(s0)
#elif defined(UART)
	li	t0, 0x10000000
	lb	t0, 5(t0)
#elif defined(JUMP)
	li	t0, 0x18000000
	jr	t0
#else
	li	t0, 0x18000000
	ld	t0, (t0)
#endif
place arrived
	j	arrived

	word	harts, 2
