/* SPDX-License-Identifier: MIT */
/* The sites that t_patch.c changes: see <arch/text.h>. All return 0. */
#include <tests/cases/patch_area.h>

	.text
	.globl patch_area
	.type patch_area, @function
	.balign 64
patch_area:
	.rept PATCH_SITES
	.byte 0xb8, 0, 0, 0, 0		/* mov $0, %eax */
	ret
	.skip PATCH_STRIDE - 6, 0xcc
	.endr
	.size patch_area, . - patch_area
