// SPDX-License-Identifier: MIT
/*
 * May it be probed, and why not. Every refusal is one sentence for people.
 *
 * An address is checked by decoding its function from the start, with the bytes
 * as they are without probes: whether neighbours are armed, disabled or just
 * gone makes no difference.
 */
#include <kernel/image.h>
#include <kernel/symtab.h>
#include <lib/errno.h>
#include "site.h"

/* Places in the image that are never probed, whatever stands there. */
static const struct {
	const char *start, *end;
	const char *why;
} forbidden[] = {
	{ __head_start, __head_end, "it is boot or exception vector code" },
	{ __noprobe_text_start, __noprobe_text_end,
	  "a probe hit itself runs this code" },
};

/* What the engine cannot run elsewhere, besides insn->deny. */
static const struct {
	u32 flag;
	const char *why;
} unsteppable[] = {
	{ INSN_HALT, "it waits for an interrupt, and a step has them off" },
};

static int refuse(const char **why, const char *reason, int err)
{
	*why = reason;
	return err;
}

static int check_place(unsigned long addr, const char **why)
{
	if (exec_is_near(addr))
		return refuse(why, "it is a slot of the probe engine", -EACCES);
	if (addr < (unsigned long)__text_start ||
	    addr >= (unsigned long)__text_end)
		return refuse(why, "it is not in the kernel's text", -EINVAL);
	for (unsigned i = 0; i < ARRAY_SIZE(forbidden); i++) {
		if (addr >= (unsigned long)forbidden[i].start &&
		    addr < (unsigned long)forbidden[i].end)
			return refuse(why, forbidden[i].why, -EACCES);
	}
	return 0;
}

/*
 * An instruction boundary of a function, and whether it lies between a
 * load-and-reserve and its store.
 */
struct boundary {
	unsigned long function;
	unsigned long pc;
	bool exclusive;
};

/*
 * Where the last walk ended: going through a function in order, the next one
 * need not begin at its start. Under probe_mutex. Never wrong, since no change
 * of text moves a boundary.
 */
static struct boundary last;

/*
 * Walks @sym's instructions up to @addr. *exclusive: @addr lies between a
 * load-and-reserve and its store.
 */
static int walk(const struct symbol *sym, unsigned long addr, struct insn *insn,
		bool *exclusive, const char **why)
{
	unsigned long end = sym->addr + sym->size;
	struct boundary at = last;
	struct site_text ahead = { 0 };

	if (at.function != sym->addr || at.pc > addr)
		at = (struct boundary){ sym->addr, sym->addr, false };
	while (at.pc <= addr) {
		if (site_decode(&ahead, at.pc, end, insn) < 0)
			return refuse(
				why,
				at.pc == addr
					? "it is no instruction"
					: "its function cannot be decoded "
					  "up to there",
				-EILSEQ);
		if (at.pc == addr) {
			last = at;
			*exclusive = at.exclusive;
			return 0;
		}
		if (insn->flags & INSN_EXCL_LOAD)
			at.exclusive = true;
		if (insn->flags & INSN_EXCL_STORE)
			at.exclusive = false;
		at.pc += insn->len;
	}
	return refuse(why, "it is not an instruction boundary", -EILSEQ);
}

int deny_check(unsigned long addr, struct insn *insn, const char **why)
{
	struct symbol sym;
	bool exclusive;
	int err = check_place(addr, why);

	if (err)
		return err;
	if (symtab_lookup(addr, &sym) < 0)
		return refuse(why, "it belongs to no function", -EINVAL);
	err = walk(&sym, addr, insn, &exclusive, why);
	if (err)
		return err;
	if (insn->deny)
		return refuse(why, insn_deny_reason(insn->deny), -EOPNOTSUPP);
	if (exclusive)
		return refuse(why, insn_deny_reason(INSN_DENY_EXCLUSIVE),
			      -EOPNOTSUPP);
	for (unsigned i = 0; i < ARRAY_SIZE(unsteppable); i++) {
		if (insn->flags & unsteppable[i].flag)
			return refuse(why, unsteppable[i].why, -EOPNOTSUPP);
	}
	return 0;
}
