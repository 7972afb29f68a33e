/* SPDX-License-Identifier: MIT */
/*
 * Where probed functions return to: <arch/ret.h>.
 */
#include <frame.h>
#include <asm/entry.h>

	.section .text.noprobe, "ax"

#define PAD	 32 /* words */
#define RET_SIZE (FRAME_REGS + PT_SIZE)
#define REGS(off) (FRAME_REGS + (off))

/* What a call preserves, and so does C. */
.macro EACH_SAVED insn
	.irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, \
		30, 31
	\insn	%r\n, REGS(PT_GPR(\n))(%r1)
	.endr
.endm

	.globl	ret_pad_start, ret_pad_end
	.balign	16
ret_pad_start:
	.rept	PAD
	trap
	.endr
FUNC ret_trampoline
	b	ret_body
END ret_trampoline
	.rept	PAD
	trap
	.endr
ret_pad_end:

/*
 * As after a return: only the return value and what a call preserves is alive.
 * Nothing is below the stack pointer, since who has just called has no red zone.
 */
FUNC ret_body
	stdu	%r1, -RET_SIZE(%r1)
	mfmsr	%r5
	li	%r0, MSR_RI
	mtmsrd	%r0, 1
	std	%r3, REGS(PT_GPR(3))(%r1)
	std	%r4, REGS(PT_GPR(4))(%r1)
	EACH_SAVED std
	std	%r2, REGS(PT_GPR(2))(%r1)
	std	%r13, REGS(PT_GPR(13))(%r1)
	addi	%r6, %r1, RET_SIZE
	mfcr	%r7
	std	%r6, REGS(PT_GPR(1))(%r1)
	std	%r5, REGS(PT_MSR)(%r1)
	std	%r7, REGS(PT_CCR)(%r1)
	addi	%r3, %r1, FRAME_REGS
	bl	ret_return
	.globl	ret_resume
ret_resume:
	nop
	ld	%r0, REGS(PT_NIP)(%r1)
	ld	%r5, REGS(PT_MSR)(%r1)
	ld	%r3, REGS(PT_GPR(3))(%r1)
	ld	%r4, REGS(PT_GPR(4))(%r1)
	EACH_SAVED ld
	mtlr	%r0
	mtmsrd	%r5, 1
	addi	%r1, %r1, RET_SIZE
	blr
END ret_body
