/* SPDX-License-Identifier: MIT */
/*
 * setjmp() and longjmp(): <arch/setjmp.h>.
 *
 *	buf	r1, LR, CR, r14 ... r31
 *
 * r2 is the same everywhere, and r13 the CPU's.
 */
#include <frame.h>
#include <asm/entry.h>

	.text

.macro EACH_SAVED insn
	.irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, \
		30, 31
	\insn	%r\n, 24 + 8 * (\n - 14)(%r3)
	.endr
.endm

FUNC setjmp
	mflr	%r0
	mfcr	%r4
	std	%r1, 0(%r3)
	std	%r0, 8(%r3)
	std	%r4, 16(%r3)
	EACH_SAVED std
	li	%r3, 0
	blr
END setjmp

FUNC longjmp
	ld	%r1, 0(%r3)
	ld	%r0, 8(%r3)
	ld	%r5, 16(%r3)
	EACH_SAVED ld
	mtlr	%r0
	mtcrf	0xff, %r5
	extsw.	%r3, %r4
	bnelr
	li	%r3, 1
	blr
END longjmp
