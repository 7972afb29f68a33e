// SPDX-License-Identifier: MIT
/*
 * Hostile handlers on several CPUs at once: each is abandoned, once, by whoever
 * notices, and the machine can be stopped meanwhile.
 */
#include <arch/cpu.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/stop.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <probe/hit.h>
#include <probe/opt.h>
#include <tests/cases/isolate.h>
#include <tests/cases/threads.h>

static bool looping;
static unsigned abandoned;

static int mark_and_loop(struct kprobe *p, struct pt_regs *regs)
{
	WRITE_ONCE(looping, true);
	return loop_pre(p, regs);
}

static void call_target(void *arg __unused)
{
	EXPECT_EQ(isolate_target(4, 2), 42);
}

/* In an NMI, as if those of two CPUs had come at once. */
static void find_overdue_twice(void *arg __unused, struct pt_regs *regs)
{
	u64 turn = probe_hit_turn(this_cpu());

	probe_hit_nmi_exit(false); /* the watch is asked before */
	abandoned += probe_hit_overdue(regs, turn);
	abandoned += probe_hit_overdue(regs, turn);
	probe_hit_nmi_enter();
}

/* On a CPU of its own: the one that loops runs nothing else. */
static void abandon(void *arg __unused)
{
	while (!READ_ONCE(looping))
		thread_yield();
	EXPECT_EQ(smp_nmi_call(1, find_overdue_twice, NULL), 0);
}

static void abandon_twice(unsigned flags)
{
	struct kprobe bad = { .symbol_name = "isolate_target",
			      .pre_handler = mark_and_loop,
			      .flags = flags };
	struct thread *judge, *victim;

	looping = false;
	abandoned = 0;
	ASSERT_EQ(register_kprobe(&bad), 0);
	EXPECT_EQ(opt_sync(), 0);
	judge = thread_create_on("judge", BIT(0), abandon, NULL);
	victim = thread_create_on("victim", BIT(1), call_target, NULL);
	ASSERT_TRUE(judge && victim);
	thread_join(judge);
	thread_join(victim);
	EXPECT_EQ(abandoned, 1);
	EXPECT_EQ(bad.verdict, KPROBE_OVERDUE);
	EXPECT_EQ(unregister_kprobe(&bad), 0);
}

TEST(isolate_cpus, a_handler_that_several_cpus_find_overdue_is_abandoned_once)
{
	if (cpu_count < 2)
		SKIP("needs a second CPU that notices");
	abandon_twice(KPROBE_FLAG_NO_JUMP);
	abandon_twice(0);
}

static void hammer(void *number __unused)
{
	for (long i = 0; i < 500; i++)
		EXPECT_EQ(isolate_target(i, 1), i * 10 + 1);
}

TEST(isolate_cpus, faulting_handlers_on_all_cpus_leave_exact_counts)
{
	struct kprobe good = { .symbol_name = "isolate_target",
			       .pre_handler = good_pre };
	struct kprobe bad[3] = {
		{ .symbol_name = "isolate_target", .pre_handler = null_pre },
		{ .symbol_name = "isolate_target", .pre_handler = jump_pre },
		{ .symbol_name = "isolate_target", .post_handler = null_post }
	};
	struct kprobe *all[] = { &bad[0], &bad[1], &good, &bad[2] };

	ASSERT_EQ(register_kprobes(all, 4), 0);
	on_all_cpus(hammer);
	EXPECT_EQ(good.nhit + good.nmissed, 500UL * cpu_count);
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(bad[i].verdict, KPROBE_FAULTED);
	EXPECT_EQ(unregister_kprobes(all, 4), 0);
}

TEST(isolate_cpus, endless_handlers_on_all_cpus_but_one_are_all_abandoned)
{
	struct kprobe bad = { .symbol_name = "isolate_target",
			      .pre_handler = loop_pre };
	struct thread *threads[MAX_CPUS];
	u64 budget = probe_budget();

	if (cpu_count < 2)
		SKIP("needs a second CPU that notices");
	ASSERT_EQ(thread_set_affinity(current, BIT(cpu_count - 1)), 0);
	ASSERT_EQ(probe_budget_set(CASE_BUDGET_NS), 0);
	ASSERT_EQ(register_kprobe(&bad), 0);
	for (unsigned i = 0; i + 1 < cpu_count; i++) {
		threads[i] = thread_create_on("once", BIT(i), call_target,
					      NULL);
		ASSERT_TRUE(threads[i]);
	}
	for (unsigned i = 0; i + 1 < cpu_count; i++)
		thread_join(threads[i]);
	EXPECT_EQ(bad.verdict, KPROBE_OVERDUE);
	EXPECT_EQ(unregister_kprobe(&bad), 0);
	ASSERT_EQ(probe_budget_set(budget), 0);
	ASSERT_EQ(thread_set_affinity(current, ~0u), 0);
}

