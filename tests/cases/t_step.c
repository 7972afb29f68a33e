// SPDX-License-Identifier: MIT
/*
 * Instructions which the copy's address, a single step or interrupts that are off
 * would change: whatever the plan, each must do exactly what it does unprobed.
 */
#include <arch/cpu.h>
#include <lib/errno.h>
#include <probe/kprobe.h>
#include <probe/opt.h>
#include <probe/plan.h>
#include <tests/cases/step.h>
#include <tests/test.h>

const struct step_way step_ways[STEP_WAYS] = {
	[STEP_WAY_STEPPED] = { "stepped", PLAN_STEP, OPT_OFF },
	[STEP_WAY_SLOT] = { "in a slot", PLAN_SLOT, OPT_OFF },
	[STEP_WAY_EMULATED] = { "emulated", PLAN_EMULATE, OPT_OFF },
	[STEP_WAY_JUMP] = { "by a jump", PLAN_AUTO, OPT_EAGER },
};
/* Of the cases, with interrupts on. */
static unsigned possible[STEP_WAYS];

void step_way_set(const struct step_way *way)
{
	static enum opt_mode before;
	static bool is_set;

	if (!is_set)
		before = opt_mode();
	is_set = way;
	EXPECT_EQ(opt_set(way ? way->opt : before), 0);
	probe_plan_set(way ? way->plan : PLAN_AUTO);
}

static int seen(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
}

static __noclone unsigned long call(const struct step_case *c, bool irqs,
				    unsigned long *state)
{
	unsigned long saved = arch_irq_save(), result;

	if (irqs)
		arch_irq_enable();
	result = c->fn(c->arg);
	*state = step_state();
	arch_irq_restore(saved);
	return result;
}

/* Returns whether it can be probed in this way. */
static bool check(const struct step_case *c, bool irqs,
		  const struct step_way *way)
{
	struct kprobe p = { .addr = c->at, .pre_handler = seen };
	unsigned long want, got, state, state_then;
	int err;

	want = call(c, irqs, &state);
	err = register_kprobe(&p);
	if (err) {
		if (err != -EOPNOTSUPP)
			FAIL("%s, %s: register: %d, %s", c->name, way->name,
			     err, kprobe_reason());
		return false;
	}
	got = call(c, irqs, &state_then);
	unregister_kprobe(&p);
	if (got != want)
		FAIL("%s, %s: 0x%lx with a probe, 0x%lx without", c->name,
		     way->name, got, want);
	if (state_then != state)
		FAIL("%s, %s: leaves 0x%lx with a probe, 0x%lx without",
		     c->name, way->name, state_then, state);
	if (c->hits ? p.nhit != c->hits : p.nhit == 0)
		FAIL("%s, %s: hit %lu times, not %lu", c->name, way->name,
		     p.nhit, c->hits);
	return true;
}

void step_check(const struct step_case *c, bool irqs)
{
	for (unsigned i = 0; i < STEP_WAYS; i++) {
		step_way_set(&step_ways[i]);
		if (check(c, irqs, &step_ways[i]))
			possible[i] += irqs;
		else if (step_ways[i].plan == PLAN_AUTO)
			FAIL("%s: %s", c->name, kprobe_reason());
	}
	step_way_set(NULL);
}

TEST(step, every_instruction_does_what_it_does_unprobed)
{
	for (const struct step_case *c = step_cases; c < step_cases_end; c++)
		step_check(c, true);
	for (unsigned i = 0; i < STEP_WAYS; i++) {
		test_note("%s: %u of %ld", step_ways[i].name, possible[i],
			  step_cases_end - step_cases);
		EXPECT_GE(possible[i], 5);
	}
}

TEST(step, every_instruction_does_so_with_interrupts_off_too)
{
	for (const struct step_case *c = step_cases; c < step_cases_end; c++)
		step_check(c, false);
}
