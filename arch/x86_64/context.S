/* SPDX-License-Identifier: MIT */
/*
 * Switching threads. A thread that is switched out has on its stack, from
 * ctx->sp upwards:
 *
 *	r15 r14 r13 r12 bx bp, return address
 *
 * Flags are not saved: interrupts are off on both sides, and the ABI keeps DF
 * clear across calls.
 */
#include <frame.h>
#include <asm/x86.h>
#include <kernel/percpu.h>

#define SAVED_SIZE 56

	.text

/* DI: prev, SI: next. May be probed, but that would show every switch twice. */
FUNC(arch_context_switch)
	push	%rbp
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%rsp, (%rdi)
	mov	(%rsi), %rsp
	mov	%rsi, %gs:CPU_CURRENT
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
	ret
END(arch_context_switch)

/*
 * What a new thread returns to. Its saved bp is 0, which ends our backtraces;
 * gdb goes by the undefined return address.
 */
	.cfi_sections .debug_frame
FUNC(thread_start)
	.cfi_startproc
	.cfi_undefined %rip
	call	thread_entry
	ud2
	.cfi_endproc
END(thread_start)

/* DI: ctx, SI: end of the stack. 16 bytes of zeros stay on top of it. */
FUNC(arch_context_init)
	lea	-SAVED_SIZE - 16(%rsi), %rdx
	mov	%rdx, (%rdi)
	xor	%eax, %eax
	mov	%rdx, %rdi
	mov	$(SAVED_SIZE + 16) / 8, %ecx
	rep stosq
	movq	$thread_start, SAVED_SIZE - 8(%rdx)
	ret
END(arch_context_init)

/* DI: ctx, SI: regs. As if interrupted right after arch_context_switch(). */
FUNC(arch_context_regs)
	mov	(%rdi), %rdx
	mov	%rsi, %rdi
	xor	%eax, %eax
	mov	$FRAME_SIZE / 8, %ecx
	rep stosq
	mov	0(%rdx), %rax
	mov	%rax, FRAME_R15(%rsi)
	mov	8(%rdx), %rax
	mov	%rax, FRAME_R14(%rsi)
	mov	16(%rdx), %rax
	mov	%rax, FRAME_R13(%rsi)
	mov	24(%rdx), %rax
	mov	%rax, FRAME_R12(%rsi)
	mov	32(%rdx), %rax
	mov	%rax, FRAME_BX(%rsi)
	mov	40(%rdx), %rax
	mov	%rax, FRAME_BP(%rsi)
	mov	48(%rdx), %rax
	mov	%rax, FRAME_IP(%rsi)
	add	$SAVED_SIZE, %rdx
	mov	%rdx, FRAME_SP(%rsi)
	movq	$SEL_KERNEL_CODE, FRAME_CS(%rsi)
	movq	$SEL_KERNEL_DATA, FRAME_SS(%rsi)
	movq	$X86_FLAGS_FIXED, FRAME_FLAGS(%rsi)
	ret
END(arch_context_regs)

/*
 * DI: fn, SI: regs, DX: stack words, CX: how many, even. Calls fn as the function
 * was called at whose first instruction regs were taken. (SysV ABI 3.2.3)
 */
FUNC(arch_call_as)
	push	%rbp
	mov	%rsp, %rbp
	mov	%rdi, %rax
1:	pushq	-8(%rdx,%rcx,8)
	dec	%rcx
	jnz	1b
	mov	FRAME_DI(%rsi), %rdi
	mov	FRAME_DX(%rsi), %rdx
	mov	FRAME_CX(%rsi), %rcx
	mov	FRAME_R8(%rsi), %r8
	mov	FRAME_R9(%rsi), %r9
	mov	FRAME_SI(%rsi), %rsi
	call	*%rax
	leave
	ret
END(arch_call_as)
