/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* two_flags.S and two_flags.c in Promela; with WAKE_KEPT, as there, wake_kept. machine.pml says what is asked. */
#include "machine.pml"

byte wake_flag = GARBAGE;
byte boot_flag = GARBAGE;

active [N] proctype from_start()
{
	byte n, stack;
	if
	:: _pid == B ->
		/* primary, clear: .bss is start_argument, start_stack, boot_flag, wake_flag */
		clear_arguments_and_stack(n);
		boot_flag = 0;
#ifndef WAKE_KEPT
		wake_flag = 0;
#endif
		/* cleared, start_all */
		do
		:: n == N -> break
		:: n == B -> n++
		:: else ->
			/* start_hart */
			start_argument[n] = ARGUMENT(n);
			start_stack = STACK(n);
			boot_flag = 0;
			do
			:: atomic { told[n] = true; wake_flag = n };
				atomic {
					settle(boot_flag);
					if
					:: boot_flag != 0 -> n++; break
					:: else
					fi
				}
			od
		od;
		/* all_arrived */
		atomic { n = 0; up++ }
	:: else ->
		/* secondary */
		wake_flag = MINUS_1;
		boot_flag = 0;
		do
		:: atomic {
			settle(wake_flag);
			if
			:: wake_flag == _pid -> break
			:: else
			fi
		}
		od;
		stack = start_stack;
		atomic { boot_flag = 1; /* started */ assert(told[_pid]) };
		arrive(stack)
	fi;
end:	false
}
