// SPDX-License-Identifier: MIT
/*
 * Planning a jump: the strategies in the order in which they are tried.
 */
#include "jump.h"
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

static bool form_reaches(const struct jump_form *form, unsigned long target)
{
	return ((target - form->base) & ~(u64)form->free) == 0;
}

/* The instruction is as long as a jump, and the jump leads to the detour. */
static int plan_direct(struct jump *j, const struct insn *insn,
		       unsigned long detour, const u8 *text)
{
	struct jump_form form;

	if (insn->len < ARCH_JUMP_SIZE ||
	    !arch_jump_form(insn, (u32)BIT(insn->len) - 1, text, 0, &form) ||
	    !form_reaches(&form, detour))
		return -ENOSPC;
	j->strategy = ARCH_JUMP_DIRECT;
	j->len = arch_jump_spell(insn, &form, detour, j->bytes);
	j->reach = j->len;
	return 0;
}

int jump_plan(struct jump *j, const struct insn *insn, unsigned long detour,
	      const u8 *text, enum jump_strategy wish, const char **why)
{
	*j = (struct jump){ .addr = insn->pc,
			    .target = detour,
			    .own = insn->len };
	if ((wish == JUMP_NONE || wish == ARCH_JUMP_DIRECT) &&
	    plan_direct(j, insn, detour, text) == 0)
		return 0;
	*why = "it is shorter than a jump";
	return -ENOSPC;
}

void jump_drop(struct jump *j)
{
	j->strategy = JUMP_NONE;
}

bool window_contains(unsigned long pc __unused)
{
	return false;
}
