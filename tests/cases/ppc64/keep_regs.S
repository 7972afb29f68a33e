/* SPDX-License-Identifier: MIT */
/*
 * See <tests/cases/keep_regs.h>. r0 and CR0 are the looker's; LR, CTR and CR
 * hold what r30, r31 and r29 do, CR without its first field.
 *
 *	r1 + KEPT(n)	what rn is to hold
 *	r1 + TIMES	times left
 */
#include <frame.h>
#include <asm/entry.h>
#include <kernel/extable.h>

#define SAVED(n) (FRAME_REGS + 8 * (n))
#define KEPT(n)	 (FRAME_REGS + 8 * 32 + 8 * (n))
#define TIMES	 (FRAME_REGS + 8 * 64)
#define AREA	 (FRAME_REGS + 8 * 66)

	.text

.macro EACH_SAVED do
	.irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, \
		30, 31
	\do	\n
	.endr
.endm
.macro EACH do
	.irp n, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
	\do	\n
	.endr
	EACH_SAVED \do
.endm

.macro SAVE n
	std	%r\n, SAVED(\n)(%r1)
.endm
.macro RESTORE n
	ld	%r\n, SAVED(\n)(%r1)
.endm
/* r4 is the seed. */
.macro MAKE n
	addi	%r3, %r4, 0x111 * \n
	std	%r3, KEPT(\n)(%r1)
.endm
.macro FILL n
	ld	%r\n, KEPT(\n)(%r1)
.endm
.macro LOOK n
	ld	%r0, KEPT(\n)(%r1)
	cmpd	%r0, %r\n
	bne	8f
.endm

.macro BREAK_HERE
7:	trap
	EXTABLE(7b, 7b + 4)
.endm
.macro NO_BREAK
.endm

.macro KEEP_REGS name, between
FUNC \name
	mflr	%r0
	std	%r0, FRAME_LR(%r1)
	mfcr	%r0
	std	%r0, FRAME_CR(%r1)
	stdu	%r1, -AREA(%r1)
	EACH_SAVED SAVE
	std	%r3, TIMES(%r1)
	EACH	MAKE
	EACH	FILL
	mtlr	%r30
	mtctr	%r31
	mtcrf	0xff, %r29
9:	\between
	EACH	LOOK
	mflr	%r0
	cmpd	%r0, %r30
	bne	8f
	mfctr	%r0
	cmpd	%r0, %r31
	bne	8f
	mfcr	%r0
	xor	%r0, %r0, %r29
	clrlwi	%r0, %r0, 4
	cmpwi	%r0, 0
	bne	8f
	ld	%r0, TIMES(%r1)
	addic.	%r0, %r0, -1
	std	%r0, TIMES(%r1)
	bne	9b
	li	%r3, 0
	b	6f
8:	li	%r3, 1
6:	EACH_SAVED RESTORE
	addi	%r1, %r1, AREA
	ld	%r0, FRAME_CR(%r1)
	mtcrf	0xff, %r0
	ld	%r0, FRAME_LR(%r1)
	mtlr	%r0
	blr
END \name
.endm

	KEEP_REGS keep_regs, NO_BREAK
	KEEP_REGS keep_regs_trapping, BREAK_HERE

	.section .rodata
	.balign	4
	.globl	spin_code, spin_code_end
spin_code:
1:	or	%r27, %r27, %r27
	lbz	%r4, 0(%r3)
	cmpwi	%r4, 0
	beq	1b
	blr
spin_code_end:
