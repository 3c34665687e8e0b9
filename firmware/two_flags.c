// SPDX-License-Identifier: MIT OR Apache-2.0
// The change of November 2023, and with WAKE_KEPT the one of four days later.
#include "boot.h"

#ifdef WAKE_KEPT
UNDETERMINED volatile word wake_flag;
#else
CLEARED volatile word wake_flag;
#endif
CLEARED volatile word boot_flag;
CLEARED volatile word start_stack;

void start_hart(word hart)
{
	start_argument[hart] = ARGUMENT + hart;
	start_stack = stack_of(hart);
	boot_flag = 0;
	// Again and again: a hart that comes late resets the flag.
	TELL(hart);
	do
		wake_flag = hart;
	while (boot_flag == 0);
}
