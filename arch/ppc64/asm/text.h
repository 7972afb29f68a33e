/* SPDX-License-Identifier: MIT */
/*
 * Constants of <arch/text.h>. Text changes in aligned words; a prefixed
 * instruction is two of them.
 */
#ifndef SONDE_PPC64_ASM_TEXT_H
#define SONDE_PPC64_ASM_TEXT_H

#define ARCH_BREAK_SIZE	     4
#define ARCH_BREAK_WORD	     0x7fe00008u /* tw 31,0,0: traps always */
#define ARCH_TEXT_ATOM	     4
#define ARCH_PATCH_MAX	     8
#define ARCH_TEXT_SITE_SIZE  8
#define ARCH_TEXT_SITE_PATCH 4 /* of it: the li */

#endif
