/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Where everything lies. Nothing sets .bss and .noinit before the boot hart's first instruction.
 *
 * For the checker they are a segment without bytes in the file, so that they have a place and no content. QEMU would
 * fill such a segment with zeros and refuse to plant anything in it; for it they belong to no segment that is loaded.
 */
#ifdef QEMU
#define RAM PT_NULL
#define PARAMETERS_SEGMENT ram
#else
#define RAM PT_LOAD
#define PARAMETERS_SEGMENT code
#endif

OUTPUT_ARCH(riscv)
ENTRY(_start)

PHDRS
{
	code PT_LOAD FLAGS(5);
	data PT_LOAD FLAGS(6);
	ram RAM FLAGS(6);
}

SECTIONS
{
	. = 0x80000000;
	.text : { *(.text.start) *(.text .text.*) } :code
	.rodata : { *(.rodata .rodata.* .srodata .srodata.*) } :code
#ifndef QEMU
	/* What the machine is: never written, so the checker may take it for constant. */
	.parameters : ALIGN(8) { *(.parameters) } :code
#endif
	. = ALIGN(0x1000);
	.data : { data_start = .; *(.data .data.* .sdata .sdata.*) . = ALIGN(8); data_end = .; } :data
	. = ALIGN(0x1000);
	.bss (NOLOAD) : {
		bss_start = .;
		*(.bss .bss.* .sbss .sbss.* COMMON)
		. = ALIGN(8);
		bss_end = .;
	} :ram
	. = ALIGN(64);
	.noinit (NOLOAD) : { *(.noinit .noinit.*) } :ram
#ifdef QEMU
	.parameters (NOLOAD) : ALIGN(8) { *(.parameters) } :ram
#endif
	/DISCARD/ : { *(.comment) *(.note*) *(.eh_frame*) }
}
