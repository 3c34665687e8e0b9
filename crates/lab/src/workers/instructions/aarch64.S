	// What is returned is how many turns were done. x28 counts, x27 points to memory of 64 KiB that holds its
	// own address. Other registers are 1, those of vectors hold 1.0 twice.
	.text
	.globl tenbin_run
	.type tenbin_run, %function
	.p2align 6
tenbin_run:
	stp x29, x30, [sp, #-176]!
	stp x19, x20, [sp, #16]
	stp x21, x22, [sp, #32]
	stp x23, x24, [sp, #48]
	stp x25, x26, [sp, #64]
	stp x27, x28, [sp, #80]
	stp d8, d9, [sp, #96]
	stp d10, d11, [sp, #112]
	stp d12, d13, [sp, #128]
	stp d14, d15, [sp, #144]
	str x1, [sp, #160]
	mov x28, x1
	adrp x27, scratch
	add x27, x27, :lo12:scratch
	str x27, [x27]
	.irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 19, 20, 21, 22, 23, 24, 25, 26
	mov x\number, #1
	.endr
	.irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	fmov v\number\().2d, #1.0
	.endr
{init}
	.p2align 6
1:
{body}
	subs x28, x28, #1
	b.ne 1b
	ldr x0, [sp, #160]
	sub x0, x0, x28
	ldp d14, d15, [sp, #144]
	ldp d12, d13, [sp, #128]
	ldp d10, d11, [sp, #112]
	ldp d8, d9, [sp, #96]
	ldp x27, x28, [sp, #80]
	ldp x25, x26, [sp, #64]
	ldp x23, x24, [sp, #48]
	ldp x21, x22, [sp, #32]
	ldp x19, x20, [sp, #16]
	ldp x29, x30, [sp], #176
	ret
	.size tenbin_run, . - tenbin_run
	.bss
	.p2align 12
scratch:
	.zero 65536
	.section .note.GNU-stack, "", %progbits
