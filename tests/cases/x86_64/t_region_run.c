/* SPDX-License-Identifier: MIT */
/*
 * Jumps over several instructions, really written: what is run through them, who
 * takes them back, and what leads inside of them.
 */
#include "region_area.h"
#include <arch/regs.h>
#include <kernel/percpu.h>
#include <kernel/thread.h>
#include <probe/kretprobe.h>
#include <probe/plan.h>

static void see_post(struct kprobe *p __unused, struct pt_regs *regs __unused,
		     unsigned long flags __unused)
{
}

static u64 traps_so_far(void)
{
	u64 sum = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(this_cpu()->traps); i++)
		sum += this_cpu()->traps[i];
	return sum;
}

/* Running through it ------------------------------------------------------------ */

TEST(region_run, its_detour_does_all_that_gave_way)
{
	for (const struct call *c = calls; c < calls + ARRAY_SIZE(calls); c++) {
		struct kprobe p = probe_of(c->at);
		u8 before[ARCH_JUMP_TEXT];
		unsigned long flags;
		u64 traps;

		memcpy(before, c->at, sizeof(before));
		make_region(&p);
		flags = arch_irq_save();
		traps = traps_so_far();
		EXPECT_EQ(call(c), c->result);
		EXPECT_EQ(traps_so_far(), traps);
		arch_irq_restore(flags);
		EXPECT_EQ(p.nhit, c->at == region_branches_at ? 4 : 1);
		remove_region(&p);
		EXPECT_MEMEQ(c->at, before, sizeof(before));
		EXPECT_EQ(call(c), c->result);
	}
}

TEST(region_run, what_is_displaced_reads_as_it_was)
{
	struct kprobe p = probe_of(region_fine_at);
	u8 before[ARCH_JUMP_TEXT], now[ARCH_JUMP_TEXT];

	memcpy(before, region_fine_at, sizeof(before));
	make_region(&p);
	mutex_lock(&probe_mutex);
	site_read_original(p.addr, now, sizeof(now));
	EXPECT_MEMEQ(now, before, sizeof(now));
	site_read_original(p.addr + 2, now, sizeof(now) - 2);
	EXPECT_MEMEQ(now, before + 2, sizeof(now) - 2);
	mutex_unlock(&probe_mutex);
	remove_region(&p);
}

static int sum_entry(struct kretprobe_instance *ri __unused,
		     struct pt_regs *regs)
{
	regs_argument_set(regs, 1, 5);
	return 0;
}

static int sum_return(struct kretprobe_instance *ri __unused,
		      struct pt_regs *regs)
{
	return regs_return_value(regs) != 9;
}

TEST(region_run, a_return_probe_may_begin_with_one)
{
	struct kretprobe rp = { .kp.symbol_name = "region_whole",
				.handler = sum_return,
				.entry_handler = sum_entry };

	opt_wish(JUMP_REGION);
	ASSERT_EQ(register_kretprobe(&rp), 0);
	EXPECT_EQ(opt_sync(), 0);
	EXPECT_TRUE(is_region((unsigned long)region_whole_at));
	EXPECT_EQ(region_whole(4, 2), 9);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	opt_wish(JUMP_NONE);
	EXPECT_EQ(rp.left.returned, 1);
	EXPECT_EQ(region_whole(4, 2), 6);
}

TEST(region_run, other_probes_of_its_instruction_take_it_back_and_share_it)
{
	struct kprobe p = probe_of(region_fine_at);
	struct kprobe more = probe_of(region_fine_at);
	struct kprobe post = probe_of(region_fine_at);

	make_region(&p);
	EXPECT_EQ(register_kprobe(&more), 0);
	EXPECT_EQ(opt_sync(), 0);
	EXPECT_TRUE(is_region(p.addr));
	EXPECT_EQ(region_fine(4, 0), 7);
	post.post_handler = see_post;
	EXPECT_EQ(register_kprobe(&post), 0);
	EXPECT_EQ(opt_sync(), 0);
	EXPECT_FALSE(is_region(p.addr));
	EXPECT_STREQ(why_not(region_fine_at),
		     "a post-handler wants to know its end");
	EXPECT_EQ(region_fine(4, 0), 7);
	EXPECT_EQ(unregister_kprobe(&post), 0);
	EXPECT_EQ(unregister_kprobe(&more), 0);
	EXPECT_EQ(opt_sync(), 0);
	EXPECT_TRUE(is_region(p.addr));
	EXPECT_EQ(p.nhit, 2);
	EXPECT_EQ(more.nhit, 2);
	remove_region(&p);
}

