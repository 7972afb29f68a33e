/* SPDX-License-Identifier: MIT */
/*
 * Jumps that stand in the place of instructions. Contract of arch/<A>/jump.c.
 * Pure; any context.
 *
 * Where an instruction is shorter than a jump, the rest of the jump is the bytes
 * that follow, as they stand. They have a say in where it leads, so what can be
 * had is a range of targets; and there may be several forms of jump, in each of
 * which other bytes have that say.
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

/*
 * <asm/jump.h>:
 * ARCH_JUMP_SIZE	bytes of the shortest jump: 5 / 4
 * ARCH_JUMP_TEXT	bytes from the instruction on that its forms look at
 * ARCH_JUMP_REACH	a jump leads this far either way
 * ARCH_JUMP_DIRECT	what one of only own bytes is called: OWN / BRANCH
 * ARCH_JUMP_PUNS	are there instructions shorter than a jump? 1 / 0
 * ARCH_JUMP_NEARBY	so far lead branches of which arch_jump_note() knows nothing
 */
#include <asm/jump.h>

struct jump_form {
	u64 first, last; /* targets, both included */
	u8 head;	 /* bytes in front of the displacement */
	bool friendly;	 /* to jumps that will have its bytes behind them */
};

/*
 * Form number @n of a jump at @pc that may change only @len bytes. @text
 * (ARCH_JUMP_TEXT bytes) is what will stand at @pc; the first @len are not looked
 * at. False: there are only @n. Form 0 of @len >= ARCH_JUMP_SIZE reaches all.
 */
bool arch_jump_form(u64 pc, unsigned len, const u8 *text, unsigned n,
		    struct jump_form *form);

/*
 * Writes to @buf the bytes of the jump at @pc to @target, a target of @form, and
 * returns how many: at most ARCH_JUMP_TEXT. Those behind the form's @len are the
 * same as in @text.
 */
unsigned arch_jump_spell(u64 pc, const struct jump_form *form, u64 target,
			 u8 *buf);

/*
 * Sets bit i of @named if something among the @n bytes at @text names byte i of
 * them with four bytes: a branch that reaches far, an address that is made from the
 * pc, or any operand that reads as that address; wherever in it instructions begin.
 * Only where ARCH_JUMP_PUNS: else no jump changes more than one instruction.
 */
void arch_jump_note(const u8 *text, size_t n, unsigned long *named);

#endif
