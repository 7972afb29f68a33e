/* SPDX-License-Identifier: MIT */
/* See <tests/cases/ret_area.h>. */
#include <frame.h>
#include <asm/entry.h>

	.text

FUNC ret_tail
	b	ret_tail_end
END ret_tail

FUNC ret_tail_end
	addi	%r3, %r3, 1
	blr
END ret_tail_end

FUNC ret_loop
	addi	%r3, %r3, -1
	cmpdi	%r3, 0
	bge	ret_loop
	li	%r3, 7
	blr
END ret_loop

FUNC ret_early
	mr.	%r4, %r3
	li	%r3, 1
	beqlr
	mflr	%r0
	std	%r0, FRAME_LR(%r1)
	stdu	%r1, -FRAME_REGS(%r1)
	bl	1f
1:	li	%r3, 2
	addi	%r1, %r1, FRAME_REGS
	ld	%r0, FRAME_LR(%r1)
	mtlr	%r0
	blr
END ret_early

/* Its caller's next instruction is to be left out. */
FUNC ret_changes
	mflr	%r4
	addi	%r4, %r4, 4
	mtlr	%r4
	li	%r3, 0
	blr
END ret_changes

FUNC ret_change
	mflr	%r0
	std	%r0, FRAME_LR(%r1)
	stdu	%r1, -FRAME_REGS(%r1)
	bl	ret_changes
	li	%r3, 1
	addi	%r3, %r3, 10
	addi	%r1, %r1, FRAME_REGS
	ld	%r0, FRAME_LR(%r1)
	mtlr	%r0
	blr
END ret_change

FUNC ret_on_stack
	mflr	%r0
	std	%r0, FRAME_LR(%r1)
	addi	%r3, %r3, -FRAME_REGS
	std	%r1, FRAME_BACK_CHAIN(%r3)
	mr	%r1, %r3
	mr	%r12, %r4
	mtctr	%r12
	mr	%r3, %r5
	bctrl
	ld	%r1, FRAME_BACK_CHAIN(%r1)
	ld	%r0, FRAME_LR(%r1)
	mtlr	%r0
	blr
END ret_on_stack

FUNC ret_address
	mflr	%r3
	blr
END ret_address

FUNC ret_pops_callee
	li	%r3, 3
	blr
END ret_pops_callee

FUNC ret_pops
	b	ret_pops_callee
END ret_pops

#define KEEPS_SIZE (FRAME_REGS + 8 * 18)

.macro EACH_SAVED do
	.irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, \
		30, 31
	\do	\n
	.endr
.endm
.macro SAVE n
	std	%r\n, FRAME_REGS + 8 * (\n - 14)(%r1)
.endm
.macro LOAD n
	ld	%r\n, FRAME_REGS + 8 * (\n - 14)(%r1)
.endm
.macro SET n
	li	%r\n, 0x123 * (\n - 13)
.endm
.macro LOOK n
	cmpdi	%r\n, 0x123 * (\n - 13)
	bne	2f
.endm

FUNC ret_keeps
	mflr	%r0
	std	%r0, FRAME_LR(%r1)
	stdu	%r1, -KEEPS_SIZE(%r1)
	EACH_SAVED SAVE
	EACH_SAVED SET
	mr	%r12, %r3
	mtctr	%r12
	bctrl
	EACH_SAVED LOOK
	li	%r3, 0
	b	3f
2:	li	%r3, 1
3:	EACH_SAVED LOAD
	addi	%r1, %r1, KEEPS_SIZE
	ld	%r0, FRAME_LR(%r1)
	mtlr	%r0
	blr
END ret_keeps
