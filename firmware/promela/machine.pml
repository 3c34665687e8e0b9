/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the transcriptions of one_flag, two_flags and wake_kept share: the machine, and what is asked of it.
 *
 * They are written by hand from the firmware, to be held against `tenbin boot check --memory sc`, which reads the
 * instructions instead. A step is one access to memory that others can see, and what its hart does next without memory;
 * nobody can tell that from one instruction a step. No steps are what the boot hart does on its own stack, and reads
 * of words that never change (`harts`, `boot_hart`). N is how many harts there are, 2 to 8, and B the one that boots.
 *
 *	spin -a -DN=3 -DB=1 wake_kept.pml && cc -O2 -o pan pan.c
 *	./pan -a -f -A		Does every hart arrive? An acceptance cycle is a run in which not all do.
 *	./pan -c0		Does one start that was not told (`told` is violated), or arrive with a stack or an
 *				argument that was not meant for it (`stack` is)?
 *
 * `cargo xtask test spin` asks both of all of them.
 *
 * All harts begin at once and nothing says who moves, so any of them may be late.
 *
 * The claim is verified under weak fairness (-f): who can always go on does go on. A hart that has not arrived always
 * can, as waiting is reading again. So what violates it is a run in which all harts step for ever and not all of them
 * arrive: a livelock. A dead end shows as the same, since every run from there is such a run. To ask for dead ends alone
 * is not possible here: that a good end can still be reached is no property of a single run.
 *
 * With the claim in it a verifier does not go on where all harts have arrived. No assertion stands behind that, so none
 * is missed.
 */
#ifndef N
#define N 2
#endif
#ifndef B
#define B 0
#endif

/*
 * What a word may hold: the number of a hart, or one of these. All that the programs compare with are numbers of harts,
 * 0 and 1 among them.
 *
 * What is only compared with one right value stays GARBAGE, which is never right: that it might be right by chance
 * adds no way to go wrong.
 */
#define MINUS_1 (N)
#define FRESH (N + 1)
#define GARBAGE 255
#define STACK(n) (32 + (n))
#define ARGUMENT(n) (64 + (n))

/* Words in .bss. There are eight arguments, of which those of harts that are not there are never read. */
byte start_argument[N] = GARBAGE;
byte start_stack = GARBAGE;

/* No part of the programs: whom the boot hart has told, and how many harts are where they are to be. */
bool told[N];
byte up;

/* Garbage is decided when somebody reads it, and a branch depends on it. */
inline settle(word)
{
	if
	:: word == GARBAGE -> select(word : 0 .. FRESH)
	:: else
	fi
}

/* From `clear`: what comes first in .bss. */
inline clear_arguments_and_stack(n)
{
	do
	:: n < N -> atomic { start_argument[n] = 0; n++ }
	:: else -> n = 0; break
	od;
	start_stack = 0
}

/* From `started` to `arrived`. */
inline arrive(stack)
{
	atomic {
		assert(stack == STACK(_pid) && start_argument[_pid] == ARGUMENT(_pid));
		stack = 0;
		up++
	}
}

ltl arrives { <> (up == N) }
