/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What all cases share: `harts` says how many harts there are, and hart n is to arrive with the top of its stack in sp. */
#define STACK 64

	.macro	place name
	.globl	\name
\name:
	.endm

	/* A word of 8 bytes that the file sets. */
	.macro	word name, value=0
	.pushsection .data
	.balign	8
	.globl	\name
	.type	\name, @object
	.size	\name, 8
\name:	.dword	\value
	.popsection
	.endm

	/* Memory that holds garbage at first. */
	.macro	garbage name, bytes=8
	.pushsection .bss
	.balign	16
	.globl	\name
	.type	\name, @object
	.size	\name, \bytes
\name:	.skip	\bytes
	.popsection
	.endm

	.macro	stacks
	garbage	stacks, 8 * STACK
	.globl	stack_size
	.equ	stack_size, STACK
	.endm

	.globl	enter
