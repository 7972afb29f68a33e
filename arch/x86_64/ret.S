/* SPDX-License-Identifier: MIT */
/*
 * Where probed functions return to: <arch/ret.h>.
 */
#include <frame.h>
#include <asm/x86.h>

	.section .text.noprobe, "ax"

/*
 * Breakpoints around one instruction of two bytes, the second of which is one as
 * well: `jmp .-50`. What it reaches is out of the way of plausible sums.
 */
#define PAD 128

	.globl	ret_pad_start, ret_pad_end
	.balign	16
ret_pad_start:
	.fill	PAD - 50, 1, 0xcc
	jmp	ret_body
	.org	ret_pad_start + PAD, 0xcc
FUNC(ret_trampoline)
	.byte	0xeb, 0xcc
END(ret_trampoline)
	.fill	PAD, 1, 0xcc
ret_pad_end:

/*
 * As after a return: the stack pointer is above the return address. Only the
 * return value and what a call preserves is alive.
 */
FUNC(ret_body)
	sub	$FRAME_SIZE, %rsp
	pushfq
	cli
	popq	FRAME_FLAGS(%rsp)
	mov	%rax, FRAME_AX(%rsp)
	mov	%rdx, FRAME_DX(%rsp)
	mov	%rbx, FRAME_BX(%rsp)
	mov	%rbp, FRAME_BP(%rsp)
	mov	%r12, FRAME_R12(%rsp)
	mov	%r13, FRAME_R13(%rsp)
	mov	%r14, FRAME_R14(%rsp)
	mov	%r15, FRAME_R15(%rsp)
	lea	FRAME_SIZE(%rsp), %rax
	mov	%rax, FRAME_SP(%rsp)
	movq	$SEL_KERNEL_CODE, FRAME_CS(%rsp)
	movq	$SEL_KERNEL_DATA, FRAME_SS(%rsp)
	mov	%rsp, %rdi
	call	ret_return
	.globl	ret_resume
ret_resume:
	mov	FRAME_AX(%rsp), %rax
	mov	FRAME_DX(%rsp), %rdx
	mov	FRAME_BX(%rsp), %rbx
	mov	FRAME_BP(%rsp), %rbp
	mov	FRAME_R12(%rsp), %r12
	mov	FRAME_R13(%rsp), %r13
	mov	FRAME_R14(%rsp), %r14
	mov	FRAME_R15(%rsp), %r15
	mov	FRAME_IP(%rsp), %rcx
	pushq	FRAME_FLAGS(%rsp)
	popfq
	add	$FRAME_SIZE, %rsp
	jmp	*%rcx
END(ret_body)
