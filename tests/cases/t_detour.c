// SPDX-License-Identifier: MIT
/*
 * Hits through jumps: what a handler sees and may do is the same as at a
 * breakpoint, and no trap is taken.
 */
#include <arch/cpu.h>
#include <arch/regs.h>
#include <kernel/percpu.h>
#include <kernel/thread.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/kprobe.h>
#include <probe/opt.h>
#include <probe/patch.h>
#include <probe/site.h>
#include <tests/test.h>

static __noclone long detour_target(long a, long b)
{
	barrier();
	return a * 10 + b;
}

static __noclone long detour_inner(long a)
{
	barrier();
	return a + 1;
}

static u64 traps_so_far(void)
{
	u64 sum = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(this_cpu()->traps); i++)
		sum += this_cpu()->traps[i];
	return sum;
}

static bool is_jump(const struct kprobe *p)
{
	const struct site *s = site_find(p->addr);

	if (s && !s->detour)
		test_note("no jump: %s", s->no_jump);
	return s && s->detour;
}

/* Calls the target once, and expects jumps to take no trap. */
static void call_target(void)
{
	unsigned long flags = arch_irq_save();
	u64 before = traps_so_far();

	EXPECT_EQ(detour_target(4, 2), 42);
	EXPECT_EQ(traps_so_far(), before);
	arch_irq_restore(flags);
}

static unsigned long seen_pc, seen_arg;
static bool seen_irqs_on;
static unsigned order[16], nr_order;

static int see(struct kprobe *p __unused, struct pt_regs *regs)
{
	seen_pc = instruction_pointer(regs);
	seen_arg = regs_get_kernel_argument(regs, 0);
	seen_irqs_on = !arch_irqs_disabled() || regs_irqs_enabled(regs);
	return 0;
}

TEST(detour, a_handler_is_called_without_a_trap)
{
	struct kprobe p = { .symbol_name = "detour_target",
			    .pre_handler = see };

	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(opt_sync(), 0);
	EXPECT_TRUE(is_jump(&p));
	call_target();
	EXPECT_EQ(p.nhit, 1);
	EXPECT_EQ(seen_pc, p.addr);
	EXPECT_EQ(seen_arg, 4);
	EXPECT_FALSE(seen_irqs_on);
	EXPECT_EQ(detour_target(4, 2), 42);
	EXPECT_TRUE(seen_irqs_on); /* those of the probed code */
	EXPECT_FALSE(arch_irqs_disabled());
	EXPECT_EQ(unregister_kprobe(&p), 0);
	EXPECT_EQ(detour_target(4, 2), 42);
}

static int note(struct kprobe *p, struct pt_regs *regs)
{
	if (instruction_pointer(regs) == p->addr)
		order[nr_order++ % ARRAY_SIZE(order)] = (unsigned)p->offset;
	instruction_pointer_set(regs, 0); /* not allowed: undone */
	return 0;
}

static unsigned long end_pc;

static void note_post(struct kprobe *p, struct pt_regs *regs,
		      unsigned long flags __unused)
{
	order[nr_order++ % ARRAY_SIZE(order)] = 100 + (unsigned)p->offset;
	end_pc = instruction_pointer(regs);
	instruction_pointer_set(regs, 0);
}

/* @n probes, the first two with post-handlers if @post. */
static void check_order(unsigned n, bool post)
{
	static struct kprobe ps[10];
	struct kprobe first = { .symbol_name = "detour_target",
				.pre_handler = see };
	struct kprobe *all[10];

	ASSERT_EQ(register_kprobe(&first), 0);
	for (unsigned i = 0; i < n; i++) {
		all[i] = &ps[i];
		ps[i] = (struct kprobe){ .addr = first.addr,
					 .offset = i,
					 .pre_handler = note };
		if (post && i < 2)
			ps[i].post_handler = note_post;
	}
	ASSERT_EQ(unregister_kprobe(&first), 0);
	ASSERT_EQ(register_kprobes(all, n), 0);
	EXPECT_EQ(opt_sync(), 0);
	EXPECT_TRUE(is_jump(&ps[0]));
	nr_order = 0;
	EXPECT_EQ(detour_target(4, 2), 42);
	EXPECT_EQ(nr_order, n + 2 * post);
	for (unsigned i = 0; i < n; i++)
		EXPECT_EQ(order[i], i);
	for (unsigned i = 0; post && i < 2; i++)
		EXPECT_EQ(order[n + i], 100 + i);
	if (post)
		EXPECT_EQ(end_pc, ps[0].addr + site_find(ps[0].addr)->insn.len);
	EXPECT_FALSE(arch_irqs_disabled());
	EXPECT_EQ(unregister_kprobes(all, n), 0);
}

TEST(detour, handlers_are_called_in_order_and_cannot_change_the_pc)
{
	check_order(8, false); /* direct */
	check_order(10, false);
}

TEST(detour, post_handlers_come_behind_the_instruction)
{
	check_order(2, true);
}

