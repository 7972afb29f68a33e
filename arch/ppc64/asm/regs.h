/* SPDX-License-Identifier: MIT */
/*
 * Accessors of struct pt_regs: see <arch/regs.h>.
 */
#ifndef SONDE_PPC64_ASM_REGS_H
#define SONDE_PPC64_ASM_REGS_H

/* Arguments that are passed in memory, seen from the stack pointer at entry: */
/* behind header and the register arguments' save area (ELFv2 2.2.2.3). */
#define ARCH_CALL_STACK_ARGS  96
#define ARCH_CALL_STACK_WORDS 16 /* even, so that the stack stays aligned */

#ifndef __ASSEMBLY__
#include <frame.h>

static inline unsigned long instruction_pointer(const struct pt_regs *regs)
{
	return regs->nip;
}

static inline void instruction_pointer_set(struct pt_regs *regs,
					   unsigned long pc)
{
	regs->nip = pc;
}

static inline void arch_regs_plain(struct pt_regs *regs)
{
	*regs = (struct pt_regs){
		.msr = MSR_SF | MSR_VECTOR_LOW | MSR_EE | MSR_RI,
		.link = 0x10000,
		.ctr = 0x20000,
	};
	for (unsigned i = 0; i < ARRAY_SIZE(regs->gpr); i++)
		regs->gpr[i] = 0x100000ul * (i + 1);
	regs->gpr[1] = 1ul << 46;
}

/* Program interrupts: SRR1 says why (ISA 3.1 III 7.5.9). */
#define SRR1_TRAP 0x020000ul

/*
 * Of any program interrupt: one with another cause at a site's address is from
 * the instruction that was there before, and is served as if it came after.
 */
static inline unsigned long regs_break_pc(const struct pt_regs *regs)
{
	return regs->nip;
}

static inline void regs_break_undo(struct pt_regs *regs)
{
	regs->msr &= ~SRR1_TRAP;
}

static inline bool regs_traced(const struct pt_regs *regs)
{
	return regs->msr & MSR_SE;
}

static inline unsigned long kernel_stack_pointer(const struct pt_regs *regs)
{
	return regs->gpr[1];
}

static inline unsigned long frame_pointer(const struct pt_regs *regs)
{
	return regs->gpr[1];
}

static inline unsigned long regs_return_value(const struct pt_regs *regs)
{
	return regs->gpr[3];
}

static inline void regs_return_value_set(struct pt_regs *regs, unsigned long v)
{
	regs->gpr[3] = v;
}

static inline void regs_argument_set(struct pt_regs *regs, unsigned n,
				     unsigned long v)
{
	regs->gpr[3 + n] = v;
}

static inline bool regs_irqs_enabled(const struct pt_regs *regs)
{
	return regs->msr & MSR_EE;
}

static inline void regs_irqs_set(struct pt_regs *regs, bool on)
{
	if (on)
		regs->msr |= MSR_EE;
	else
		regs->msr &= ~(unsigned long)MSR_EE;
}

static inline bool user_mode(const struct pt_regs *regs)
{
	return regs->msr & MSR_PR;
}

#endif /* __ASSEMBLY__ */

#endif
