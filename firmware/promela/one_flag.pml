/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* one_flag.S and one_flag.c in Promela. machine.pml says what is asked. */
#include "machine.pml"

byte wake_flag = GARBAGE;

active [N] proctype from_start()
{
	byte n, stack;
	if
	:: _pid == B ->
		/* primary, clear: .bss is start_argument, start_stack, wake_flag */
		clear_arguments_and_stack(n);
		wake_flag = 0;
		/* cleared, start_all */
		do
		:: n == N -> break
		:: n == B -> n++
		:: else ->
			/* start_hart */
			start_argument[n] = ARGUMENT(n);
			start_stack = STACK(n);
			atomic { told[n] = true; wake_flag = n };
			do
			:: atomic {
				settle(wake_flag);
				if
				:: wake_flag == 0 -> n++; break
				:: else
				fi
			}
			od
		od;
		/* all_arrived */
		atomic { n = 0; up++ }
	:: else ->
		/* secondary */
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
		atomic { wake_flag = 0; /* started */ assert(told[_pid]) };
		arrive(stack)
	fi;
end:	false
}
