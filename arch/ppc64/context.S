/* SPDX-License-Identifier: MIT */
/*
 * Switching between threads, and taking one's own registers.
 *
 * A thread that is switched out has on its stack, at arch_context.sp:
 *
 *	+------------------------+
 *	| frame of the caller	 | return address in FRAME_LR, CR in FRAME_CR
 *	+------------------------+ sp + SWITCH_SIZE
 *	| r14 .. r31		 |
 *	+------------------------+ sp + FRAME_REGS
 *	| header: back chain ... |
 *	+------------------------+ sp
 *
 * r2 is the same everywhere; r13 is the CPU's, not the thread's.
 */
#include <frame.h>
#include <asm/entry.h>
#include <asm/regs.h>
#include <kernel/percpu.h>

#define SWITCH_SIZE (FRAME_REGS + 8 * 18)
#define SAVED(n)    (FRAME_REGS + 8 * ((n) - 14))

.macro EACH_SAVED insn
	.irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, \
		30, 31
	\insn	%r\n, SAVED(\n)(%r1)
	.endr
.endm

	.text

/* void arch_context_switch(struct arch_context *prev, *next) */
FUNC arch_context_switch
	mflr	%r0
	std	%r0, FRAME_LR(%r1)
	mfcr	%r0
	std	%r0, FRAME_CR(%r1)
	stdu	%r1, -SWITCH_SIZE(%r1)
	EACH_SAVED std
	std	%r1, 0(%r3)
	ld	%r1, 0(%r4)
	std	%r4, CPU_CURRENT(%r13)
	EACH_SAVED ld
	addi	%r1, %r1, SWITCH_SIZE
	ld	%r0, FRAME_CR(%r1)
	mtcrf	0xff, %r0
	ld	%r0, FRAME_LR(%r1)
	mtlr	%r0
	blr
END arch_context_switch

/* void arch_context_init(struct arch_context *ctx, void *stack_top) */
FUNC arch_context_init
	li	%r0, 0
	addi	%r4, %r4, -FRAME_REGS		/* where back traces end */
	std	%r0, FRAME_BACK_CHAIN(%r4)
	std	%r0, FRAME_CR(%r4)
	mflr	%r5
	bcl	20, 31, 1f
1:	mflr	%r6
	mtlr	%r5
	addi	%r6, %r6, context_start - 1b
	std	%r6, FRAME_LR(%r4)
	addi	%r5, %r4, -SWITCH_SIZE
	std	%r4, FRAME_BACK_CHAIN(%r5)
	std	%r5, 0(%r3)
	li	%r6, 18				/* r14 to r31 start as 0 */
	mtctr	%r6
	addi	%r5, %r5, FRAME_REGS - 8
2:	stdu	%r0, 8(%r5)
	bdnz	2b
	blr
END arch_context_init

FUNC context_start
	bl	thread_entry
	trap
END context_start

/* void arch_context_regs(const struct arch_context *ctx, struct pt_regs *) */
FUNC arch_context_regs
	li	%r0, PT_SIZE / 8
	mtctr	%r0
	li	%r0, 0
	addi	%r5, %r4, -8
1:	stdu	%r0, 8(%r5)
	bdnz	1b
	ld	%r3, 0(%r3)
	.irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, \
		30, 31
	ld	%r0, SAVED(\n)(%r3)
	std	%r0, PT_GPR(\n)(%r4)
	.endr
	addi	%r3, %r3, SWITCH_SIZE
	ld	%r0, FRAME_LR(%r3)
	std	%r3, PT_GPR(1)(%r4)
	std	%r2, PT_GPR(2)(%r4)
	std	%r0, PT_NIP(%r4)
	mfmsr	%r0
	std	%r0, PT_MSR(%r4)
	blr
END arch_context_regs

/* void arch_regs_capture(struct pt_regs *): as if the call had just returned */
FUNC arch_regs_capture
	.irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, \
		19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
	std	%r\n, PT_GPR(\n)(%r3)
	.endr
	mflr	%r0
	std	%r0, PT_NIP(%r3)
	std	%r0, PT_LINK(%r3)
	mfctr	%r0
	std	%r0, PT_CTR(%r3)
	mfxer	%r0
	std	%r0, PT_XER(%r3)
	mfcr	%r0
	std	%r0, PT_CCR(%r3)
	mfmsr	%r0
	std	%r0, PT_MSR(%r3)
	li	%r0, 0
	std	%r0, PT_TRAP(%r3)
	std	%r0, PT_DAR(%r3)
	std	%r0, PT_DSISR(%r3)
	blr
END arch_regs_capture

#define CALL_WORDS ARCH_CALL_STACK_WORDS
#define CALL_SIZE  (FRAME_REGS + 8 * 8 + 8 * CALL_WORDS)

/*
 * r3: fn, r4: regs, r5: the stack words, ARCH_CALL_STACK_WORDS of them. Calls fn
 * as the function was called at whose local entry regs were taken.
 * (ELFv2 2.2.2.3)
 */
FUNC arch_call_as
	mflr	%r0
	std	%r0, FRAME_LR(%r1)
	stdu	%r1, -CALL_SIZE(%r1)
	std	%r2, FRAME_TOC(%r1)
	li	%r0, CALL_WORDS
	mtctr	%r0
	addi	%r5, %r5, -8
	addi	%r6, %r1, FRAME_REGS + 8 * 8 - 8
1:	ldu	%r0, 8(%r5)
	stdu	%r0, 8(%r6)
	bdnz	1b
	mr	%r12, %r3
	mtctr	%r12
	mr	%r11, %r4
	.irp n, 3, 4, 5, 6, 7, 8, 9, 10
	ld	%r\n, PT_GPR(\n)(%r11)
	.endr
	bctrl
	ld	%r2, FRAME_TOC(%r1)
	addi	%r1, %r1, CALL_SIZE
	ld	%r0, FRAME_LR(%r1)
	mtlr	%r0
	blr
END arch_call_as
