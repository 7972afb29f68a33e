/* SPDX-License-Identifier: MIT */
/*
 * Accessors of struct pt_regs. See <arch/regs.h>.
 */
#ifndef SONDE_ASM_REGS_H
#define SONDE_ASM_REGS_H

/* Arguments that are passed in memory, seen from the stack pointer at entry: */
/* behind the return address (SysV ABI 3.2.3). */
#define ARCH_CALL_STACK_ARGS  8
#define ARCH_CALL_STACK_WORDS 16 /* even, so that the stack stays aligned */

#ifndef __ASSEMBLY__
#include <asm/x86.h>

static inline unsigned long instruction_pointer(const struct pt_regs *regs)
{
	return regs->ip;
}

static inline void instruction_pointer_set(struct pt_regs *regs,
					   unsigned long pc)
{
	regs->ip = pc;
}

static inline void arch_regs_plain(struct pt_regs *regs)
{
	unsigned long *reg = (unsigned long *)regs;

	for (unsigned i = 0; i < sizeof(*regs) / sizeof(*reg); i++)
		reg[i] = 0x100000ul * (i + 1);
	regs->sp = 1ul << 46;
	regs->cs = SEL_KERNEL_CODE;
	regs->ss = SEL_KERNEL_DATA;
	regs->flags = X86_FLAGS_FIXED | X86_FLAGS_IF;
}

/* int3 is one byte. */
static inline unsigned long regs_break_pc(const struct pt_regs *regs)
{
	return regs->ip - 1;
}

static inline void regs_break_undo(struct pt_regs *regs)
{
	regs->ip--;
}

static inline bool regs_traced(const struct pt_regs *regs)
{
	return regs->flags & X86_FLAGS_TF;
}

static inline unsigned long kernel_stack_pointer(const struct pt_regs *regs)
{
	return regs->sp;
}

static inline unsigned long frame_pointer(const struct pt_regs *regs)
{
	return regs->bp;
}

static inline unsigned long regs_return_value(const struct pt_regs *regs)
{
	return regs->ax;
}

static inline void regs_return_value_set(struct pt_regs *regs, unsigned long v)
{
	regs->ax = v;
}

static inline void regs_argument_set(struct pt_regs *regs, unsigned n,
				     unsigned long v)
{
	unsigned long *const where[] = { &regs->di, &regs->si, &regs->dx,
					 &regs->cx, &regs->r8, &regs->r9 };

	*where[n] = v;
}

static inline bool regs_irqs_enabled(const struct pt_regs *regs)
{
	return regs->flags & X86_FLAGS_IF;
}

static inline void regs_irqs_set(struct pt_regs *regs, bool on)
{
	if (on)
		regs->flags |= X86_FLAGS_IF;
	else
		regs->flags &= ~(unsigned long)X86_FLAGS_IF;
}

static inline bool user_mode(const struct pt_regs *regs)
{
	return regs->cs & 3;
}

#endif /* __ASSEMBLY__ */

#endif
