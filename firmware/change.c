// SPDX-License-Identifier: MIT OR Apache-2.0
// Ours: two words for each hart, with one writer each, both garbage at first.
#include "boot.h"

// FIRST, SECOND, START; written by the boot hart.
UNDETERMINED volatile word order[MOST_HARTS];
// What the hart read last in its order; written by the hart.
UNDETERMINED volatile word echo[MOST_HARTS];
CLEARED volatile word start_stack[MOST_HARTS];

enum { FIRST = 1, SECOND = 2, START = 3 };

static void wait_for(word hart, word value)
{
	while (echo[hart] != value)
		;
	FENCE(rw, rw);
}

void start_hart(word hart)
{
	start_argument[hart] = ARGUMENT + hart;
	start_stack[hart] = stack_of(hart);
	// This answer may be garbage.
	order[hart] = FIRST;
	wait_for(hart, FIRST);
	// This one is not: the echo changed, and only the hart changes it. So the hart is there, and has read its order once.
	order[hart] = SECOND;
	wait_for(hart, SECOND);
	FENCE(rw, w);
	TELL(hart);
	order[hart] = START;
	wait_for(hart, START);
}
