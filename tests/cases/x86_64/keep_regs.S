/* SPDX-License-Identifier: MIT */
/*
 * See <tests/cases/keep_regs.h>.
 *
 *	sp + 0		times left
 *	sp + 8 n	what register n is to hold, n from 1 to 15
 */
#include <frame.h>
#include <asm/x86.h>
#include <kernel/extable.h>

	.text

.macro EACH do
	\do	rax, 1
	\do	rbx, 2
	\do	rcx, 3
	\do	rdx, 4
	\do	rsi, 5
	\do	rdi, 6
	\do	rbp, 7
	\do	r8, 8
	\do	r9, 9
	\do	r10, 10
	\do	r11, 11
	\do	r12, 12
	\do	r13, 13
	\do	r14, 14
	\do	r15, 15
.endm

/* RSI is the seed until all values are made. */
.macro MAKE reg, n
	lea	0x1111 * \n(%rsi), %rax
	mov	%rax, 8 * \n(%rsp)
.endm
.macro FILL reg, n
	mov	8 * \n(%rsp), %\reg
.endm
.macro LOOK reg, n
	cmp	8 * \n(%rsp), %\reg
	jne	8f
.endm

.macro BREAK_HERE
7:	int3
	EXTABLE(7b, 7b + 1)
.endm
.macro NO_BREAK
.endm

.macro KEEP_REGS name, between
FUNC(\name)
	push	%rbp
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	sub	$8 * 16, %rsp
	mov	%rdi, (%rsp)
	EACH	MAKE
	EACH	FILL
9:	\between
	EACH	LOOK
	decq	(%rsp)
	jnz	9b
	xor	%eax, %eax
	jmp	6f
8:	mov	$1, %eax
6:	add	$8 * 16, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
	ret
END(\name)
.endm

	KEEP_REGS keep_regs, NO_BREAK
	KEEP_REGS keep_regs_trapping, BREAK_HERE

	.section .rodata
	.globl	spin_code, spin_code_end
spin_code:
1:	pause
	cmpb	$0, (%rdi)
	je	1b
	ret
spin_code_end:
