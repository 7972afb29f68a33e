// SPDX-License-Identifier: MIT
/*
 * Planning a jump: the strategies in the order in which they are tried.
 */
#include "jump.h"
#include <arch/emit.h>
#include <lib/errno.h>
#include <lib/string.h>

const char *jump_strategy_name(enum jump_strategy s)
{
	static const char *const names[] = {
		[JUMP_NONE] = "none",	  [JUMP_OWN] = "own",
		[JUMP_PUN] = "pun",	  [JUMP_BRANCH] = "branch",
		[JUMP_REGION] = "region",
	};

	return names[s];
}

static void spell(struct jump *j, enum jump_strategy s,
		  const struct jump_form *form, unsigned long target)
{
	j->strategy = s;
	j->reach = arch_jump_spell(j->addr, form, target, j->bytes);
	j->len = min(j->reach, j->own);
}

/* The instruction is as long as a jump, which leads to the detour. */
static int plan_direct(struct jump *j, unsigned long detour, const u8 *text)
{
	struct jump_form form;

	if (j->own < ARCH_JUMP_SIZE ||
	    !arch_jump_form(j->addr, j->own, text, 0, &form) ||
	    detour < form.first || detour > form.last)
		return -ENOSPC;
	spell(j, ARCH_JUMP_DIRECT, &form, detour);
	return 0;
}

/* Somewhere in the reach of @form, and within reach of the detour. */
static int stub_place(struct jump *j, const struct jump_form *form,
		      unsigned long detour)
{
	u8 code[STUB_SIZE];
	unsigned long first = max((unsigned long)form->first,
				  detour - ARCH_JUMP_REACH);
	unsigned long last = min((unsigned long)form->last,
				 detour + ARCH_JUMP_REACH);
	int err = first <= last ? window_take(&j->stub, first, last) : -ENOSPC;

	if (err)
		return err;
	err = arch_emit_jump(code, sizeof(code), j->stub.addr, detour);
	if (err < 0) {
		window_give(&j->stub);
		return err;
	}
	window_write(&j->stub, code);
	return 0;
}

static int plan_pun(struct jump *j, unsigned long detour, const u8 *text)
{
	struct jump_form form;
	int err = -ENOSPC;

	for (unsigned n = 0; ARCH_JUMP_PUNS && err == -ENOSPC &&
			     arch_jump_form(j->addr, j->own, text, n, &form);
	     n++)
		err = stub_place(j, &form, detour);
	if (!err)
		spell(j, JUMP_PUN, &form, j->stub.addr);
	return err;
}

int jump_plan(struct jump *j, const struct insn *insn, unsigned long detour,
	      const u8 *text, enum jump_strategy wish, const char **why)
{
	int err = -ENOSPC;

	*j = (struct jump){ .addr = insn->pc, .own = insn->len };
	*why = "it is shorter than a jump";
	if (wish == JUMP_NONE || wish == ARCH_JUMP_DIRECT)
		err = plan_direct(j, detour, text);
	if (err && (wish == JUMP_NONE || wish == JUMP_PUN)) {
		err = plan_pun(j, detour, text);
		*why = err == -ENOMEM ? "out of memory"
				      : "the bytes behind it name no address "
					"for a stub";
	}
	return err;
}

void jump_drop(struct jump *j)
{
	if (j->stub.addr)
		window_give(&j->stub);
	j->strategy = JUMP_NONE;
}
