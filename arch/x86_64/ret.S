/* SPDX-License-Identifier: MIT */
/*
 * Where probed functions return to: <arch/ret.h>.
 */
#include <frame.h>
#include <asm/x86.h>
#include <kernel/percpu.h>
#include <probe/ret.h>

	.cfi_sections .debug_frame
	.section .text.noprobe, "ax"

/*
 * gdb finds the true address as ret_caller() does, on whatever CPU, by a DWARF
 * expression (DWARF 5 2.5). All code here lies within BLOCK bytes from where the
 * address of cpus[] is, which is as much as such an expression can be told.
 *
 *	the frame, = CFA - 8
 *	cpu = *(pc & -BLOCK)
 *	1: ri = cpu->thread->ret.top
 *	2: if (ri->sp == frame) goto 4
 *	   if (ri->sp == ~0) goto 3
 *	   ri = ri->below; goto 2
 *	3: cpu++; goto 1
 *	4: ri->ret_addr
 */
#define BLOCK 512

.macro CFI_TRUE_ADDRESS
	.cfi_escape 0x16, 16, 50	/* DW_CFA_val_expression, rip, size */
	.cfi_escape 0x38, 0x1c		/* lit8, minus */
	.cfi_escape 0x80, 0		/* breg16 */
	.cfi_escape 0x0b, -BLOCK & 0xff, -BLOCK >> 8 & 0xff, 0x1a, 0x06
					/* const2s, and, deref */
	/* 1 */
	.cfi_escape 0x12, 0x23, CPU_CURRENT, 0x06 /* dup, plus_uconst, deref */
	.cfi_escape 0x23, THREAD_RET_TOP, 0x06
	/* 2 */
	.cfi_escape 0x12, 0x23, RI_SP, 0x06
	.cfi_escape 0x12, 0x15, 4, 0x29, 0x28, 19, 0 /* dup, pick, eq, bra 4 */
	.cfi_escape 0x30, 0x20, 0x29, 0x28, 6, 0 /* lit0, not, eq, bra 3 */
	.cfi_escape 0x23, RI_BELOW, 0x06
	.cfi_escape 0x2f, -23 & 0xff, 0xff	/* skip 2 */
	/* 3 */
	.cfi_escape 0x13, 0x23, CPU_SIZE & 0x7f | 0x80, CPU_SIZE >> 7 /* drop */
	.cfi_escape 0x2f, -37 & 0xff, 0xff	/* skip 1 */
	/* 4 */
	.cfi_escape 0x13, 0x23, RI_RET_ADDR, 0x06
.endm

	.balign	BLOCK
ret_block:
	.quad	cpus

/*
 * Breakpoints around one instruction of two bytes, the second of which is one as
 * well: `jmp .-50`. What it reaches is out of the way of plausible sums.
 */
#define PAD 64

/*
 * The frame has the layout of a direct detour's (<asm/detour.h>), so that the same
 * code can tell what to do should a handler have to be abandoned:
 *
 *	sp as after the return ->
 *		flags		where the return address was; in a detour: sp
 *		struct pt_regs	<- bp
 *		preempt_count	<- sp
 *
 * Of the registers those are saved that are alive after a return: the value, and
 * what a call preserves. In: the flags are pushed, interrupts off.
 */
.macro SAVE ip:vararg
	push	$SEL_KERNEL_DATA
	lea	16(%rsp), %rsi
	push	%rsi
	push	16(%rsp)
	push	$SEL_KERNEL_CODE
	push	\ip
	.cfi_adjust_cfa_offset 40
	.cfi_rel_offset %rip, 0
	sub	$(FRAME_IP - FRAME_R15), %rsp
	.cfi_adjust_cfa_offset FRAME_IP - FRAME_R15
	mov	%rax, FRAME_AX - 8(%rsp)
	mov	%rdx, FRAME_DX - 8(%rsp)
	mov	%rbx, FRAME_BX - 8(%rsp)
	mov	%r12, FRAME_R12 - 8(%rsp)
	mov	%r13, FRAME_R13 - 8(%rsp)
	mov	%r14, FRAME_R14 - 8(%rsp)
	mov	%r15, FRAME_R15 - 8(%rsp)
	enter	$0, $0			/* push %rbp; mov %rsp, %rbp */
	.cfi_def_cfa %rbp, FRAME_SIZE + 8
	.cfi_rel_offset %rbx, FRAME_BX
	.cfi_rel_offset %rbp, FRAME_BP
	.cfi_rel_offset %r12, FRAME_R12
	.cfi_rel_offset %r13, FRAME_R13
	.cfi_rel_offset %r14, FRAME_R14
	.cfi_rel_offset %r15, FRAME_R15
