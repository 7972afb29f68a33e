/* SPDX-License-Identifier: MIT */
/*
 * Where t_native.c puts instructions to run. native_start is called, and a probe
 * there goes on at an instruction with the registers of a test; whatever trap
 * comes then leads to native_finish, where another probe takes the registers and
 * goes back behind native_start.
 */
#include <asm/x86.h>
#include <kernel/extable.h>
#include <tests/cases/native.h>

.macro CELLS name, bytes
	.balign	64
	.globl	\name
	.type	\name, @function
\name:
	.rept	\bytes
9:	int3
	EXTABLE(9b, native_finish)
	.endr
	.size	\name, . - \name
.endm

	.text
	CELLS	native_area, (NATIVE_CELLS * NATIVE_CELL)
	CELLS	native_copies, (NATIVE_CELLS * NATIVE_COPY)

FUNC(native_start)
	nop
	ret
END(native_start)

FUNC(native_finish)
	nop
	int3
END(native_finish)
