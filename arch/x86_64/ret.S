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

	.globl	ret_landing, ret_pad_end
	.cfi_startproc
	.cfi_def_cfa %rsp, 0
	CFI_TRUE_ADDRESS
FUNC(ret_trampoline)
	.fill	PAD - 50, 1, 0xcc
	jmp	ret_body
	.org	ret_trampoline + PAD, 0xcc
ret_landing:
	.byte	0xeb, 0xcc
	.fill	PAD, 1, 0xcc
ret_pad_end:
END(ret_trampoline)

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
	.cfi_def_cfa_offset FRAME_SIZE
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
	.cfi_rel_offset %rbx, FRAME_BX
	.cfi_rel_offset %rbp, FRAME_BP
	.cfi_rel_offset %r12, FRAME_R12
	.cfi_rel_offset %r13, FRAME_R13
	.cfi_rel_offset %r14, FRAME_R14
	.cfi_rel_offset %r15, FRAME_R15
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
	movq	$1, %gs:CPU_HIT_LEVELS
	mov	%gs:CPU_HITS, %r14
	mov	THREAD_PREEMPT(%rbx), %eax
	mov	RI_RET_ADDR(%rdi), %r13
	mov	%rsp, HIT_REGS(%r14)
	movq	$ret_run, HIT_RESUME(%r14)
	mov	%r13, HIT_GO_ON(%r14)
	mov	%r12, HIT_FRAME(%r14)
	mov	%eax, HIT_PREEMPT(%r14)
	mov	%r13, FRAME_IP(%rsp)
	.cfi_rel_offset %rip, FRAME_IP

1:	mov	RI_BELOW(%rdi), %rax	/* as ret_run() does */
	mov	%rdi, THREAD_RET_TOP + 8(%rbx)
	mov	%rax, THREAD_RET_TOP(%rbx)
	mov	RI_OWNER(%rdi), %rax
	mov	%rax, HIT_TURN(%r14)
	lock incq OWNER_RETURNED(%rax)
	mov	%rsp, %rsi
	call	*OWNER_CALL(%rax)
	mov	THREAD_RET_TOP(%rbx), %rdi
	cmp	RI_SP(%rdi), %r12
	je	2f
	movq	$0, %gs:CPU_HIT_LEVELS

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
	.cfi_remember_state
	.cfi_def_cfa_offset 0
	.cfi_same_value %rbx
	.cfi_same_value %rbp
	.cfi_same_value %r12
	.cfi_same_value %r13
	.cfi_same_value %r14
	.cfi_same_value %r15
	.cfi_register %rip, %rcx
	jmp	*%rcx
	.cfi_restore_state

2:	incq	%gs:CPU_HIT_TURNS
	mov	%r13, FRAME_IP(%rsp)
	jmp	1b

3:	mov	%rsp, %rdi
	call	ret_return
	mov	FRAME_IP(%rsp), %rcx
	jmp	4b
	.globl	ret_body_end
ret_body_end:
	.cfi_endproc
END(ret_body)
	.org	ret_block + BLOCK, 0xcc
