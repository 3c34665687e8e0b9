// SPDX-License-Identifier: MIT OR Apache-2.0
// A lottery: there is no appointed boot hart. All three words are set by whoever loads the file.
#include "boot.h"

LOADED volatile word ticket = 0;
LOADED volatile word status = 0;
LOADED volatile word present = 0;

enum { DRAWN = 1, DONE = 2 };

void start_all(word self)
{
	word count = count_of_harts();

	status = DRAWN;
	for (word hart = 0; hart < count; hart++) {
		if (hart != self)
			start_argument[hart] = ARGUMENT + hart;
	}
	FENCE(rw, w);
	// Not one hart but all of them.
	asm volatile(".globl tell_all\ntell_all:" ::: "memory");
	status = DONE;
	while (present != count - 1)
		;
	FENCE(r, rw);
}