TEST(region_run, a_step_or_an_emulation_is_of_one_instruction)
{
	struct kprobe p = probe_of(region_fine_at);

	probe_plan_set(PLAN_STEP);
	opt_wish(JUMP_REGION);
	EXPECT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(opt_sync(), 0);
	EXPECT_STREQ(why_not(region_fine_at),
		     "it is to be stepped or emulated");
	EXPECT_EQ(region_fine(4, 0), 7);
	remove_region(&p);
	probe_plan_set(PLAN_AUTO);
}

TEST(region_run, it_goes_with_the_optimiser_and_comes_back)
{
	enum opt_mode before = opt_mode();
	struct kprobe p = probe_of(region_fine_at);

	make_region(&p);
	EXPECT_EQ(opt_set(OPT_OFF), 0);
	EXPECT_FALSE(is_region(p.addr));
	EXPECT_EQ(region_fine(4, 0), 7);
	EXPECT_EQ(opt_set(OPT_EAGER), 0);
	EXPECT_TRUE(is_region(p.addr));
	EXPECT_EQ(region_fine(4, 0), 7);
	EXPECT_EQ(p.nhit, 2);
	EXPECT_EQ(opt_set(before), 0);
	remove_region(&p);
}

/* A probe inside ------------------------------------------------------------------ */

TEST(region_run, a_probe_inside_takes_it_back_at_each_boundary)
{
	for (unsigned n = 1; n < 5; n++) {
		struct kprobe p = probe_of(region_slow4_at);
		struct kprobe in = { .addr = inside(region_slow4_at, n),
				     .pre_handler = see };

		make_region(&p);
		EXPECT_EQ(register_kprobe(&in), 0);
		EXPECT_FALSE(is_region(p.addr));
		EXPECT_EQ(opt_sync(), 0);
		EXPECT_STREQ(why_not(region_slow4_at),
			     "another probe is in the way");
		EXPECT_EQ(region_slow4((long)few, 8), 4);
		EXPECT_EQ(p.nhit, 1);
		EXPECT_EQ(in.nhit, 1);
		EXPECT_EQ(unregister_kprobe(&in), 0);
		EXPECT_EQ(opt_sync(), 0);
		EXPECT_TRUE(is_region(p.addr));
		EXPECT_EQ(region_slow4((long)few, 8), 4);
		EXPECT_EQ(p.nhit, 2);
		remove_region(&p);
	}
}

TEST(region_run, a_disabled_probe_inside_takes_it_back_once_enabled)
{
	struct kprobe p = probe_of(region_fine_at);
	struct kprobe in = { .addr = inside(region_fine_at, 1),
			     .pre_handler = see,
			     .flags = KPROBE_FLAG_DISABLED };

	make_region(&p);
	EXPECT_EQ(register_kprobe(&in), 0);
	EXPECT_EQ(region_fine(4, 0), 7);
	EXPECT_EQ(in.nhit, 0);
	EXPECT_EQ(enable_kprobe(&in), 0);
	EXPECT_FALSE(is_region(p.addr));
	EXPECT_EQ(region_fine(4, 0), 7);
	EXPECT_EQ(in.nhit, 1);
	EXPECT_EQ(p.nhit, 2);
	EXPECT_EQ(unregister_kprobe(&in), 0);
	remove_region(&p);
}

/* Handlers that lead inside ------------------------------------------------------ */

static int skip_one(struct kprobe *p, struct pt_regs *regs)
{
	regs->ax = 40;
	instruction_pointer_set(regs, p->addr + p->offset);
	return 0;
}

