/* SPDX-License-Identifier: MIT */
/*
 * Functions for t_step.c, each with one instruction whose copy would go wrong
 * if it were stepped without repair. A function gets its argument in r3 and
 * returns in r3 something that depends on all that the instruction does.
 *
 * STEP name, argument, hits: label 9 is the instruction, run that often. 0 is at
 * least once: a trap loses a reservation.
 */
#include <frame.h>
#include <asm/entry.h>
#include <kernel/extable.h>

/* struct step_case of t_step.c: nothing else goes to .rodata from here on. */
	.section .rodata
	.balign	8
	.globl	step_cases, step_cases_end, step_cases_power10_end
step_cases:

.macro STEP name, arg=0, hits=1
	.section .rodata
	.pushsection .rodata.str, "aMS", @progbits, 1
8:	.asciz	"\name"
	.popsection
	.quad	8b, step_\name, 9f, \arg, \hits
	.text
	.type	step_\name, @function
step_\name:
.endm

/* Returns its own return address. */
	.text
FUNC step_return_address
	mflr	%r3
	blr
END step_return_address

/* Branches ------------------------------------------------------------------- */

STEP branch
9:	b	2f
1:	addi	%r3, %r3, 1
2:	addi	%r3, %r3, 2
	blr
END step_branch

STEP branch_back, 0, 3
	li	%r4, 0
1:	cmpwi	%r4, 3
	beqlr
	addi	%r4, %r4, 1
	addi	%r3, %r3, 5
9:	b	1b
END step_branch_back

STEP branch_link
	mflr	%r11
9:	bl	step_return_address
	mtlr	%r11
	blr
END step_branch_link

STEP conditional_taken
	cmpdi	%r3, 0
9:	beq	1f
	addi	%r3, %r3, 1
1:	addi	%r3, %r3, 2
	blr
END step_conditional_taken

STEP conditional_not_taken, 1
	cmpdi	%r3, 0
9:	beq	1f
	addi	%r3, %r3, 1
1:	addi	%r3, %r3, 2
	blr
END step_conditional_not_taken

/* The link register is set whether or not the branch is taken. */
STEP conditional_link_not_taken, 1
	mflr	%r11
	cmpdi	%r3, 0
9:	beql	step_return_address
	mflr	%r3
	mtlr	%r11
	blr
END step_conditional_link_not_taken

STEP count_down, 5, 5
	mtctr	%r3
	li	%r3, 0
1:	addi	%r3, %r3, 7
9:	bdnz	1b
	mfctr	%r4
	add	%r3, %r3, %r4
	blr
END step_count_down

STEP return, 3
9:	blr
END step_return

STEP return_conditional, 3
	cmpdi	%r3, 3
9:	beqlr
	addi	%r3, %r3, 1
	blr
END step_return_conditional

STEP jump_to_count
	mflr	%r11
	bcl	20, 31, 1f
1:	mflr	%r4
	addi	%r4, %r4, 2f - 1b
	mtctr	%r4
	mtlr	%r11
9:	bctr
	addi	%r3, %r3, 1
2:	addi	%r3, %r3, 2
	blr
END step_jump_to_count

STEP call_count
	mflr	%r11
	bcl	20, 31, 1f
1:	mflr	%r4
	addi	%r4, %r4, step_return_address - 1b
	mtctr	%r4
9:	bctrl
	mtlr	%r11
	blr
END step_call_count

STEP call_link
	mflr	%r11
	bcl	20, 31, 1f
1:	mflr	%r4
	addi	%r4, %r4, step_return_address - 1b
	mtlr	%r4
9:	blrl
	mtlr	%r11
	blr
END step_call_link

/* The pc and the link register as operands ----------------------------------- */

STEP where_am_i
	mflr	%r11
9:	bcl	20, 31, 1f
1:	mflr	%r3
	mtlr	%r11
	blr
END step_where_am_i

	.machine push
	.machine power9
STEP add_pc
9:	addpcis	%r3, 0x123
	blr
END step_add_pc

