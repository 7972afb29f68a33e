/* SPDX-License-Identifier: MIT */
/*
 * Where t_native.c puts instructions to run. native_start is called, and a probe
 * there goes on at an instruction with the registers of a test; whatever trap
 * comes then leads to native_finish, where another probe takes the registers and
 * goes back behind native_start.
 */
#include <frame.h>
#include <asm/entry.h>
#include <kernel/extable.h>
#include <tests/cases/native.h>

.macro CELLS name, bytes
	.balign	64
	.globl	\name
	.type	\name, @function
\name:
	.rept	\bytes / 4
9:	trap
	EXTABLE(9b, native_finish)
	.endr
	.size	\name, . - \name
.endm

	.text
	CELLS	native_area, (NATIVE_CELLS * NATIVE_CELL)
	CELLS	native_copies, (NATIVE_CELLS * NATIVE_COPY)

	.globl	native_start, native_finish
	.type	native_start, @function
native_start:
	nop
	blr
	.size	native_start, . - native_start

	.type	native_finish, @function
native_finish:
	nop
	trap
	.size	native_finish, . - native_finish

/* Both with the units on, and as they were afterwards. r3: struct native_units. */
.macro UNITS_ON
	mfmsr	%r4
	oris	%r5, %r4, (MSR_VEC | MSR_VSX) >> 16
	ori	%r5, %r5, MSR_FP
	mtmsrd	%r5
	isync
.endm

.macro EACH_VSR insn
	.set	n, 0
	.rept	64
	\insn	n, 0, %r3
	addi	%r3, %r3, 16
	.set	n, n + 1
	.endr
.endm

	.machine power8
	.text
FUNC native_units_load
	UNITS_ON
	xxlxor	0, 0, 0
	xxlxor	32, 32, 32
	mtfsf	0xff, 0, 1, 0
	mtvscr	0
	EACH_VSR lxvd2x
	mtmsrd	%r4
	isync
	blr
END native_units_load

FUNC native_units_save
	UNITS_ON
	EACH_VSR stxvd2x
	mffs	0
	stfd	0, 0(%r3)
	mtmsrd	%r4
	isync
	blr
END native_units_save