static int set_argument(struct kprobe *p __unused, struct pt_regs *regs)
{
	regs_argument_set(regs, 0, 7);
	return 0;
}

TEST(detour, what_a_handler_writes_to_registers_takes_effect)
{
	struct kprobe p = { .symbol_name = "detour_target",
			    .pre_handler = set_argument };

	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(opt_sync(), 0);
	EXPECT_TRUE(is_jump(&p));
	EXPECT_EQ(detour_target(4, 2), 72);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

static int call_inner(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return detour_inner(1) == 2 ? 0 : 1;
}

TEST(detour, a_hit_inside_a_handler_is_missed_and_its_instruction_runs)
{
	struct kprobe outer = { .symbol_name = "detour_target",
				.pre_handler = call_inner };
	struct kprobe inner = { .symbol_name = "detour_inner",
				.pre_handler = see };

	ASSERT_EQ(register_kprobe(&outer), 0);
	ASSERT_EQ(register_kprobe(&inner), 0);
	EXPECT_EQ(opt_sync(), 0);
	EXPECT_TRUE(is_jump(&outer) && is_jump(&inner));
	call_target();
	EXPECT_EQ(inner.nhit, 0);
	EXPECT_EQ(inner.nmissed, 1);
	EXPECT_EQ(detour_inner(3), 4);
	EXPECT_EQ(inner.nhit, 1);
	EXPECT_EQ(unregister_kprobe(&inner), 0);
	EXPECT_EQ(unregister_kprobe(&outer), 0);
}

static volatile unsigned long bad_address;

static int follow_null(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	preempt_disable();
	return *(volatile int *)bad_address + (int)detour_inner(1);
}

TEST(detour, a_faulting_handler_is_abandoned_alone)
{
	struct kprobe ps[] = {
		{ .symbol_name = "detour_target", .pre_handler = see },
		{ .symbol_name = "detour_target", .pre_handler = follow_null },
		{ .symbol_name = "detour_target", .pre_handler = see },
	};
	struct kprobe *all[] = { &ps[0], &ps[1], &ps[2] };

	ASSERT_EQ(register_kprobes(all, 3), 0);
	EXPECT_EQ(opt_sync(), 0);
	EXPECT_TRUE(is_jump(&ps[0]));
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(detour_target(4, 2), 42);
	EXPECT_EQ(current->preempt_count, 0);
	EXPECT_FALSE(arch_irqs_disabled());
	EXPECT_EQ(ps[0].nhit, 3);
	EXPECT_EQ(ps[1].nhit, 1);
	EXPECT_EQ(ps[1].verdict, KPROBE_FAULTED);
	EXPECT_EQ(ps[2].nhit, 3);
	EXPECT_EQ(unregister_kprobes(all, 3), 0);
}

static bool over;

static void hammer(void *arg)
{
	unsigned long *wrong = arg;

	while (!READ_ONCE(over)) {
		for (long i = 0; i < 50; i++)
			*wrong += detour_target(i, 3) != i * 10 + 3;
		thread_yield();
	}
}

static void toggle(enum patch_mode mode)
{
	struct kprobe p = { .symbol_name = "detour_target",
			    .pre_handler = see };
	enum patch_mode before = patch_mode();
	enum opt_mode opt = opt_mode();
	struct thread *threads[MAX_CPUS];
	unsigned long wrong[MAX_CPUS] = { 0 };

	over = false;
	patch_mode_set(mode);
	ASSERT_EQ(register_kprobe(&p), 0);
	for (unsigned i = 0; i < cpu_count; i++) {
		threads[i] = thread_create_on("hammer", BIT(i), hammer,
					      &wrong[i]);
		ASSERT_TRUE(threads[i]);
	}
	for (unsigned i = 0; i < 30; i++) {
		EXPECT_EQ(opt_sync(), 0);
		EXPECT_TRUE(is_jump(&p));
		EXPECT_EQ(opt_set(OPT_OFF), 0);
	}
	WRITE_ONCE(over, true);
	for (unsigned i = 0; i < cpu_count; i++) {
		thread_join(threads[i]);
		EXPECT_EQ(wrong[i], 0);
	}
	EXPECT_EQ(unregister_kprobe(&p), 0);
	patch_mode_set(before);
	EXPECT_EQ(opt_set(opt), 0);
}

TEST(detour, jumps_come_and_go_under_running_threads_by_break)
{
	toggle(PATCH_BREAK);
}

TEST(detour, jumps_come_and_go_under_running_threads_by_stop)
{
	toggle(PATCH_STOP);
}

TEST(detour, a_probe_may_ask_for_no_jump)
{
	struct kprobe p = { .symbol_name = "detour_target",
			    .pre_handler = see,
			    .flags = KPROBE_FLAG_NO_JUMP };

	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(opt_sync(), 0);
	EXPECT_FALSE(site_find(p.addr)->detour);
	EXPECT_EQ(detour_target(4, 2), 42);
	EXPECT_EQ(p.nhit, 1);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}
