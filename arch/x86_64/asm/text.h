/* SPDX-License-Identifier: MIT */
#ifndef SONDE_ASM_TEXT_H
#define SONDE_ASM_TEXT_H

#define ARCH_BREAK_SIZE	     1	/* int3 */
#define ARCH_TEXT_ATOM	     1	/* larger stores were seen torn by a fetch */
#define ARCH_PATCH_MAX	     15 /* longest instruction (SDM 2A 2.3.11) */

#define ARCH_TEXT_SITE_SIZE  6 /* mov $imm32, %eax; ret */
#define ARCH_TEXT_SITE_PATCH 5 /* of it: the mov */

#endif