STEP add_pc_down
9:	addpcis	%r3, -5
	blr
END step_add_pc_down
	.machine pop

STEP link_read
9:	mflr	%r3
	blr
END step_link_read

STEP link_write, 0x1234
	mflr	%r11
9:	mtlr	%r3
	mflr	%r3
	mtlr	%r11
	blr
END step_link_write

/* Machine state -------------------------------------------------------------- */

STEP state_read
9:	mfmsr	%r3
	blr
END step_state_read

STEP interrupts_on, MSR_EE | MSR_RI
	mfmsr	%r11
9:	mtmsrd	%r3, 1
	mfmsr	%r3
	mtmsrd	%r11, 1
	blr
END step_interrupts_on

STEP interrupts_off, MSR_RI
	mfmsr	%r11
9:	mtmsrd	%r3, 1
	mfmsr	%r3
	mtmsrd	%r11, 1
	blr
END step_interrupts_off

STEP condition_register, 0x5a5a5a5
	mfcr	%r11
	mtcrf	0xff, %r3
9:	mfcr	%r3
	mtcrf	0xff, %r11
	blr
END step_condition_register

STEP carry, -1
	addic	%r4, %r3, 2
9:	adde	%r3, %r3, %r3
	blr
END step_carry

/* The stack ------------------------------------------------------------------ */

STEP push_frame
	mr	%r4, %r1
9:	stdu	%r1, -4096(%r1)
	ld	%r3, 0(%r1)
	xor	%r3, %r3, %r4
	subf	%r4, %r1, %r4
	add	%r3, %r3, %r4
	addi	%r1, %r1, 4096
	blr
END step_push_frame

/* Below the stack pointer, where a trap must leave 288 bytes alone. */
STEP red_zone, 77
	std	%r3, -288(%r1)
	std	%r3, -8(%r1)
9:	nop
	ld	%r4, -288(%r1)
	ld	%r5, -8(%r1)
	add	%r3, %r4, %r5
	blr
END step_red_zone

/* Load and reserve ------------------------------------------------------------ */

/* A trap behind label 9 would make this fail for ever. */
	.globl	step_reserve_begin, step_reserve_inside
STEP reserve, 41, 0
	std	%r3, -16(%r1)
	addi	%r4, %r1, -16
step_reserve_begin:
9:	ldarx	%r3, 0, %r4
step_reserve_inside:
	addi	%r3, %r3, 1
	stdcx.	%r3, 0, %r4
	bne	9b
	ld	%r3, -16(%r1)
	blr
END step_reserve

/* Faults --------------------------------------------------------------------- */

/* The fix-up is the original's, and is found for the copy, too. */
STEP fault
	li	%r3, 1
	li	%r4, 16
9:	ld	%r3, 0(%r4)
	trap
1:	addi	%r3, %r3, 1
	blr
	EXTABLE(9b, 1b)
END step_fault

/* POWER10 -------------------------------------------------------------------- */

	.section .rodata
step_cases_end:
	.machine push
	.machine power10

	.text
	.balign	64
STEP prefixed_immediate
9:	pli	%r3, 0x123456789
	blr
END step_prefixed_immediate

STEP prefixed_address
9:	paddi	%r3, 0, 0x12345, 1
	blr
END step_prefixed_address

STEP prefixed_fault
	li	%r4, 16
9:	pld	%r3, 0x10000(%r4)
	trap
1:	addi	%r3, %r3, 1
	blr
	EXTABLE(9b, 1b)
END step_prefixed_fault
	.machine pop

	.section .rodata
step_cases_power10_end:

/* Never run. */
	.text
	.globl	step_refused, step_refused_end
	.type	step_refused, @function
step_refused:
	mtmsr	%r3
	mtmsrd	%r3
	rfid
	hrfid
	sc
	stdcx.	%r3, 0, %r4
	mtsrr0	%r3
	mtsrr1	%r3
	trap
	tweq	%r3, %r4
	tdi	31, %r3, 0
	.long	0
step_refused_end:
	.size	step_refused, . - step_refused
