/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What every handshake shares. README.md tells the story. */
#ifndef BOOT_H
#define BOOT_H

/* Words are laid out for so many harts, numbered from 0. How many there are, `harts` says. */
#define MOST_HARTS 8
/* A stack has 1 << STACK_SHIFT bytes. */
#define STACK_SHIFT 8
#define STACK_SIZE (1 << STACK_SHIFT)
/* The argument that hart n is started with: this, and n. */
#define ARGUMENT 0x100

/* QEMU's virt machine. */
#define CLINT 0x2000000
#define MTIMECMP 0x2004000
#define MTIME 0x200bff8
#define FINISHER 0x100000
#define FINISH_PASS 0x5555
/* Exit status 1: the watchdog barked. Exit status 2: a hart arrived on a wrong stack, with a wrong argument or twice. */
#define FINISH_WATCHDOG 0x13333
#define FINISH_WRONG 0x23333
/* Exit status 3: an exception, which no handshake has. */
#define FINISH_TRAP 0x33333

#ifdef __ASSEMBLER__

/* register = address of this hart's (a0) word in an array. Takes t6 too. */
.macro own_word register, array
	slli	\register, a0, 3
	la	t6, \array
	add	\register, \register, t6
.endm

/* sp = top of this hart's (a0) stack. Takes t6 too. */
.macro own_stack
	la	sp, stacks
	addi	t6, a0, 1
	slli	t6, t6, STACK_SHIFT
	add	sp, sp, t6
.endm

/* Let time pass: so many rounds. */
.macro count_down register
7771:	beqz	\register, 7772f
	addi	\register, \register, -1
	j	7771b
7772:
.endm

/* A word that nothing sets, or an array of them. */
.macro words name, section, count=1
	.pushsection \section, "aw", @nobits
	.balign	8
	.globl	\name
	.type	\name, @object
	.size	\name, 8 * \count
\name:	.skip	8 * \count
	.popsection
.endm

#else

typedef unsigned long word;

/* In garbage until the boot hart clears it: the compiler's own place for what has no value. */
#define CLEARED __attribute__((section(".bss")))
/* In garbage until somebody writes it. */
#define UNDETERMINED __attribute__((section(".noinit,\"aw\",@nobits#")))
/* Set by whoever loads the file. */
#define LOADED __attribute__((section(".data")))

/* A name for the place of the next store, for the checker: here hart `a0` is told to start. */
#define TELL(hart)                                                                                                     \
	do {                                                                                                           \
		register word told asm("a0") = (hart);                                                                 \
		asm volatile(".globl tell\ntell:" : "+r"(told)::"memory");                                             \
		(hart) = told;                                                                                         \
	} while (0)

#define FENCE(before, after) asm volatile("fence " #before "," #after ::: "memory")

extern const volatile word harts, boot_hart;
extern char stacks[MOST_HARTS][STACK_SIZE];
extern volatile word start_argument[MOST_HARTS];

/* The top of a hart's stack. */
static inline word stack_of(word hart)
{
	return (word)stacks[hart] + STACK_SIZE;
}

/* What a handshake gives: tell one hart to start, and wait until it did. */
void start_hart(word hart);
/* What a handshake may give in its place: start all but `self`. */
void start_all(word self);
word count_of_harts(void);

#endif
#endif
