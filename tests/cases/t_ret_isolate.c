// SPDX-License-Identifier: MIT
/*
 * Handlers of return probes that fault or never return: they are abandoned alone,
 * the function returns what it should to where it should, and the other probes
 * on it count every call.
 */
#include <kernel/timer.h>
#include <lib/errno.h>
#include <probe/kretprobe.h>
#include <probe/session.h>
#include <probe/watch.h>
#include <tests/cases/budget.h>
#include <tests/cases/ret.h>
#include <tests/cases/ret_area.h>
#include <tests/cases/threads.h>

#define CALLS 5

static volatile unsigned long bad_address; /* 0 */
static unsigned long good_returns;

static int good(struct kretprobe_instance *ri __unused,
		struct pt_regs *regs __unused)
{
	__atomic_fetch_add(&good_returns, 1, __ATOMIC_RELAXED);
	return 0;
}

static int follow_null(struct kretprobe_instance *ri __unused,
		       struct pt_regs *regs __unused)
{
	preempt_disable();
	return *(volatile int *)bad_address;
}

static int loop(struct kretprobe_instance *ri __unused,
		struct pt_regs *regs __unused)
{
	while (!bad_address)
		barrier();
	return 0;
}

static int spoil(struct kretprobe_instance *ri __unused, struct pt_regs *regs)
{
	instruction_pointer_set(regs, 1);
	return *(volatile int *)bad_address;
}

static int (*volatile deep_fn)(int n);

static __noclone int deep(int n)
{
	volatile char use[256];

	use[0] = (char)n;
	return deep_fn(n + 1) + use[0];
}

static int overrun(struct kretprobe_instance *ri __unused,
		   struct pt_regs *regs __unused)
{
	deep_fn = deep;
	return deep(0);
}

static __noclone long isolated(long x)
{
	return x * 10;
}

static long call_isolated(void)
{
	long result = isolated(1);

	barrier(); /* no jump */
	return result;
}

/* @bad between two good ones. */
static void check(struct kretprobe *bad, enum kprobe_verdict verdict)
{
	static struct kretprobe before, after;
	struct kretprobe *all[] = { &before, bad, &after };
	struct kretprobe_counts c;

	good_returns = 0;
	before = after = (struct kretprobe){ .kp.symbol_name = "isolated",
					     .handler = good };
	bad->kp.symbol_name = "isolated";
	ASSERT_EQ(ret_register_all(all, 3), 0);
	for (long i = 1; i < CALLS; i++)
		EXPECT_EQ(isolated(i), i * 10);
	EXPECT_EQ(ret_keeps(call_isolated), 0);
	EXPECT_EQ(good_returns, 2 * CALLS);
	EXPECT_EQ(bad->kp.verdict, verdict);
	EXPECT_TRUE(bad->kp.flags & KPROBE_FLAG_DISABLED);
	EXPECT_EQ(before.kp.verdict, KPROBE_WELL);
	EXPECT_EQ(after.kp.verdict, KPROBE_WELL);
	EXPECT_EQ(current->preempt_count, 0);
	EXPECT_FALSE(arch_irqs_disabled());
	EXPECT_EQ(unregister_kretprobes(all, 3), 0);
	kretprobe_counts(&before, &c);
	EXPECT_EQ(c.returned, CALLS);
	kretprobe_counts(bad, &c);
	EXPECT_EQ(c.returned, c.entered);
	EXPECT_EQ(isolated(2), 20);
}

TEST_BOTH(a_return_handler_that_faults_is_abandoned_alone)
{
	struct kretprobe bad = { .handler = follow_null };

	check(&bad, KPROBE_FAULTED);
	EXPECT_NE(bad.kp.verdict_pc, 0);
	bad = (struct kretprobe){ .handler = spoil };
	check(&bad, KPROBE_FAULTED);
}

TEST_BOTH(an_entry_handler_that_faults_is_abandoned_alone)
{
	struct kretprobe bad = { .entry_handler = follow_null,
				 .handler = good };
	struct kretprobe_counts c;

	check(&bad, KPROBE_FAULTED);
	kretprobe_counts(&bad, &c);
	EXPECT_EQ(c.entered, 0);
}

TEST_BOTH(a_return_handler_that_overruns_its_stack_is_abandoned_alone)
{
	struct kretprobe bad = { .handler = overrun };

	check(&bad, KPROBE_OVERFLOWED);
}

