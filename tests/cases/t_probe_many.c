// SPDX-License-Identifier: MIT
/*
 * Names as the compiler left them, a thousand probes that leave, and probes on
 * what the engine itself uses.
 */
#include <arch/insn.h>
#include <arch/regs.h>
#include <kernel/heap.h>
#include <kernel/image.h>
#include <kernel/symtab.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/kprobe.h>
#include <probe/opt.h>
#include <probe/patch.h>
#include <probe/plan.h>
#include <probe/site.h>
#include <tests/cases/handlers.h>
#include <tests/test.h>

/* tests/kernel/t_symtab.c has a function of that name. */
TEST(probe, a_piece_of_a_function_is_suggested_and_probed_by_its_own_name)
{
	struct kprobe p = { .symbol_name = "symtab_case",
			    .pre_handler = good_pre };

	EXPECT_EQ(register_kprobe(&p), -ENOENT);
	EXPECT_TRUE(strstr(kprobe_reason(), "symtab_case.constprop.7"));
	p.symbol_name = "symtab_case.constprop.7";
	EXPECT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(unregister_kprobe(&p), 0);
	/* An offset counts in the piece, not in what it was cut from. */
	p.symbol_name = "symtab_case.constprop.7+0x1000";
	EXPECT_EQ(register_kprobe(&p), -EINVAL);
	EXPECT_TRUE(strstr(kprobe_reason(), "bytes only"));
}

#define MANY   1000
#define SINGLE 100 /* of them, one by one: each waits for all CPUs */

static bool may_be_probed(unsigned long addr)
{
	struct insn insn;
	const char *why;
	int err;

	mutex_lock(&probe_mutex);
	err = deny_check(addr, &insn, &why);
	mutex_unlock(&probe_mutex);
	return err == 0;
}

/* One on each function that may be probed, MANY at most. */
static unsigned choose(struct kprobe *probes, struct kprobe **all)
{
	struct symbol sym;
	unsigned n = 0;

	for (unsigned long at = 0; n < MANY && symtab_next(at, &sym) == 0;
	     at = sym.addr) {
		if (!may_be_probed(symbol_entry(&sym)))
			continue;
		probes[n] = (struct kprobe){ .addr = symbol_entry(&sym),
					     .pre_handler = good_pre };
		all[n] = &probes[n];
		n++;
	}
	return n;
}

static u64 batches(void)
{
	struct patch_stats stats;

	patch_stats_get(&stats);
	return stats.batches;
}

TEST(probe, a_thousand_are_removed_by_one_change_of_text_or_each_by_its_own)
{
	struct kprobe *probes = kcalloc(MANY, sizeof(*probes));
	struct kprobe **all = kcalloc(MANY, sizeof(*all));
	enum opt_mode mode = opt_mode();
	u64 before;
	unsigned n;

	ASSERT_TRUE(probes && all);
	if (mode == OPT_ON)
		EXPECT_EQ(opt_set(OPT_OFF), 0); /* it would add changes */
	n = choose(probes, all);
	EXPECT_GT(n, MANY / 2);
	ASSERT_EQ(register_kprobes(all, n), 0);
	before = batches();
	EXPECT_EQ(unregister_kprobes(all, n), 0);
	EXPECT_LE(batches() - before, 20);

	ASSERT_EQ(register_kprobes(all, n), 0);
	before = batches();
	for (unsigned i = 0; i < SINGLE; i++)
		EXPECT_EQ(unregister_kprobe(all[i]), 0);
	EXPECT_LE(batches() - before, 4 * SINGLE);
	EXPECT_EQ(unregister_kprobes(all + SINGLE, n - SINGLE), 0);
	EXPECT_EQ(opt_set(mode), 0);
	kfree(all);
	kfree(probes);
}

static void nothing_post(struct kprobe *p __unused,
			 struct pt_regs *regs __unused,
			 unsigned long flags __unused)
{
}

