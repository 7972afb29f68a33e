// SPDX-License-Identifier: MIT
/*
 * jmp rel32 over an instruction:
 *
 *	form 0	e9 d0 d1 d2 d3			(SDM 2A, JMP)
 *	form 1	2e e9 d0 d1 d2 d3		with a prefix that means nothing,
 *	form 2	2e 2e e9 d0 d1 d2 d3		so that other bytes become the
 *	form 3	2e 2e 2e e9 d0 d1 d2 d3		displacement
 *
 * A displacement byte is free if it is the jump's to change, else it is the byte
 * that stands there. For the `pop %rbx; pop %rbp; ret` of every function that
 * is, for the first one, form 0 with nothing free: e9 5d c3 ...
 *
 * The prefix is the CS override, which compilers put in front of the same jump
 * to pad it.
 */
#include <arch/insn.h>
#include <arch/jump.h>
#include <lib/byteorder.h>

#define JMP_REL32 0xe9
#define PREFIX_CS 0x2e
#define DISP_SIZE 4

static bool is_mine(u32 mine, unsigned first, unsigned n)
{
	u32 bits = (BIT(n) - 1) << first;

	return (mine & bits) == bits;
}

bool arch_jump_form(const struct insn *insn, u32 mine, const u8 *text,
		    unsigned n, struct jump_form *form)
{
	unsigned head = n + 1;
	u32 fixed;

	if (head + DISP_SIZE > ARCH_JUMP_TEXT || !is_mine(mine, 0, head))
		return false;
	fixed = load_le32(text + head);
	form->head = head;
	form->free = 0;
	for (unsigned i = 0; i < DISP_SIZE; i++) {
		if (is_mine(mine, head + i, 1))
			form->free |= 0xffu << 8 * i;
	}
	/* Distances are signed; counted from the lowest, that is a flipped bit. */
	form->base = insn->pc + head + DISP_SIZE +
		     (u64)(s32)(fixed & ~form->free) - (form->free & BIT(31));
	return true;
}

unsigned arch_jump_spell(const struct insn *insn, const struct jump_form *form,
			 u64 target, u8 *buf)
{
	unsigned head = form->head;

	for (unsigned i = 0; i + 1 < head; i++)
		buf[i] = PREFIX_CS;
	buf[head - 1] = JMP_REL32;
	store_le32(buf + head, (u32)(target - (insn->pc + head + DISP_SIZE)));
	return head + DISP_SIZE;
}
