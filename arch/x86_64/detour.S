/* SPDX-License-Identifier: MIT */
/*
 * What detours are made of. emit.c puts the pieces together and fills the holes:
 *
 *	direct	save direct call call ... leave displaced; jmp; general
 *	general	save general displaced; jmp
 *	... with a post-handler
 *		save general displaced; save post
 *
 * While handlers run, BP is the frame. SP below it is aligned as C wants it, for
 * a probed instruction can be anywhere in its function. DF, which C wants to be
 * clear, is set only in a few places: but who knows where.
 */
#include <arch/detour.h>
#include <frame.h>
#include <asm/x86.h>
#include <kernel/percpu.h>

/* Does not fit into an immediate of a byte, so that the assembler takes four. */
#define HOLE32 0x12345678
#define HOLE64 0x123456789abcdef0

.macro PIECE name
	.globl	detour_\name
detour_\name:
.endm
.macro PIECE_END name
	.globl	detour_\name\()_end
detour_\name\()_end:
.endm
/* A hole is at the end of the instruction before it. */
.macro HOLE name
	.globl	detour_hole_\name
detour_hole_\name:
.endm

	.section .rodata

/*
 * The first word is a gap: where the stack pointer is pushed as it was, for a
 * copy of it in its proper place.
 */
PIECE	save
	push	%rsp
	push	$SEL_KERNEL_DATA
	push	8(%rsp)
	pushfq
	push	$SEL_KERNEL_CODE
	push	$HOLE32
HOLE	save_pc
	push	$0			/* orig_ax */
	push	$0			/* vector */
	PUSH_REGS
	enter	$0, $0			/* push %rbp; mov %rsp, %rbp */
	mov	%gs:CPU_CURRENT, %rax
	push	THREAD_PREEMPT(%rax)
	push	$X86_FLAGS_FIXED	/* IF, DF, TF, AC: off */
	popfq
	and	$-16, %rsp
PIECE_END save

PIECE	direct
	cmpq	$0, %gs:CPU_HIT_LEVELS
	jne	. + 6 + HOLE32
HOLE	direct_general
	mov	%rbp, %gs:CPU_HIT_LEVELS
PIECE_END direct

/* One handler; the pc is for those behind the first, should that change it. */
PIECE	pc
	movq	$HOLE32, FRAME_IP(%rbp)
HOLE	pc
PIECE_END pc

PIECE	call
	incq	%gs:CPU_HIT_TURNS
	movabs	$HOLE64, %rdi
HOLE	call_probe
	mov	%rbp, %rsi
	lock incq KPROBE_NHIT(%rdi)
	call	*KPROBE_CALL(%rdi)
PIECE_END call

PIECE	leave
	movq	$0, %gs:CPU_HIT_LEVELS
	leave				/* pops BP, the frame's first */
	POP_REGS
	lea	32(%rsp), %rsp		/* vector, orig_ax, ip, cs */
	popfq
	pop	%rsp
PIECE_END leave

PIECE	general
	movabs	$HOLE64, %rsi
HOLE	general_detour
PIECE_END general

/* SI: the detour. Back by IRET, to what the frame says. */
	.section .text.noprobe, "ax"
FUNC(detour_enter)
	mov	$probe_hit_detour, %rax
	mov	%rbp, %rdi
	jmp	vec_restart
END(detour_enter)

FUNC(detour_enter_post)
	mov	$probe_hit_detour_post, %rax
	mov	%rbp, %rdi
	jmp	vec_restart
END(detour_enter_post)
