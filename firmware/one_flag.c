// SPDX-License-Identifier: MIT OR Apache-2.0
// The original of 2022: one flag, in .bss.
#include "boot.h"

CLEARED volatile word wake_flag;
CLEARED volatile word start_stack;

void start_hart(word hart)
{
	start_argument[hart] = ARGUMENT + hart;
	start_stack = stack_of(hart);
	TELL(hart);
	wake_flag = hart;
	while (wake_flag != 0)
		;
}
