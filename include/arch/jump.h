/* SPDX-License-Identifier: MIT */
/*
 * Jumps that stand in the place of instructions. Contract of arch/<A>/jump.c.
 * Pure; any context.
 *
 * A jump takes ARCH_JUMP_SIZE bytes. An instruction that has as many gives up
 * only its own: the direct strategy. Where a shorter one is to become a jump, the
 * rest of the jump is the bytes that follow, as they stand. They say where it
 * leads, so a form (below) is the set of targets that can be had.
 */
#ifndef SONDE_ARCH_JUMP_H
#define SONDE_ARCH_JUMP_H

#include <lib/compiler.h>

enum jump_strategy {
	JUMP_NONE,   /* on the breakpoint; as a wish: whichever comes first */
	JUMP_OWN,    /* x86: the instruction is long enough */
	JUMP_PUN,    /* x86: the following bytes are read as displacement */
	JUMP_BRANCH, /* ppc64: one word for another */
	JUMP_REGION, /* x86: several instructions give way */
	JUMP_STRATEGIES
};

struct insn;

/*
 * <asm/jump.h>: ARCH_JUMP_SIZE (5 / 4), ARCH_JUMP_DIRECT (JUMP_OWN /
 * JUMP_BRANCH), ARCH_JUMP_TEXT: bytes from the instruction on that its forms
 * look at, ARCH_JUMP_PUNS: instructions can be shorter than a jump (1 / 0).
 */
#include <asm/jump.h>

/*
 * A way to write a jump over an instruction: its target is @base plus any
 * number that has only bits of @free.
 */
struct jump_form {
	u64 base;
	u32 free;
	u8 head; /* bytes in front of the displacement */
};

/*
 * Form number @n of a jump at @insn, of which only the bytes that @mine has set
 * (bit 0: the first) may change: @text (ARCH_JUMP_TEXT bytes, the first at
 * insn->pc) is what stands there and will stand behind it. false: no more.
 */
bool arch_jump_form(const struct insn *insn, u32 mine, const u8 *text,
		    unsigned n, struct jump_form *form);

/*
 * Writes to @buf the bytes of a jump of this form to @target, and returns their
 * number. For every bit of @mine that is 0, the byte is that of @text.
 */
unsigned arch_jump_spell(const struct insn *insn, const struct jump_form *form,
			 u64 target, u8 *buf);

#endif
