/* SPDX-License-Identifier: MIT */
#ifndef SONDE_ASM_JUMP_H
#define SONDE_ASM_JUMP_H

#define ARCH_JUMP_SIZE	 4 /* b */
#define ARCH_JUMP_TEXT	 4
#define ARCH_JUMP_REACH	 0x1fffffcL
#define ARCH_JUMP_DIRECT JUMP_BRANCH
#define ARCH_JUMP_PUNS	 0
#define ARCH_JUMP_NEARBY 0

#endif