TEST_BOTH(handlers_that_never_return_are_abandoned_alone)
{
	struct kretprobe bad = { .handler = loop };
	u64 budget = probe_budget();

	if (!somebody_notices())
		SKIP("nobody would notice");
	ASSERT_EQ(probe_budget_set(CASE_BUDGET_NS), 0);
	check(&bad, KPROBE_OVERDUE);
	bad = (struct kretprobe){ .entry_handler = loop, .handler = good };
	check(&bad, KPROBE_OVERDUE);
	ASSERT_EQ(probe_budget_set(budget), 0);
}

static unsigned asked;

static int repair(struct kprobe *p __unused, struct pt_regs *regs __unused,
		  int trap_kind __unused)
{
	asked++;
	return 0;
}

TEST_BOTH(the_fault_handler_of_the_probe_is_asked)
{
	struct kretprobe bad = { .handler = follow_null,
				 .kp.fault_handler = repair };

	asked = 0;
	check(&bad, KPROBE_FAULTED);
	EXPECT_EQ(asked, 1);
}

TEST_BOTH(an_abandoned_probe_can_be_enabled_again)
{
	struct kretprobe bad = { .kp.symbol_name = "isolated",
				 .handler = follow_null };
	struct kretprobe_counts c;

	ASSERT_EQ(ret_register(&bad), 0);
	isolated(1);
	isolated(1);
	EXPECT_EQ(bad.kp.verdict, KPROBE_FAULTED);
	EXPECT_EQ(enable_kretprobe(&bad), 0);
	EXPECT_EQ(bad.kp.verdict, KPROBE_WELL);
	isolated(1);
	EXPECT_EQ(bad.kp.verdict, KPROBE_FAULTED);
	kretprobe_counts(&bad, &c);
	EXPECT_EQ(c.returned, 2);
	EXPECT_EQ(unregister_kretprobe(&bad), 0);
}

TEST_BOTH(a_session_of_bad_handlers_is_stopped_and_others_do_not_notice)
{
	static struct kretprobe bad[4], other;
	struct session_stats stats;
	struct probe_session *s;

	good_returns = 0;
	ASSERT_EQ(session_open("bad", NULL, &s), 0);
	other = (struct kretprobe){ .kp.symbol_name = "isolated",
				    .handler = good };
	ASSERT_EQ(ret_register(&other), 0);
	for (unsigned i = 0; i < 4; i++) {
		bad[i] = (struct kretprobe){ .kp.symbol_name = "isolated",
					     .kp.session = s,
					     .handler = i ? follow_null
							  : good };
		ASSERT_EQ(ret_register(&bad[i]), 0);
	}
	/* The last three are called first. */
	for (long i = 0; i < 3; i++)
		EXPECT_EQ(isolated(i), i * 10);
	EXPECT_EQ(session_stats_get(s, &stats), 0);
	EXPECT_TRUE(stats.quarantined);
	EXPECT_EQ(stats.faults, 3);
	EXPECT_EQ(good_returns, 3);
	EXPECT_EQ(session_close(s), 0);
	EXPECT_EQ(isolated(3), 30);
	EXPECT_EQ(good_returns, 4);
	EXPECT_EQ(unregister_kretprobe(&other), 0);
}

static void hammer(void *arg)
{
	unsigned long *wrong = arg;

	for (long i = 0; i < 300; i++)
		*wrong += isolated(i) != i * 10;
}

TEST_BOTH(faulting_handlers_on_all_cpus_leave_exact_counts)
{
	static struct kretprobe rps[3];
	struct kretprobe *all[] = { &rps[0], &rps[1], &rps[2] };
	struct thread *threads[MAX_CPUS];
	unsigned long wrong[MAX_CPUS] = { 0 };
	struct kretprobe_counts c;

	good_returns = 0;
	for (unsigned i = 0; i < 3; i++)
		rps[i] = (struct kretprobe){ .kp.symbol_name = "isolated",
					     .handler = i == 1 ? good
							       : follow_null };
	rps[2].entry_handler = follow_null;
	ASSERT_EQ(ret_register_all(all, 3), 0);
	for (unsigned i = 0; i < cpu_count; i++)
		threads[i] = start_on(i, hammer, &wrong[i]);
	for (unsigned i = 0; i < cpu_count; i++) {
		join(threads[i]);
		EXPECT_EQ(wrong[i], 0);
	}
	EXPECT_EQ(good_returns, 300UL * cpu_count);
	EXPECT_EQ(unregister_kretprobes(all, 3), 0);
	for (unsigned i = 0; i < 3; i++) {
		kretprobe_counts(&rps[i], &c);
		EXPECT_EQ(c.entered, c.returned);
		EXPECT_EQ(c.outstanding, 0);
	}
}
