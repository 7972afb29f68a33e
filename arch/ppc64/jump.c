// SPDX-License-Identifier: MIT
/*
 * b over an instruction: one word for another, so there is one form, and every
 * target within 32 MiB can be had. Of a prefixed instruction the suffix stays,
 * and is not run.
 */
#include <arch/insn.h>
#include <arch/jump.h>

#define WORD_B	0x48000000u /* b: LI in bits 6-29 (ISA 3.1 I 2.4) */
#define LI_MASK 0x03fffffcu

bool arch_jump_form(u64 pc, unsigned len __unused, const u8 *text __unused,
		    unsigned n, struct jump_form *form)
{
	*form = (struct jump_form){ .first = pc - ARCH_JUMP_REACH,
				    .last = pc + ARCH_JUMP_REACH };
	return n == 0;
}

unsigned arch_jump_spell(u64 pc, const struct jump_form *form __unused,
			 u64 target, u8 *buf)
{
	insn_word_put(buf, WORD_B | ((u32)(target - pc) & LI_MASK));
	return ARCH_JUMP_SIZE;
}

void arch_jump_note(const u8 *text __unused, size_t n __unused,
		    unsigned long *named __unused)
{
}
