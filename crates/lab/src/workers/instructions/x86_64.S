	# What is returned is how many turns were done. r15 counts, r14 points to memory of 64 KiB that holds its own
	# address; rsi and rdi do too. rdx is 0, other registers are 1, those of vectors hold 1.0 twice.
	.intel_syntax noprefix
	.text
	.globl tenbin_run
	.type tenbin_run, @function
	.p2align 6
tenbin_run:
	push rbx
	push rbp
	push r12
	push r13
	push r14
	push r15
	push rsi
	mov r15, rsi
	lea r14, [rip + scratch]
	mov [r14], r14
	mov rsi, r14
	mov rdi, r14
	xor edx, edx
	mov eax, 1
	mov ebx, 1
	mov ecx, 1
	mov ebp, 1
	mov r8d, 1
	mov r9d, 1
	mov r10d, 1
	mov r11d, 1
	mov r12d, 1
	mov r13d, 1
	.irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	movapd xmm\number, [rip + ones]
	.endr
{init}
	.p2align 6
1:
{body}
	dec r15
	jnz 1b
	pop rax
	sub rax, r15
	pop r15
	pop r14
	pop r13
	pop r12
	pop rbp
	pop rbx
	ret
	.size tenbin_run, . - tenbin_run
	.section .rodata
	.p2align 4
ones:
	.double 1.0, 1.0
	.bss
	.p2align 12
scratch:
	.zero 65536
	.section .note.GNU-stack, "", @progbits
