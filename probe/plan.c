// SPDX-License-Identifier: MIT
/*
 * How a site runs its instruction: what is possible, what is chosen, and the code
 * for it in the site's slot. Under probe_mutex; hits only read what is chosen.
 */
#include <arch/emit.h>
#include <arch/regs.h>
#include <kernel/option.h>
#include <lib/errno.h>
#include <lib/text.h>
#include "site.h"

static const char *const names[] = {
	[PLAN_AUTO] = "auto",
	[PLAN_EMULATE] = "emulate",
	[PLAN_SLOT] = "slot",
	[PLAN_STEP] = "step",
};

static enum probe_plan forced;

enum probe_plan probe_plan(void)
{
	return forced;
}

void probe_plan_set(enum probe_plan plan)
{
	forced = plan;
}

const char *probe_plan_name(enum probe_plan plan)
{
	return names[plan];
}

int probe_plan_parse(const char *name)
{
	int i = match_string(names, ARRAY_SIZE(names), name);

	if (i < 0)
		return i;
	forced = (enum probe_plan)i;
	return 0;
}
BOOT_OPTION(plan, "auto|emulate|slot|step",
	    "how probes run the instructions that they displace",
	    probe_plan_parse);

bool plan_can_emulate(const struct insn *insn)
{
	struct pt_regs regs;
	struct insn_op op;

	arch_regs_plain(&regs);
	return arch_insn_analyse(insn, &regs, &op) != INSN_EMU_NONE;
}

/* The two forms of the instruction; why it has none to step, or 0. */
static int fill_slot(struct site *s)
{
	u8 code[ARCH_SLOT_SIZE];
	unsigned long at = s->exec.at + ARCH_STEP_SIZE;
	u8 *form = code + ARCH_STEP_SIZE;
	size_t room = sizeof(code) - ARCH_STEP_SIZE;
	int step_err, len, used, jump = 0;

	for (size_t i = 0; i < sizeof(code); i++)
		code[i] = arch_break_insn[i % ARCH_BREAK_SIZE];
	step_err = arch_probe_prepare(&s->insn, s->exec.at, code);
	s->can_step = step_err == 0;
	len = arch_insn_relocate(&s->insn, at, form, room);
	if (len >= 0)
		jump = arch_emit_jump(form + len, room - (size_t)len,
				      at + (size_t)len, s->addr + s->insn.len);
	s->can_slot = len >= 0 && jump >= 0;
	used = ARCH_STEP_SIZE + (s->can_slot ? len + jump : 0);
	exec_trim(&s->exec, (size_t)used);
	exec_write(&s->exec, code, s->exec.size);
	return step_err;
}

int site_plan_make(struct site *s)
{
	bool may_emulate = forced == PLAN_AUTO || forced == PLAN_EMULATE;
	int step_err = fill_slot(s);

	if (step_err && !s->can_slot)
		return step_err;
	s->plan = s->can_slot && forced != PLAN_STEP ? PLAN_SLOT : PLAN_STEP;
	s->end_plan = PLAN_STEP;
	s->can_emulate = plan_can_emulate(&s->insn);
	if (s->can_emulate && may_emulate)
		s->end_plan = PLAN_EMULATE;
	if (s->can_emulate && forced == PLAN_EMULATE)
		s->plan = PLAN_EMULATE;
	if (forced != PLAN_AUTO && s->plan != forced)
		return -EOPNOTSUPP;
	return s->plan == PLAN_STEP ? step_err : 0;
}

enum probe_plan site_plan(const struct site *s)
{
	return s->set->post ? s->end_plan : s->plan;
}

enum probe_plan kprobe_plan(const struct kprobe *p)
{
	return site_plan(site_find(p->addr));
}