static unsigned together, loopers;

static int loop_together_pre(struct kprobe *p __unused,
			     struct pt_regs *regs __unused)
{
	__atomic_fetch_add(&loopers, 1, __ATOMIC_RELAXED);
	for (;;)
		barrier();
	return 0;
}

static void call_together(void *arg __unused)
{
	__atomic_fetch_add(&together, 1, __ATOMIC_RELAXED);
	SPIN_FOR(READ_ONCE(together) == cpu_count);
	call_target(NULL);
}

/*
 * On a busy host one may be abandoned before another has come: once more then, with
 * twice the time.
 */
#define TRIES 8

TEST(isolate_cpus,
     endless_handlers_on_all_cpus_at_once_are_abandoned_by_a_timer)
{
	struct kprobe bad = { .symbol_name = "isolate_target",
			      .pre_handler = loop_together_pre };
	u64 budget = probe_budget(), ns = 100 * NSEC_PER_MSEC;

	if (!somebody_notices() || probe_budget_set(ns) != 0 ||
	    !probe_budget_is_sure()) {
		ASSERT_EQ(probe_budget_set(budget), 0);
		SKIP("no timer comes as an NMI");
	}
	ASSERT_EQ(register_kprobe(&bad), 0);
	for (unsigned i = 0; i < TRIES; i++) {
		together = loopers = 0;
		EXPECT_EQ(enable_kprobe(&bad), 0);
		on_all_cpus(call_together);
		EXPECT_EQ(bad.verdict, KPROBE_OVERDUE);
		if (loopers == cpu_count)
			break;
		EXPECT_EQ(probe_budget_set(ns <<= 1), 0);
	}
	EXPECT_EQ(loopers, cpu_count);
	EXPECT_EQ(unregister_kprobe(&bad), 0);
	ASSERT_EQ(probe_budget_set(budget), 0);
}

static int stop_nothing(void *arg __unused)
{
	return 7;
}

TEST(isolate_cpus, an_endless_handler_does_not_keep_the_machine_from_stopping)
{
	struct kprobe bad = { .symbol_name = "isolate_target",
			      .pre_handler = loop_pre };
	struct thread *thread;
	u64 budget = probe_budget();

	if (cpu_count < 2)
		SKIP("needs a second CPU that notices");
	ASSERT_EQ(thread_set_affinity(current, BIT(0)), 0);
	ASSERT_EQ(probe_budget_set(CASE_BUDGET_NS), 0);
	ASSERT_EQ(register_kprobe(&bad), 0);
	thread = thread_create_on("once", BIT(1), call_target, NULL);
	ASSERT_TRUE(thread);
	while (READ_ONCE(bad.nhit) == 0)
		thread_yield();
	EXPECT_EQ(stop_machine(stop_nothing, NULL), 7);
	thread_join(thread);
	EXPECT_EQ(bad.verdict, KPROBE_OVERDUE);
	EXPECT_EQ(unregister_kprobe(&bad), 0);
	ASSERT_EQ(probe_budget_set(budget), 0);
	ASSERT_EQ(thread_set_affinity(current, ~0u), 0);
}

static int stop_and_call(void *arg)
{
	call_target(arg);
	return 7;
}

/* The one that loops is the only one that could go on. */
TEST(isolate_cpus, an_endless_handler_does_not_keep_the_machine_stopped)
{
	struct kprobe bad = { .symbol_name = "isolate_target",
			      .pre_handler = loop_pre };
	u64 budget = probe_budget();

	if (cpu_count < 2)
		SKIP("needs a second CPU that notices");
	ASSERT_EQ(probe_budget_set(CASE_BUDGET_NS), 0);
	ASSERT_EQ(register_kprobe(&bad), 0);
	EXPECT_EQ(stop_machine(stop_and_call, NULL), 7);
	EXPECT_EQ(bad.verdict, KPROBE_OVERDUE);
	EXPECT_EQ(unregister_kprobe(&bad), 0);
	ASSERT_EQ(probe_budget_set(budget), 0);
}
