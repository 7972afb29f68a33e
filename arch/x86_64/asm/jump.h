/* SPDX-License-Identifier: MIT */
#ifndef SONDE_ASM_JUMP_H
#define SONDE_ASM_JUMP_H

#define ARCH_JUMP_SIZE	 5 /* jmp rel32 */
#define ARCH_JUMP_TEXT	 8 /* with up to three prefixes */
#define ARCH_JUMP_REACH	 0x7ffffff0L
#define ARCH_JUMP_DIRECT JUMP_OWN
#define ARCH_JUMP_PUNS	 1
#define ARCH_JUMP_NEARBY 128 /* rel8 */

#endif
