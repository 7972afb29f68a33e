/* SPDX-License-Identifier: MIT */
/* The sites that t_patch.c changes: see <arch/text.h>. All return 0. */
#include <tests/cases/patch_area.h>

	.text
	.globl patch_area
	.type patch_area, @function
	.balign 64
patch_area:
	.rept PATCH_SITES
	li	%r3, 0
	blr
	.fill (PATCH_STRIDE - 8) / 4, 4, 0x7fe00008	/* trap */
	.endr
	.size patch_area, . - patch_area