.endm

/*
 * As after a return: the stack pointer is above the return address. Until the
 * flags are pushed there is nothing to find the frame by.
 */
	.globl	ret_landing, ret_pad_end
	.cfi_startproc
	.cfi_def_cfa %rsp, 0
	CFI_TRUE_ADDRESS
FUNC(ret_trampoline)
	.fill	PAD - 50, 1, 0xcc
	pushfq
	.cfi_def_cfa_offset 8
	cli
	mov	%gs:CPU_CURRENT, %rcx
	mov	THREAD_RET_TOP(%rcx), %rdi
	cmp	RI_SP(%rdi), %rsp
	je	noted
	jmp	unusual
	.cfi_def_cfa_offset 0
	.org	ret_trampoline + PAD, 0xcc
ret_landing:
	.byte	0xeb, 0xcc
	.fill	PAD, 1, 0xcc
ret_pad_end:
	.cfi_def_cfa_offset 8
END(ret_trampoline)

/*
 * The usual case: what was noted last returns first. Over the calls there are
 *
 *	RBX	where it returns to
 *	R12	the frame: RSP as it was at the function's entry
 */
FUNC(ret_body)
noted:	.cfi_remember_state
	SAVE	RI_RET_ADDR(%rdi)
	push	THREAD_PREEMPT(%rcx)
	mov	RI_RET_ADDR(%rdi), %rbx
	lea	FRAME_SIZE(%rbp), %r12
	mov	%rbp, %gs:CPU_HIT_LEVELS

1:	mov	RI_BELOW(%rdi), %rdx		/* as ret_call_all() does */
	mov	%rdi, THREAD_RET_TOP + 8(%rcx)
	mov	%rdx, THREAD_RET_TOP(%rcx)
	mov	RI_OWNER(%rdi), %rax
	incq	%gs:CPU_HIT_TURNS
	lock incq OWNER_RETURNED(%rax)
	mov	%rbp, %rsi
	cmp	RI_SP(%rdx), %r12
	je	2f
	call	*OWNER_CALL(%rax)

	movq	$0, %gs:CPU_HIT_LEVELS
3:	mov	%rbx, FRAME_SP(%rbp)		/* for ret */
	.cfi_remember_state
	leave
	.cfi_def_cfa %rsp, FRAME_SIZE
	.cfi_same_value %rbp
	.cfi_rel_offset %rip, FRAME_SP - FRAME_R15
	.irp	r, r15, r14, r13, r12, rbx
	pop	%\r
	.cfi_adjust_cfa_offset -8
	.cfi_same_value %\r
	.endr
	mov	FRAME_AX - FRAME_R11(%rsp), %rax
	mov	FRAME_DX - FRAME_R11(%rsp), %rdx
	add	$(FRAME_FLAGS - FRAME_R11), %rsp
	.cfi_adjust_cfa_offset FRAME_R11 - FRAME_FLAGS
	popfq
	.cfi_adjust_cfa_offset -8
	ret	$16
	.cfi_restore_state

2:	call	*OWNER_CALL(%rax)
	mov	%gs:CPU_CURRENT, %rcx
	mov	THREAD_RET_TOP(%rcx), %rdi
	mov	%rbx, FRAME_IP(%rbp)
	jmp	1b

unusual:
	.cfi_restore_state
	SAVE	$0
	push	$0
	mov	%rbp, %rdi
	call	ret_return
	mov	FRAME_IP(%rbp), %rbx
	jmp	3b
	.globl	ret_body_end
ret_body_end:
	.cfi_endproc
END(ret_body)
	.org	ret_block + BLOCK, 0xcc
