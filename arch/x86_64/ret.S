/* SPDX-License-Identifier: MIT */
/*
 * Where probed functions return to: <arch/ret.h>.
 */
#include <frame.h>
#include <asm/x86.h>
#include <kernel/percpu.h>
#include <probe/ret.h>

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
 * return value and what a call preserves is alive. In between:
 *
 *	RBX	the running thread
 *	R12	the frame: RSP as it was at the function's entry
 *	R13	where it returns to
 *	R14	level 0 of this CPU's hits
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
	lea	FRAME_SIZE(%rsp), %r12
	mov	%r12, FRAME_SP(%rsp)
	sub	$8, %r12
	movq	$SEL_KERNEL_CODE, FRAME_CS(%rsp)
	movq	$SEL_KERNEL_DATA, FRAME_SS(%rsp)

	mov	%gs:CPU_CURRENT, %rbx
	mov	THREAD_RET_TOP(%rbx), %rdi
	cmp	RI_SP(%rdi), %r12
	jne	3f
	incq	%gs:CPU_HIT_TURNS	/* as level_begin() and run() do */
	movl	$1, %gs:CPU_HIT_LEVELS
	mov	%gs:CPU_HITS, %r14
	mov	THREAD_PREEMPT(%rbx), %eax
	mov	RI_RET_ADDR(%rdi), %r13
	mov	%rsp, HIT_REGS(%r14)
	movq	$ret_run, HIT_RESUME(%r14)
	mov	%r13, HIT_GO_ON(%r14)
	mov	%r12, HIT_FRAME(%r14)
	mov	%eax, HIT_PREEMPT(%r14)

1:	mov	RI_BELOW(%rdi), %rax	/* as ret_run() does */
	mov	%rdi, THREAD_RET_TOP + 8(%rbx)
	mov	%rax, THREAD_RET_TOP(%rbx)
	mov	RI_OWNER(%rdi), %rax
	mov	%r13, FRAME_IP(%rsp)
	mov	%rax, HIT_TURN(%r14)
	lock incq OWNER_RETURNED(%rax)
	mov	%rsp, %rsi
	call	*OWNER_CALL(%rax)
	mov	THREAD_RET_TOP(%rbx), %rdi
	cmp	RI_SP(%rdi), %r12
	je	2f
	movl	$0, %gs:CPU_HIT_LEVELS

	mov	%r13, %rcx
4:	mov	FRAME_AX(%rsp), %rax
	mov	FRAME_DX(%rsp), %rdx
	mov	FRAME_BX(%rsp), %rbx
	mov	FRAME_BP(%rsp), %rbp
	mov	FRAME_R12(%rsp), %r12
	mov	FRAME_R13(%rsp), %r13
	mov	FRAME_R14(%rsp), %r14
	mov	FRAME_R15(%rsp), %r15
	pushq	FRAME_FLAGS(%rsp)
	popfq
	add	$FRAME_SIZE, %rsp
	jmp	*%rcx

2:	incq	%gs:CPU_HIT_TURNS
	jmp	1b

3:	mov	%rsp, %rdi
	call	ret_return
	mov	FRAME_IP(%rsp), %rcx
	jmp	4b
	.globl	ret_body_end
ret_body_end:
END(ret_body)
