/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The way of every hart from its first instruction to its last.
 *
 * A hart keeps its number in a0. The handshake's own file has `secondary`, where a hart waits until it is told, sets
 * sp, and jumps to `started`.
 */
#include "boot.h"

	.section .text.start, "ax", @progbits
	.globl	_start
	.type	_start, @function
_start:
	csrr	a0, mhartid
#ifdef QEMU
	/* A watchdog for each hart: no handshake, however broken, runs for ever. */
	la	t0, trap
	csrw	mtvec, t0
	li	t0, MTIME
	ld	t0, 0(t0)
	la	t1, patience
	ld	t1, 0(t1)
	bnez	t1, 1f
	li	t1, WATCHDOG
1:	add	t0, t0, t1
	li	t1, MTIMECMP
	slli	t2, a0, 3
	add	t1, t1, t2
	sd	t0, 0(t1)
	li	t0, 1 << 7
	csrs	mie, t0
	csrsi	mstatus, 1 << 3
	/* As late as whoever plants the delays wants. */
	own_word t0, delays
	ld	t0, 0(t0)
	count_down t0
#endif
#ifdef LOTTERY
	j	lottery
#else
	la	t0, boot_hart
	ld	t0, 0(t0)
	bne	a0, t0, secondary
#endif

	.globl	primary
primary:
	own_stack
	/* From `clear` to `cleared` all of .bss becomes 0, a word at a time. */
	.globl	clear
clear:
	la	t0, bss_start
	la	t1, bss_end
1:	bgeu	t0, t1, cleared
	sd	zero, 0(t0)
	addi	t0, t0, 8
	j	1b
	.globl	cleared
cleared:
#ifdef QEMU
	/* What a kernel has to do before it starts the others. */
	la	t0, work
	ld	t0, 0(t0)
	count_down t0
#endif
	call	start_all
	/* The boot hart has started all others. */
	.globl	all_arrived
all_arrived:
#ifdef QEMU
	csrr	a0, mhartid
	call	report
#endif
	j	all_arrived

	/* A secondary hart that was told to start. */
	.globl	started
started:
	own_word t0, start_argument
	ld	a1, 0(t0)
	/* Here with a0 = its number, sp = the top of its stack, a1 = its argument. */
	.globl	arrived
arrived:
#ifdef QEMU
	/* Without the stack, which may be anywhere. */
	mv	t0, sp
	own_stack
	li	t1, FINISH_WRONG
	bne	t0, sp, finish
	addi	t0, a0, ARGUMENT
	bne	t0, a1, finish
	call	arrive
1:	wfi
	j	1b

	.balign	4
trap:
	csrr	t0, mcause
	li	t1, FINISH_WATCHDOG
	bltz	t0, finish
	li	t1, FINISH_TRAP
finish:
	li	t0, FINISHER
	sw	t1, 0(t0)
	j	finish
#else
	j	arrived
#endif
	.size	_start, . - _start

	.section .noinit, "aw", @nobits
	.balign	16
	.globl	stacks
	.type	stacks, @object
	.size	stacks, MOST_HARTS * STACK_SIZE
stacks:	.skip	MOST_HARTS * STACK_SIZE
	/* What the checker must know and no word holds. */
	.globl	stack_size, argument
	.equ	stack_size, STACK_SIZE
	.equ	argument, ARGUMENT

	words	start_argument, .bss, MOST_HARTS

#ifdef QEMU
	/* Planted by the loader device, and 0 where it is not. */
	words	harts, .parameters
	words	boot_hart, .parameters
	words	delays, .parameters, MOST_HARTS
	words	work, .parameters
	words	patience, .parameters
#else
	.section .parameters, "a", @progbits
	.balign	8
	.globl	harts
	.type	harts, @object
	.size	harts, 8
harts:	.dword	HARTS
#ifndef LOTTERY
	.globl	boot_hart
	.type	boot_hart, @object
	.size	boot_hart, 8
boot_hart:
	.dword	BOOT_HART
#endif
#endif
