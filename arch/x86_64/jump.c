// SPDX-License-Identifier: MIT
/*
 * jmp rel32 over an instruction (SDM 2A, JMP):
 *
 *	form 0	e9 d0 d1 d2 d3
 *	form 1	2e e9 d0 d1 d2 d3		a prefix that means nothing here
 *	form 2	2e 2e e9 d0 d1 d2 d3		makes other bytes of the text the
 *	form 3	2e 2e 2e e9 d0 d1 d2 d3		displacement
 *
 * Those displacement bytes that are the instruction's can be chosen, the others
 * are what stands there. The displacement is little-endian, so what can be chosen
 * is its low end, and the targets are a range. For example at the first of
 *
 *	pop %rbx	5b		e9
 *	pop %rbp	5d		5d	jmp to the next + 0x......c35d
 *	ret		c3		c3
 *
 * nothing is free, at an instruction of two bytes 256 targets in a row, at one of
 * three 64 KiB of them, of four 16 MiB.
 *
 * The prefix is the CS override: compilers and linkers put it in front of jumps
 * as padding, too.
 */
#include <arch/insn.h>
#include <arch/jump.h>
#include <lib/byteorder.h>

#define JMP_REL32 0xe9
#define PREFIX_CS 0x2e
#define DISP_SIZE 4

bool arch_jump_form(u64 pc, unsigned len, const u8 *text, unsigned n,
		    struct jump_form *form)
{
	unsigned head = n + 1, free;
	u64 next = pc + head + DISP_SIZE;
	u32 fixed;

	if (head > len || head + DISP_SIZE > ARCH_JUMP_TEXT)
		return false;
	form->head = head;
	free = len - head;
	if (free >= DISP_SIZE) {
		form->first = next - ARCH_JUMP_REACH;
		form->last = next + ARCH_JUMP_REACH;
		return true;
	}
	fixed = load_le32(text + head) & ~(u32)(BIT(8 * free) - 1);
	form->first = next + (u64)(s32)fixed;
	form->last = form->first + BIT(8 * free) - 1;
	return true;
}

unsigned arch_jump_spell(u64 pc, const struct jump_form *form, u64 target,
			 u8 *buf)
{
	unsigned head = form->head;

	for (unsigned i = 0; i + 1 < head; i++)
		buf[i] = PREFIX_CS;
	buf[head - 1] = JMP_REL32;
	store_le32(buf + head, (u32)(target - (pc + head + DISP_SIZE)));
	return head + DISP_SIZE;
}