/* Registers with a post-handler, which may be emulated, from a stack like this. */
static __noinline int plan_of(unsigned long addr, unsigned depth)
{
	struct kprobe p = { .addr = addr,
			    .pre_handler = good_pre,
			    .post_handler = nothing_post };
	volatile char room[512];
	int plan = -1;

	room[0] = (char)depth;
	if (depth)
		return plan_of(addr, depth - 1) + room[0] * 0;
	if (register_kprobe(&p) == 0) {
		plan = (int)kprobe_plan(&p);
		unregister_kprobe(&p);
	}
	return plan;
}

/* What plans are made for: nothing that depends on the caller. */
TEST(probe, plans_are_made_for_registers_that_are_always_the_same)
{
	struct pt_regs regs, again;
	unsigned near = 0;

	memset(&again, 0xee, sizeof(again));
	arch_regs_plain(&regs);
	arch_regs_plain(&again);
	EXPECT_MEMEQ(&regs, &again, sizeof(regs));
	EXPECT_FALSE(user_mode(&regs));
	EXPECT_FALSE(regs_traced(&regs));
	EXPECT_TRUE(regs_irqs_enabled(&regs));
	for (unsigned i = 0; i < arch_reg_desc_count; i++) {
		unsigned long v, sp = kernel_stack_pointer(&regs);

		memcpy(&v, (char *)&regs + arch_reg_descs[i].offset, sizeof(v));
		near += v - sp + (1ul << 24) < 1ul << 25;
	}
	EXPECT_EQ(near, 1); /* the stack pointer itself */
}

/* Stores to memory might lie near the stack pointer, in one frame or another. */
TEST(probe, an_instruction_has_the_same_plan_whoever_registers)
{
	unsigned long pc = (unsigned long)__text_start;
	unsigned n = 0, emulated_ones = 0;
	struct symbol sym;
	struct insn insn;

	while (n < 200 && symtab_next(pc, &sym) == 0) {
		for (pc = sym.addr; pc < sym.addr + sym.size; pc += insn.len) {
			int plan;

			if (arch_insn_decode(&insn, (void *)pc, INSN_MAX_BYTES,
					     pc))
				break;
			if (!(insn.flags & INSN_MEM) || !may_be_probed(pc) ||
			    n++ >= 200)
				continue;
			plan = plan_of(pc, 0);
			emulated_ones += plan == PLAN_EMULATE;
			if (plan_of(pc, 6) != plan)
				FAIL("%pS: not always %s", (void *)pc,
				     probe_plan_name((enum probe_plan)plan));
		}
		pc = sym.addr;
	}
	EXPECT_GE(emulated_ones, 10);
}

static __noclone unsigned emulated(unsigned a)
{
	return a * 3;
}

/* A hit with a post-handler is emulated, where that is possible. */
TEST(probe, the_emulator_may_be_probed_while_it_works)
{
	struct kprobe target = { .symbol_name = "emulated",
				 .pre_handler = good_pre,
				 .post_handler = nothing_post };
	struct kprobe emulator[] = {
		{ .symbol_name = "arch_insn_analyse",
		  .pre_handler = good_pre,
		  .post_handler = nothing_post },
		{ .symbol_name = "arch_insn_apply", .pre_handler = good_pre },
	};

	for (unsigned plan = PLAN_AUTO; plan <= PLAN_STEP; plan++) {
		probe_plan_set((enum probe_plan)plan);
		if (register_kprobe(&emulator[0]))
			continue; /* not emulated itself: nothing to see */
		ASSERT_EQ(register_kprobe(&emulator[1]), 0);
		ASSERT_EQ(register_kprobe(&target), 0);
		for (unsigned i = 0; i < 100; i++)
			EXPECT_EQ(emulated(i), 3 * i);
		EXPECT_EQ(target.nhit, 100);
		EXPECT_EQ(target.nmissed, 0);
		if (kprobe_plan(&target) == PLAN_EMULATE)
			EXPECT_GE(emulator[1].nmissed, 100);
		EXPECT_EQ(unregister_kprobe(&target), 0);
		EXPECT_EQ(unregister_kprobe(&emulator[0]), 0);
		EXPECT_EQ(unregister_kprobe(&emulator[1]), 0);
	}
	probe_plan_set(PLAN_AUTO);
}
