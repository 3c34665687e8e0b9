// SPDX-License-Identifier: MIT OR Apache-2.0
// A word and a ring of the bell (the CLINT's software interrupt) for each hart.
#include "boot.h"

LOADED volatile word told[MOST_HARTS] = { 0 };
LOADED volatile word answer[MOST_HARTS] = { 0 };

#if defined(QEMU) && defined(BROKEN)
extern volatile word meet;
#endif

void start_hart(word hart)
{
#if defined(QEMU) && defined(BROKEN)
	while (meet == 1)
		;
#endif
	start_argument[hart] = ARGUMENT + hart;
	FENCE(rw, w);
	TELL(hart);
	told[hart] = 1;
	// The word is there before the bell rings.
	FENCE(w, o);
	((volatile unsigned int *)CLINT)[hart] = 1;
	while (answer[hart] == 0)
		;
	FENCE(r, rw);
}
