// SPDX-License-Identifier: MIT
/*
 * Planning a jump: the strategies in the order in which they are tried.
 */
#include "jump.h"
#include "region.h"
#include <arch/emit.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/opt.h>

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
	j->len = min(j->reach, j->displaced);
	j->footprint = max(j->reach, j->displaced);
}

/* What gives way is as long as a jump, which leads to the detour. */
static int plan_direct(struct jump *j, enum jump_strategy s,
		       unsigned long detour, const u8 *text)
{
	struct jump_form form;

	if (j->displaced < ARCH_JUMP_SIZE ||
	    !arch_jump_form(j->addr, j->displaced, text, 0, &form) ||
	    detour < form.first || detour > form.last)
		return -ENOSPC;
	spell(j, s, &form, detour);
	return 0;
}

/* Somewhere in the reach of @form, and within reach of the detour. */
static int stub_place(struct jump *j, const struct jump_form *form,
		      enum window_way way, unsigned long detour)
{
	u8 code[STUB_SIZE];
	unsigned long first = max((unsigned long)form->first,
				  detour - ARCH_JUMP_REACH);
	unsigned long last = min((unsigned long)form->last,
				 detour + ARCH_JUMP_REACH);
	int err = first <= last ? window_take(&j->stub, way, first, last)
				: -ENOSPC;

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

/* Of friendly forms or of the others: the one that takes least memory. */
static int plan_stub(struct jump *j, unsigned long detour, const u8 *text,
		     bool friendly)
{
	struct jump_form form;

	for (unsigned way = 0; way < WINDOW_WAYS; way++) {
		for (unsigned n = 0;
		     arch_jump_form(j->addr, j->own, text, n, &form); n++) {
			int err;

			if (form.friendly != friendly)
				continue;
			err = stub_place(j, &form, way, detour);
			if (!err)
				spell(j, JUMP_PUN, &form, j->stub.addr);
			if (err != -ENOSPC)
				return err;
		}
	}
	return -ENOSPC;
}

static int plan_pun(struct jump *j, unsigned long detour, const u8 *text)
{
	int err;

	if (!ARCH_JUMP_PUNS || j->own >= ARCH_JUMP_SIZE)
		return -ENOSPC;
	err = plan_stub(j, detour, text, true);
	return err == -ENOSPC ? plan_stub(j, detour, text, false) : err;
}

static void begin(struct jump *j, const struct insn *insn, unsigned displaced)
{
	*j = (struct jump){ .addr = insn->pc,
			    .own = insn->len,
			    .displaced = displaced };
	memcpy(j->old, insn->bytes, sizeof(j->old));
}

static bool exists(enum jump_strategy s)
{
	return s == JUMP_NONE || s == ARCH_JUMP_DIRECT ||
	       (ARCH_JUMP_PUNS && (s == JUMP_PUN || s == JUMP_REGION));
}

int jump_plan(struct jump *j, const struct insn *insn, unsigned long detour,
	      const u8 *text, enum jump_strategy wish, const char **why)
{
	int err = -ENOSPC;

	begin(j, insn, insn->len);
	if (wish == JUMP_NONE || wish == ARCH_JUMP_DIRECT)
		err = plan_direct(j, ARCH_JUMP_DIRECT, detour, text);
	if (err && (wish == JUMP_NONE || wish == JUMP_PUN))
		err = plan_pun(j, detour, text);
	if (err == -ENOMEM)
		*why = "out of memory";
	else if (err && !exists(wish))
		*why = "there are no jumps of that kind on this machine";
	else if (err && wish != JUMP_NONE)
		*why = "the wanted kind of jump does not fit";
	return err;
}

int jump_plan_region(struct jump *j, const struct region *r,
		     unsigned long detour, const u8 *text)
{
	const struct insn *first = &r->insns[0];

	begin(j, first, region_size(r));
	/* No probe is behind the first instruction. */
	memcpy(j->old + first->len, text + first->len,
	       ARCH_JUMP_SIZE - first->len);
	return plan_direct(j, JUMP_REGION, detour, text);
}

void jump_drop(struct jump *j)
{
	if (j->stub.addr)
		window_give(&j->stub);
	j->strategy = JUMP_NONE;
}
