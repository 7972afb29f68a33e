// SPDX-License-Identifier: MIT
/*
 * Stepping a copy with MSR[SE]. The copy differs from the original only in a
 * pc-relative memory operand; what else depends on the place is repaired after
 * the step:
 *
 *	b, bc		where it went, relative to the slot
 *	... with LK	the link register
 *	addpcis, pla	the register that names an address
 *	mfmsr		the engine's EE and SE
 *
 * The trace interrupt comes after the one instruction, before its successor is
 * even fetched, so a branch may leave for addresses where there is nothing. What
 * MSR[SE] cannot step (l*arx to st*cx., sc, rfid, mtmsr) insn.c has denied.
 */
#include <arch/probe.h>
#include <arch/regs.h>
#include <asm/text.h>
#include <gen/insn_table.h>
#include <lib/errno.h>

#define STEP_MSR (MSR_EE | MSR_SE | MSR_BE)

#define WORD_LK	 1u
#define WORD_AA	 2u

/* The displacement of MLS and 8LS prefixes: 18 + 16 bits (ISA 3.1 I 1.6.3). */
#define PREFIX_D0    0x3ffffu
#define SUFFIX_D1    0xffffu
#define PREFIX_REACH (1ll << 33)

/* Changes the displacement by @delta. */
static int move_operand(s64 delta, u32 *prefix, u32 *suffix)
{
	u64 raw = (u64)(*prefix & PREFIX_D0) << 16 | (*suffix & SUFFIX_D1);
	s64 d = (s64)(raw << 30) >> 30;

	if (delta >= PREFIX_REACH * 2 || delta <= -PREFIX_REACH * 2)
		return -ERANGE;
	d += delta;
	if (d >= PREFIX_REACH || d < -PREFIX_REACH)
		return -ERANGE;
	*prefix = (*prefix & ~PREFIX_D0) | ((u64)d >> 16 & PREFIX_D0);
	*suffix = (*suffix & ~SUFFIX_D1) | ((u64)d & SUFFIX_D1);
	return 0;
}

int arch_probe_prepare(const struct insn *insn, unsigned long slot_va, u8 *buf)
{
	u32 prefix = insn->arch.prefix, word = insn->arch.word;
	u8 *end = buf + ARCH_STEP_SIZE;

	if (insn->deny || insn->flags & (INSN_EXCL_LOAD | INSN_EXCL_STORE))
		return -EOPNOTSUPP;
	if (insn->flags & INSN_PC_MEM) {
		int err = move_operand((s64)(insn->pc - slot_va), &prefix,
				       &word);

		if (err)
			return err;
	}
	if (insn->len == 8) {
		insn_word_put(buf, prefix);
		buf += 4;
	}
	insn_word_put(buf, word);
	for (buf += 4; buf < end; buf += 4)
		insn_word_put(buf, ARCH_BREAK_WORD);
	return 0;
}

__noprobe void arch_probe_step_begin(struct arch_step *step,
				     const struct insn *insn,
				     unsigned long slot, struct pt_regs *regs)
{
	step->pc = insn->pc;
	step->slot = slot;
	step->flags = regs->msr & STEP_MSR;
	regs->msr = (regs->msr & ~(unsigned long)STEP_MSR) | MSR_SE;
	regs->nip = slot;
}

/* To registers only: bclr, bcctr, bctar. */
static __always_inline bool branches_to_register(const struct insn *insn)
{
	return insn->arch.op == PPC_BCLR || insn->arch.op == PPC_BCCTR ||
	       insn->arch.op == PPC_BCTAR;
}

/* b, bc, and nothing else. */
static __always_inline bool branches_to_place(const struct insn *insn)
{
	return insn->arch.op == PPC_B || insn->arch.op == PPC_BC;
}

/* Where the step ended, as if at the original's place; false: not our step. */
static __always_inline bool step_pc(const struct arch_step *step,
				    const struct insn *insn,
				    const struct pt_regs *regs,
				    unsigned long *pc)
{
	unsigned long moved = regs->nip - step->slot + step->pc;

	*pc = moved;
	if (regs->nip == step->slot + insn->len)
		return true;
	if (branches_to_place(insn)) {
		if (insn->arch.word & WORD_AA)
			*pc = regs->nip;
		return *pc == insn->target;
	}
	*pc = regs->nip;
	return branches_to_register(insn);
}

static __always_inline void repair_registers(const struct arch_step *step,
					     const struct insn *insn,
					     struct pt_regs *regs)
{
	unsigned rt = insn_field(insn->arch.word, 6, 10);

	if (insn->arch.op == PPC_BCL_HERE ||
	    ((branches_to_place(insn) || branches_to_register(insn)) &&
	     insn->arch.word & WORD_LK))
		regs->link = step->pc + insn->len;
	else if (insn->flags & INSN_PC_READ)
		regs->gpr[rt] = insn->target;
	else if (insn->arch.op == PPC_MFMSR)
		regs->gpr[rt] = (regs->gpr[rt] & ~(unsigned long)STEP_MSR) |
				step->flags;
}

__noprobe bool arch_probe_step_end(const struct arch_step *step,
				   const struct insn *insn,
				   struct pt_regs *regs, bool *again)
{
	unsigned long keep = STEP_MSR, pc;

	*again = false;
	if (!step_pc(step, insn, regs, &pc))
		return false;
	regs->nip = pc;
	repair_registers(step, insn, regs);
	/* mtmsrd L=1 has said itself what EE is to be. */
	if (insn->flags & INSN_IRQ_CHANGE)
		keep &= ~(unsigned long)MSR_EE;
	regs->msr = (regs->msr & ~keep) | (step->flags & keep);
	return true;
}

__noprobe bool arch_probe_step_traced(const struct arch_step *step)
{
	return step->flags & MSR_SE;
}

__noprobe void arch_probe_step_abort(const struct arch_step *step,
				     const struct insn *insn,
				     struct pt_regs *regs)
{
	if (regs->nip - step->slot < insn->len)
		regs->nip = step->pc + (regs->nip - step->slot);
	regs->msr = (regs->msr & ~(unsigned long)STEP_MSR) | step->flags;
}
