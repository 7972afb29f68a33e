/* SPDX-License-Identifier: MIT */
/*
 * Inlines of <arch/ret.h>.
 */
#ifndef SONDE_ASM_RET_H
#define SONDE_ASM_RET_H

#define ARCH_RET_POPS 1 /* ret imm16 */

static __always_inline unsigned long arch_ret_address(
	const struct pt_regs *regs)
{
	return *(const unsigned long *)regs->sp;
}

static __always_inline void arch_ret_address_set(struct pt_regs *regs,
						 unsigned long pc)
{
	*(unsigned long *)regs->sp = pc;
}

static __always_inline unsigned long arch_ret_frame(const struct pt_regs *regs)
{
	return regs->sp - 8;
}

#endif
