/* SPDX-License-Identifier: MIT */
/* See <tests/cases/ret_area.h>. */
#include <asm/x86.h>

	.text

FUNC(ret_tail)
	jmp	ret_tail_end
END(ret_tail)

FUNC(ret_tail_end)
	lea	1(%rdi), %rax
	ret
END(ret_tail_end)

FUNC(ret_loop)
	mov	$7, %eax
	dec	%rdi
	jns	ret_loop
	ret
END(ret_loop)

FUNC(ret_early)
	mov	$1, %eax
	test	%rdi, %rdi
	jz	1f
	push	%rbp
	mov	%rsp, %rbp
	mov	$2, %eax
	pop	%rbp
1:	ret
END(ret_early)

/* Its caller's next instruction is one of two bytes, to be left out. */
FUNC(ret_changes)
	addq	$2, (%rsp)
	xor	%eax, %eax
	ret
END(ret_changes)

FUNC(ret_change)
	call	ret_changes
	mov	$1, %al
	add	$10, %eax
	ret
END(ret_change)

FUNC(ret_on_stack)
	push	%rbp
	mov	%rsp, %rbp
	mov	%rdi, %rsp
	mov	%rdx, %rdi
	call	*%rsi
	mov	%rbp, %rsp
	pop	%rbp
	ret
END(ret_on_stack)

FUNC(ret_address)
	mov	(%rsp), %rax
	ret
END(ret_address)

FUNC(ret_pops_callee)
	mov	8(%rsp), %rax
	add	16(%rsp), %rax
	ret	$16
END(ret_pops_callee)

FUNC(ret_pops)
	push	%rbp
	mov	%rsp, %rbp
	push	$1
	push	$2
	call	ret_pops_callee
	cmp	%rsp, %rbp
	je	1f
	mov	$-1, %rax
1:	leave
	ret
END(ret_pops)

.macro EACH_SAVED do
	\do	rbx, 1
	\do	r12, 2
	\do	r13, 3
	\do	r14, 4
	\do	r15, 5
	\do	rbp, 6
.endm
.macro SAVE reg, n
	push	%\reg
.endm
.macro SET reg, n
	mov	$0x1234567 * \n, %\reg
.endm
.macro LOOK reg, n
	cmp	$0x1234567 * \n, %\reg
	setne	%cl
	or	%cl, %al
.endm

FUNC(ret_keeps)
	EACH_SAVED SAVE
	sub	$8, %rsp
	EACH_SAVED SET
	call	*%rdi
	xor	%eax, %eax
	EACH_SAVED LOOK
	add	$8, %rsp
	pop	%rbp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	ret
END(ret_keeps)
