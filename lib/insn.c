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
