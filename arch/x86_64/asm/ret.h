/* SPDX-License-Identifier: MIT */
/*
 * Inlines of <arch/ret.h>.
 */
#ifndef SONDE_ASM_RET_H
#define SONDE_ASM_RET_H

#define ARCH_RET_POPS 1 /* ret imm16 */

static __always_inline unsigned long *arch_ret_address(struct pt_regs *regs)
{
	return (unsigned long *)regs->sp;
}

static __always_inline unsigned long arch_ret_frame(const struct pt_regs *regs)
{
	return regs->sp - 8;
}

/* Above it: the flags here; in a detour the stack pointer (detour.S). */
static __always_inline bool arch_ret_made(const struct pt_regs *frame)
{
	const unsigned long *above = (const unsigned long *)(frame + 1);

	return *above != (unsigned long)(above + 1);
}

#endif