/* To the second instruction, the third, and behind them. */
TEST(region_run, a_control_probe_may_lead_inside)
{
	static const struct {
		unsigned to;
		long result;
	} ways[] = { { 1, 2 }, { 3, 42 }, { 5, 40 } };

	for (unsigned i = 0; i < ARRAY_SIZE(ways); i++) {
		struct kprobe p = probe_of(region_loads_at);

		p.pre_handler = skip_one;
		p.flags = KPROBE_FLAG_CONTROL;
		make_region(&p);
		p.offset = ways[i].to;
		EXPECT_EQ(region_loads((long)few, 2), ways[i].result);
		EXPECT_TRUE(is_region(p.addr));
		remove_region(&p);
	}
}

/* The same, from somewhere else. */
TEST(region_run, a_control_probe_elsewhere_may_lead_inside)
{
	struct kprobe p = probe_of(region_loads_at);
	struct kprobe other = probe_of(region_fine_at);

	other.pre_handler = skip_one;
	other.flags = KPROBE_FLAG_CONTROL;
	make_region(&p);
	EXPECT_EQ(register_kprobe(&other), 0);
	other.offset = inside(region_loads_at, 3) - other.addr;
	/* It did not push, and `region_loads` does not pop. */
	EXPECT_EQ(region_fine(4, 2), 42);
	EXPECT_EQ(p.nhit, 0);
	EXPECT_EQ(unregister_kprobe(&other), 0);
	remove_region(&p);
}

static volatile long bad_address = 8;
static unsigned long fault_ip;
static unsigned repair;

static int load_badly(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return region_loads(bad_address, 2) != 2;
}

/* Has it done again with a good address, or leaves it out. */
static int repair_load(struct kprobe *p __unused, struct pt_regs *regs,
		       int kind __unused)
{
	fault_ip = instruction_pointer(regs);
	if (repair == 0)
		return false;
	regs->di = (unsigned long)few;
	regs->ax = 0;
	if (repair == 2)
		instruction_pointer_set(regs, fault_ip + 2);
	return true;
}

TEST(region_run, a_fault_inside_is_the_original_instructions)
{
	for (repair = 0; repair < 3; repair++) {
		struct kprobe p = probe_of(region_loads_at);
		struct kprobe outer = { .addr = (unsigned long)region_whole_at,
					.pre_handler = load_badly,
					.fault_handler = repair_load };

		fault_ip = 0;
		make_region(&p);
		EXPECT_EQ(register_kprobe(&outer), 0);
		EXPECT_EQ(opt_sync(), 0);
		EXPECT_EQ(region_whole(4, 2), 6);
		EXPECT_EQ(fault_ip, p.addr + 1);
		if (repair == 0)
			EXPECT_EQ(outer.verdict_pc, p.addr + 1);
		EXPECT_EQ(outer.verdict, repair ? KPROBE_WELL : KPROBE_FAULTED);
		EXPECT_TRUE(is_region(p.addr));
		EXPECT_EQ(unregister_kprobe(&outer), 0);
		remove_region(&p);
	}
}

static int follow_null(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return *(volatile int *)bad_address;
}

TEST(region_run, a_handler_that_is_abandoned_does_not_lead_inside)
{
	struct kprobe first = probe_of(region_fine_at);
	struct kprobe bad = probe_of(region_fine_at);
	struct kprobe last = probe_of(region_fine_at);

	bad.pre_handler = follow_null;
	EXPECT_EQ(register_kprobe(&first), 0);
	EXPECT_EQ(register_kprobe(&bad), 0);
	make_region(&last);
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(region_fine(4, 0), 7);
	EXPECT_EQ(bad.verdict, KPROBE_FAULTED);
	EXPECT_EQ(bad.nhit, 1);
	EXPECT_EQ(first.nhit, 3);
	EXPECT_EQ(last.nhit, 3);
	EXPECT_EQ(unregister_kprobe(&first), 0);
	EXPECT_EQ(unregister_kprobe(&bad), 0);
	remove_region(&last);
}
