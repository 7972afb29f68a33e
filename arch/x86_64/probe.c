// SPDX-License-Identifier: MIT
/*
 * Single-stepping a displaced instruction out of line, with TF.
 *
 * What differs between running the copy and running the original is repaired at
 * the end of the step, from what the decoder found:
 *
 *	operand relative to the pc	moved when the slot is written
 *	branch relative to the pc	pc += original - copy
 *	return address pushed		stored again
 *	flags pushed (pushf)		TF and IF in the image as they were
 *	TF, IF				as they were, unless the instruction is
 *					one that changes them (popf, cli, sti)
 *
 * What no repair can help is refused by the decoder: instructions that hold off
 * traps (mov ss), that go to another level or take the flags from elsewhere
 * (iret), that end at a handler of ours (int3).
 */
#include <arch/probe.h>

#include <arch/regs.h>
#include <arch/text.h>
#include <lib/errno.h>

#define STEP_FLAGS ((unsigned long)(X86_FLAGS_TF | X86_FLAGS_IF))

/*
 * STI holds interrupts off for one more instruction, and QEMU holds the step
 * trap off with them. Its copy is a NOP, and IF is set at the end of the step.
 * What is lost is the delay, which only `sti; hlt` needs: arch_cpu_idle() may
 * not be probed.
 */
static __always_inline bool is_sti(const struct insn *insn)
{
	return insn->arch.space == X86_LEGACY && insn->arch.opcode == 0xfb;
}

int arch_probe_prepare(const struct insn *insn, unsigned long slot_va, u8 *buf)
{
	const struct arch_insn *a = &insn->arch;
	/* A NOP with an operand does not: it may be anywhere. */
	bool names_memory = insn->flags & (INSN_PC_MEM | INSN_PC_READ);
	s64 disp = insn->target - (slot_va + insn->len);
	unsigned i;

	/* With interrupts off, as they are in a step, it would not end. */
	if (insn->deny || insn->flags & INSN_HALT)
		return -EOPNOTSUPP;
	if (is_sti(insn) && insn->len > 1)
		return -EOPNOTSUPP; /* prefixes mean something to NOP */
	if (names_memory && disp != (s32)disp)
		return -ERANGE;

	for (i = 0; i < insn->len; i++)
		buf[i] = insn->bytes[i];
	for (; i < ARCH_STEP_SIZE; i++)
		buf[i] = arch_break_insn[0];
	if (is_sti(insn))
		buf[0] = 0x90;
	if (names_memory) {
		for (i = 0; i < 4; i++)
			buf[a->disp_off + i] = disp >> 8 * i;
	}
	return 0;
}

__noprobe void arch_probe_step_begin(struct arch_step *step,
				     const struct insn *insn,
				     unsigned long slot, struct pt_regs *regs)
{
	step->pc = insn->pc;
	step->slot = slot;
	step->flags = regs->flags;
	regs->ip = slot;
	regs->flags = (regs->flags & ~STEP_FLAGS) | X86_FLAGS_TF;
}

/* Where, seen from the copy, a step of @insn can have gone. */
static __always_inline bool is_end(const struct arch_step *step,
				   const struct insn *insn, unsigned long pc)
{
	unsigned long next = step->slot + insn->len;

	if (insn->flags & (INSN_INDIRECT | INSN_RET))
		return true;
	if (insn->flags & INSN_BRANCH_REL &&
	    pc == insn->target - step->pc + step->slot)
		return true;
	return pc == next;
}

/*
 * The flags that the program goes on with: those it had, but what the
 * instruction itself is there to change.
 */
static __always_inline unsigned long final_flags(const struct arch_step *step,
						 const struct insn *insn,
						 unsigned long flags)
{
	unsigned long keep = STEP_FLAGS;

	if (insn->flags & INSN_FLAGS_POP)
		return flags;
	if (is_sti(insn))
		flags |= X86_FLAGS_IF;
	if (insn->flags & INSN_IRQ_CHANGE)
		keep = X86_FLAGS_TF;
	return (flags & ~keep) | (step->flags & keep);
}

__noprobe bool arch_probe_step_end(const struct arch_step *step,
				   const struct insn *insn,
				   struct pt_regs *regs, bool *again)
{
	u8 *image;

	*again = false;
	/* REP traps behind each round, with the pc where it was. */
	if (insn->flags & INSN_REP_STRING && regs->ip == step->slot) {
		*again = true;
		return false;
	}
	if (!is_end(step, insn, regs->ip))
		return false;

	/* An indirect target is absolute; all others moved with the copy. */
	if (!(insn->flags & (INSN_INDIRECT | INSN_RET)))
		regs->ip += step->pc - step->slot;
	if (insn->flags & INSN_CALL)
		*(unsigned long *)regs->sp = step->pc + insn->len;
	if (insn->flags & INSN_FLAGS_PUSH) {
		/* TF and IF are bits 0 and 1 of byte 1, pushf of any size. */
		image = (u8 *)regs->sp + 1;
		*image = (*image & ~(STEP_FLAGS >> 8)) |
			 (step->flags & STEP_FLAGS) >> 8;
	}
	regs->flags = final_flags(step, insn, regs->flags);
	return true;
}

__noprobe bool arch_probe_step_traced(const struct arch_step *step)
{
	return step->flags & X86_FLAGS_TF;
}

__noprobe void arch_probe_step_abort(const struct arch_step *step,
				     const struct insn *insn,
				     struct pt_regs *regs)
{
	if (regs->ip - step->slot <= insn->len)
		regs->ip += step->pc - step->slot;
	regs->flags = (regs->flags & ~STEP_FLAGS) | (step->flags & STEP_FLAGS);
}
