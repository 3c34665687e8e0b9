// SPDX-License-Identifier: MIT OR Apache-2.0
// A slot and an answer for each hart. They are 0 because whoever loads the file writes that, before any hart runs.
#include "boot.h"

LOADED volatile word slot[MOST_HARTS] = { 0 };
LOADED volatile word answer[MOST_HARTS] = { 0 };

void start_hart(word hart)
{
	start_argument[hart] = ARGUMENT + hart;
	// Release: whoever reads the slot sees the argument, and .bss clear.
	FENCE(rw, w);
	TELL(hart);
	slot[hart] = stack_of(hart);
	while (answer[hart] == 0)
		;
	// Acquire: what the hart did before it answered is seen from here on.
	FENCE(r, rw);
}
