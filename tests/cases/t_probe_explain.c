// SPDX-License-Identifier: MIT
/*
 * What probe_explain() says: whether an address may be probed and who does, and
 * how, as hits are then seen to go.
 */
#include <arch/cpu.h>
#include <arch/trap.h>
#include <kernel/percpu.h>
#include <lib/errno.h>
#include <lib/printf.h>
#include <lib/string.h>
#include <probe/explain.h>
#include <probe/opt.h>
#include <probe/plan.h>
#include <probe/site.h>
#include <probe/window.h>
#include <tests/cases/session.h>

TEST(probe_explain, says_why_not_or_how_and_by_whom)
{
	struct probe_session *s = open("mine", 0, 0);
	struct kprobe p = probe_of(s, good_pre);
	char text[400], few[8];

	p.flags = KPROBE_FLAG_NO_JUMP;
	EXPECT_EQ(probe_explain(0x10, text, sizeof(text)), -EINVAL);
	EXPECT_TRUE(strstr(text, "not in the kernel's text"));
	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(probe_explain(p.addr, text, sizeof(text)), 0);
	EXPECT_TRUE(strstr(text, "plan: "));
	EXPECT_TRUE(strstr(text, "armed: break; 1 probe\n"));
	EXPECT_TRUE(strstr(text, "of session mine: enabled; hits 0"));
	EXPECT_EQ(probe_explain(p.addr, few, sizeof(few)), 0);
	EXPECT_EQ(strlen(few), sizeof(few) - 1);
	EXPECT_EQ(
		probe_explain((unsigned long)session_other, text, sizeof(text)),
		0);
	EXPECT_TRUE(strstr(text, "armed: no; no probes\n"));
	EXPECT_EQ(session_close(s), 0);
}

TEST(probe_explain, tells_which_jump_there_would_be_and_leaves_nothing)
{
	unsigned long addr = (unsigned long)session_target;
	unsigned units = exec_units_used();
	struct kprobe p = probe_of(NULL, good_pre);
	char text[400], would[40];

	EXPECT_EQ(probe_explain(addr, text, sizeof(text)), 0);
	EXPECT_EQ(window_stub_count(), 0u);
	EXPECT_EQ(window_page_count(), 0u);
	EXPECT_EQ(exec_units_used(), units);
	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(opt_sync(), 0);
	EXPECT_NE(kprobe_jump(&p), JUMP_NONE);
	snprintf(would, sizeof(would), "  jump: %s would do\n",
		 jump_strategy_name(kprobe_jump(&p)));
	EXPECT_EQ(unregister_kprobe(&p), 0);
	if (!strstr(text, would))
		FAIL("no '%s' in: %s", would, text);
	EXPECT_EQ(opt_wish_parse("off"), 0);
	EXPECT_EQ(probe_explain(addr, text, sizeof(text)), 0);
	EXPECT_TRUE(strstr(text, "  not jump: no jump is wanted\n"));
	opt_wish(JUMP_NONE);
}

/* Does a call of the target, with a probe on it, take @traps traps? */
static void expect_plan(struct kprobe *p, const char *plan, u64 traps)
{
	unsigned long flags;
	char text[400];
	u64 before;

	EXPECT_EQ(probe_explain(p->addr, text, sizeof(text)), 0);
	if (!strstr(text, plan))
		FAIL("no '%s' in: %s", plan, text);
	flags = arch_irq_save();
	before = this_cpu()->traps[TRAP_BREAKPOINT] +
		 this_cpu()->traps[TRAP_STEP];
	session_target(1, 1);
	EXPECT_EQ(this_cpu()->traps[TRAP_BREAKPOINT] +
			  this_cpu()->traps[TRAP_STEP] - before,
		  traps);
	arch_irq_restore(flags);
}

TEST(probe_explain, names_the_plan_and_hits_follow_it)
{
	static const struct {
		enum probe_plan forced;
		bool post;
		const char *explained;
		unsigned traps;
	} plans[] = {
		{ PLAN_AUTO, false, "plan: slot", 1 },
		{ PLAN_AUTO, true, "plan: emulate", 1 },
		{ PLAN_EMULATE, false, "plan: emulate", 1 },
		{ PLAN_EMULATE, true, "plan: emulate", 1 },
		{ PLAN_SLOT, false, "plan: slot", 1 },
		{ PLAN_SLOT, true, "plan: step", 2 },
		{ PLAN_STEP, false, "plan: step", 2 },
		{ PLAN_STEP, true, "plan: step", 2 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(plans); i++) {
		struct kprobe p = probe_of(NULL, good_pre);

		p.flags = KPROBE_FLAG_NO_JUMP; /* traps are counted */
		p.post_handler = plans[i].post ? good_post : NULL;
		probe_plan_set(plans[i].forced);
		ASSERT_EQ(register_kprobe(&p), 0);
		probe_plan_set(PLAN_AUTO);
		expect_plan(&p, plans[i].explained, plans[i].traps);
		EXPECT_EQ(unregister_kprobe(&p), 0);
	}
}

TEST(probe_explain, names_the_plan_that_was_forced)
{
	struct kprobe p = probe_of(NULL, good_pre);
	char text[400];

	probe_plan_set(PLAN_STEP);
	ASSERT_EQ(register_kprobe(&p), 0);
	probe_plan_set(PLAN_AUTO);
	EXPECT_EQ(probe_explain(p.addr, text, sizeof(text)), 0);
	EXPECT_TRUE(strstr(text, "plan: step"));
	EXPECT_TRUE(strstr(text, "not slot: step was asked for"));
	EXPECT_EQ(unregister_kprobe(&p), 0);
}
