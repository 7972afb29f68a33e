/* SPDX-License-Identifier: MIT */
/*
 * What detours are made of. All of text may have one, and all of them must be in
 * reach of a branch from all of text, so most of their code is here, shared; what
 * emit.c puts together is:
 *
 *	direct	data | enter; bl detour_direct_N | leave | displaced; b back
 *	general	enter; bl detour_enter; data | displaced; b back
 *	... with a post-handler
 *		enter; bl detour_enter; data | displaced |
 *			enter; bl detour_enter_post; data
 *
 * The shared code holds an address in the detour, so it has interrupts off.
 */
#include <arch/detour.h>
#include <frame.h>
#include <asm/detour.h>
#include <asm/entry.h>
#include <kernel/percpu.h>

#define REGS(off) (FRAME_REGS + (off))

	.section .rodata
	.balign	4

/* ... and bl. r0: the link register. */
	.globl	detour_enter_piece, detour_enter_piece_end
detour_enter_piece:
	stdu	%r1, -FRAME_SIZE(%r1)
	std	%r0, REGS(PT_GPR(0))(%r1)
	mfmsr	%r0
	std	%r0, REGS(PT_MSR)(%r1)
	li	%r0, MSR_RI
	mtmsrd	%r0, 1
	mflr	%r0
detour_enter_piece_end:

/* All other registers are as the frame says. */
	.globl	detour_leave_piece, detour_leave_piece_end
detour_leave_piece:
	ld	%r0, REGS(PT_LINK)(%r1)
	mtlr	%r0
	ld	%r0, REGS(PT_MSR)(%r1)
	mtmsrd	%r0
	ld	%r0, REGS(PT_GPR(0))(%r1)
	ld	%r1, REGS(PT_GPR(1))(%r1)
detour_leave_piece_end:

	.section .text.noprobe, "ax"
	.globl	detour_start, detour_end
detour_start:

/* What the entry has not saved but pc and trap; r31: its return address. */
.macro SAVE
	std	%r0, REGS(PT_LINK)(%r1)
	.irp n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, \
		20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	std	%r\n, REGS(PT_GPR(\n))(%r1)
	.endr
	mflr	%r31
	mfctr	%r3
	mfxer	%r4
	mfcr	%r5
	addi	%r6, %r1, FRAME_SIZE
	std	%r3, REGS(PT_CTR)(%r1)
	std	%r4, REGS(PT_XER)(%r1)
	std	%r5, REGS(PT_CCR)(%r1)
	std	%r6, REGS(PT_GPR(1))(%r1)
.endm

/* Does not come back: a return from the trap that this looks like by then. */
.macro CALL_ENGINE fn
	addi	%r3, %r1, FRAME_REGS
	ld	%r2, CPU_TOC(%r13)
	addis	%r12, %r2, \fn@toc@ha
	addi	%r12, %r12, \fn@toc@l
	b	vec_restart
.endm

FUNC detour_enter
	SAVE
	ld	%r4, 0(%r31)
	CALL_ENGINE probe_hit_detour
END detour_enter

FUNC detour_enter_post
	SAVE
	ld	%r4, 0(%r31)
	CALL_ENGINE probe_hit_detour_post
END detour_enter_post

/*
 * Calls @n handlers. Over the calls there are
 *
 *	r27	number of turns		r28	offset of the counter of hits
 *	r29	pc			r30	0
 */
.macro DIRECT n
	.balign	16
detour_direct_\n:
	SAVE
	ld	%r29, DETOUR_PC(%r31)
	ld	%r3, CPU_CURRENT(%r13)
	ld	%r30, CPU_HIT_LEVELS(%r13)
	ld	%r27, CPU_HIT_TURNS(%r13)
	lwz	%r3, THREAD_PREEMPT(%r3)
	cmpdi	%r30, 0
	std	%r29, REGS(PT_NIP)(%r1)
	std	%r31, FRAME_TOC(%r1)
	std	%r3, REGS(PT_TRAP)(%r1)
	std	%r27, REGS(PT_PAD)(%r1)
	bne-	detour_nested
	std	%r1, CPU_HIT_LEVELS(%r13)
	li	%r28, KPROBE_NHIT
	.set	i, 0
	.rept	\n
	ld	%r3, DETOUR_PROBE(i)(%r31)
	addi	%r27, %r27, 1
	std	%r27, CPU_HIT_TURNS(%r13)
	addi	%r4, %r1, FRAME_REGS
9:	ldarx	%r5, %r28, %r3
	addi	%r5, %r5, 1
	stdcx.	%r5, %r28, %r3
	bne-	9b
	ld	%r12, KPROBE_CALL(%r3)
	mtctr	%r12
	bctrl
	.set	i, i + 1
	.if	i < \n
	std	%r29, REGS(PT_NIP)(%r1)
	.endif
	.endr
	.if	\n > 1
	b	detour_leave
	.endif
.endm
	.irp	n, 8, 7, 6, 5, 4, 3, 2, 1
	DIRECT	\n
	.endr

/* Restores all that SAVE has saved; detour_direct_1 falls into it. */
detour_leave:
	std	%r30, CPU_HIT_LEVELS(%r13)
	mtlr	%r31
	ld	%r3, REGS(PT_CTR)(%r1)
	ld	%r4, REGS(PT_XER)(%r1)
	ld	%r5, REGS(PT_CCR)(%r1)
	mtctr	%r3
	mtxer	%r4
	mtcrf	0xff, %r5
	.irp n, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 19, 20, \
		21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	ld	%r\n, REGS(PT_GPR(\n))(%r1)
	.endr
	blr

/* A hit is under way: r31 as above. */
detour_nested:
	ld	%r4, DETOUR_SELF(%r31)
	CALL_ENGINE probe_hit_detour
detour_end:

	.section .rodata
	.balign	8
	.globl	detour_direct
detour_direct:				/* for one handler, two, ... */
	.irp	n, 1, 2, 3, 4, 5, 6, 7, 8
	.quad	detour_direct_\n
	.endr
