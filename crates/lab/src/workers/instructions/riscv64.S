	# What is returned is how many turns were done. s11 counts, s10 points to memory of 64 KiB that holds its own
	# address. Other registers are 1, those of floating point hold 1.0.
	.text
	.globl tenbin_run
	.type tenbin_run, @function
	.p2align 6
tenbin_run:
	addi sp, sp, -208
	sd ra, 0(sp)
	sd s0, 8(sp)
	sd s1, 16(sp)
	sd s2, 24(sp)
	sd s3, 32(sp)
	sd s4, 40(sp)
	sd s5, 48(sp)
	sd s6, 56(sp)
	sd s7, 64(sp)
	sd s8, 72(sp)
	sd s9, 80(sp)
	sd s10, 88(sp)
	sd s11, 96(sp)
	.irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
	fsd fs\number, (104 + 8 * \number)(sp)
	.endr
	mv s11, a1
	sd a1, 200(sp)
	la s10, scratch
	sd s10, 0(s10)
	la t0, one
	.irp name, ft0, ft1, ft2, ft3, ft4, ft5, ft6, ft7, ft8, ft9, ft10, ft11, fa0, fa1, fa2, fa3, fa4, fa5, fa6, fa7, fs0, fs1, fs2, fs3, fs4, fs5, fs6, fs7, fs8, fs9, fs10, fs11
	fld \name, 0(t0)
	.endr
	.irp name, ra, t0, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9
	li \name, 1
	.endr
{init}
	.p2align 6
1:
{body}
	addi s11, s11, -1
	beqz s11, 2f
	j 1b
2:
	.irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
	fld fs\number, (104 + 8 * \number)(sp)
	.endr
	ld a0, 200(sp)
	sub a0, a0, s11
	ld ra, 0(sp)
	ld s0, 8(sp)
	ld s1, 16(sp)
	ld s2, 24(sp)
	ld s3, 32(sp)
	ld s4, 40(sp)
	ld s5, 48(sp)
	ld s6, 56(sp)
	ld s7, 64(sp)
	ld s8, 72(sp)
	ld s9, 80(sp)
	ld s10, 88(sp)
	ld s11, 96(sp)
	addi sp, sp, 208
	ret
	.size tenbin_run, . - tenbin_run
	.section .rodata
	.p2align 3
one:
	.double 1.0
	.bss
	.p2align 12
scratch:
	.zero 65536
	.section .note.GNU-stack, "", @progbits
