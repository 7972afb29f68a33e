/* SPDX-License-Identifier: MIT */
/*
 * Inlines of <arch/ret.h>.
 */
#ifndef SONDE_PPC64_ASM_RET_H
#define SONDE_PPC64_ASM_RET_H

#define ARCH_RET_POPS 0

static __always_inline unsigned long arch_ret_address(
	const struct pt_regs *regs)
{
	return regs->link;
}

static __always_inline void arch_ret_address_set(struct pt_regs *regs,
						 unsigned long pc)
{
	regs->link = pc;
}

static __always_inline unsigned long arch_ret_frame(const struct pt_regs *regs)
{
	return regs->gpr[1];
}

#endif
