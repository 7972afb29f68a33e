// SPDX-License-Identifier: MIT
/*
 * Instructions that the engine writes.
 */
#include <arch/emit.h>

#include <arch/insn.h>
#include <lib/errno.h>

#define WORD_B	0x48000000u /* b: LI in bits 6-29 (ISA 3.1 I 2.4) */
#define LI_MASK 0x03fffffcu
#define REACH	(32 << 20)

int arch_emit_jump(u8 *buf, size_t size, u64 at, u64 target)
{
	s64 distance = (s64)(target - at);

	if (distance < -REACH || distance >= REACH)
		return -ERANGE;
	if (size < 4)
		return -ENOSPC;
	insn_word_put(buf, WORD_B | ((u32)distance & LI_MASK));
	return 4;
}
