/* SPDX-License-Identifier: MIT */
/*
 * setjmp() and longjmp(): <arch/setjmp.h>.
 *
 *	buf	bx bp r12 r13 r14 r15, stack pointer and pc after the return
 */
#include <asm/x86.h>

	.text

FUNC(setjmp)
	mov	%rbx, 0(%rdi)
	mov	%rbp, 8(%rdi)
	mov	%r12, 16(%rdi)
	mov	%r13, 24(%rdi)
	mov	%r14, 32(%rdi)
	mov	%r15, 40(%rdi)
	lea	8(%rsp), %rax
	mov	%rax, 48(%rdi)
	mov	(%rsp), %rax
	mov	%rax, 56(%rdi)
	xor	%eax, %eax
	ret
END(setjmp)

FUNC(longjmp)
	mov	%esi, %eax
	cmp	$1, %eax			/* carry if it is 0 */
	adc	$0, %eax
	mov	0(%rdi), %rbx
	mov	8(%rdi), %rbp
	mov	16(%rdi), %r12
	mov	24(%rdi), %r13
	mov	32(%rdi), %r14
	mov	40(%rdi), %r15
	mov	48(%rdi), %rsp
	jmp	*56(%rdi)
END(longjmp)
