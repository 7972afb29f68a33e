// SPDX-License-Identifier: MIT
/*
 * What the instruction layer says in the same words on every machine.
 */
#include <arch/insn.h>

static const char *const deny_reasons[INSN_DENY_COUNT] = {
	[INSN_OK] = "may be probed",
	[INSN_DENY_UNDECODABLE] = "cannot be decoded",
	[INSN_DENY_TRAP] = "traps by design",
	[INSN_DENY_SHADOW] = "must not be parted from its neighbour by a trap",
	[INSN_DENY_EXCLUSIVE] = "is part of a load-and-reserve sequence",
	[INSN_DENY_RETURN] = "returns to another privilege level",
	[INSN_DENY_SYSCALL] = "enters another privilege level",
	[INSN_DENY_STATE] = "replaces processor state that probing relies on",
	[INSN_DENY_RI] = "runs while the interrupt registers are live",
	[INSN_DENY_VIRT] = "is marked for emulation by a hypervisor",
	[INSN_DENY_AMBIGUOUS] = "differs between makers of the processor",
	[INSN_DENY_FAR] = "changes the code segment",
};

/*
 * In the order in which people want to know. What goes without saying is not
 * here: vectors, prefixes, far, software interrupts, state.
 */
static const struct {
	u32 flag;
	const char *name;
} flag_names[] = {
	{ INSN_NOP, "nop" },
	{ INSN_CALL, "call" },
	{ INSN_RET, "return" },
	{ INSN_BRANCH_REL, "branch" },
	{ INSN_INDIRECT, "indirect" },
	{ INSN_COND, "conditional" },
	{ INSN_LOOP, "loop" },
	{ INSN_SYSCALL, "system call" },
	{ INSN_SYSRET, "interrupt return" },
	{ INSN_TRAP, "trap" },
	{ INSN_FLAGS_PUSH, "pushes flags" },
	{ INSN_FLAGS_POP, "pops flags" },
	{ INSN_IRQ_CHANGE, "interrupt flag" },
	{ INSN_PC_READ, "reads pc" },
	{ INSN_PC_MEM, "pc-relative" },
	{ INSN_LR_READ, "reads link" },
	{ INSN_LR_WRITE, "writes link" },
	{ INSN_REP_STRING, "repeated" },
	{ INSN_EXCL_LOAD, "reserves" },
	{ INSN_EXCL_STORE, "conditional store" },
	{ INSN_PRIV, "privileged" },
	{ INSN_IO, "port" },
	{ INSN_HALT, "halts" },
	{ INSN_MEM, "memory" },
};

const char *insn_class_name(const struct insn *insn, unsigned *at)
{
	u32 flags = insn->flags;

	/* These say it already. */
	if (flags & INSN_CALL)
		flags &= ~INSN_BRANCH_REL;
	if (flags & INSN_RET)
		flags &= ~INSN_INDIRECT;
	while (*at < ARRAY_SIZE(flag_names)) {
		unsigned i = (*at)++;

		if (flags & flag_names[i].flag)
			return flag_names[i].name;
	}
	return NULL;
}

const char *insn_deny_reason(unsigned deny)
{
	return deny < INSN_DENY_COUNT ? deny_reasons[deny] : "unknown reason";
}

const char *insn_reloc_reason(const struct insn *insn)
{
	if (insn->deny != INSN_OK)
		return insn_deny_reason(insn->deny);
	if (insn->flags & INSN_LR_WRITE)
		return "uses the link register for more than a call";
	return "works only where it stands";
}
