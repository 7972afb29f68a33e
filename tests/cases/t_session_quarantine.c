// SPDX-License-Identifier: MIT
/*
 * What becomes of sessions whose handlers misbehave, or take more time together
 * than they have, and that nobody else notices.
 */
#include <arch/cpu.h>
#include <kernel/timer.h>
#include <lib/errno.h>
#include <probe/kretprobe.h>
#include <probe/watch.h>
#include <tests/cases/budget.h>
#include <tests/cases/session.h>

#define ROUNDS 4 /* under load: each waits for quiescence several times */

/* Has @n handlers of @s, one each, follow NULL. */
static __noinline void misbehave(struct probe_session *s, unsigned n)
{
	while (n-- > 0) {
		struct kprobe bad = probe_of(s, null_pre);

		bad.symbol_name = "session_other";
		EXPECT_EQ(register_kprobe(&bad), 0);
		EXPECT_EQ(session_other(1), 4);
		EXPECT_EQ(bad.verdict, KPROBE_FAULTED);
		EXPECT_EQ(unregister_kprobe(&bad), 0);
	}
}

static __noinline void expect_shut(struct probe_session *s)
{
	struct kprobe more = probe_of(s, good_pre);

	EXPECT_EQ(register_kprobe(&more), -EPERM);
	EXPECT_STREQ(kprobe_reason(), "its session is in quarantine");
}

TEST(session_quarantine,
     the_third_verdict_stops_all_probes_of_the_session_at_once)
{
	struct probe_session *s = open("a", 0, 0), *t = open("b", 0, 0);
	struct kprobe p = probe_of(s, good_pre), q = probe_of(t, good_pre);
	struct kprobe kernels = probe_of(NULL, good_pre);

	ASSERT_EQ(register_kprobe(&p), 0);
	ASSERT_EQ(register_kprobe(&q), 0);
	ASSERT_EQ(register_kprobe(&kernels), 0);
	misbehave(s, 2);
	EXPECT_FALSE(stats_of(s)->quarantined);
	session_target(1, 1);
	EXPECT_EQ(p.nhit, 1);
	misbehave(s, 1);
	EXPECT_TRUE(stats_of(s)->quarantined);
	EXPECT_FALSE(stats_of(t)->quarantined);
	session_target(1, 1);
	EXPECT_EQ(p.nhit, 1);
	EXPECT_EQ(q.nhit, 2);
	EXPECT_EQ(kernels.nhit, 2);
	EXPECT_EQ(p.verdict, KPROBE_WELL);
	expect_shut(s);
	EXPECT_EQ(stats_of(s)->faults, 3);
	EXPECT_EQ(stats_of(t)->faults, 0);
	EXPECT_EQ(session_close(s), 0);
	EXPECT_EQ(session_close(t), 0);
	EXPECT_EQ(unregister_kprobe(&kernels), 0);
}

TEST(session_quarantine, release_brings_back_what_was_well_and_enabled)
{
	struct probe_session *s = open("a", 0, 0);
	struct kprobe p[3] = { probe_of(s, good_pre), probe_of(s, good_pre),
			       probe_of(s, null_pre) };
	struct kprobe *all[] = { &p[0], &p[1], &p[2] };

	p[1].flags = KPROBE_FLAG_DISABLED;
	ASSERT_EQ(register_kprobes(all, 3), 0);
	misbehave(s, 2);
	session_target(1, 1);
	EXPECT_EQ(p[2].verdict, KPROBE_FAULTED);
	EXPECT_TRUE(stats_of(s)->quarantined);
	EXPECT_EQ(enable_kprobe(&p[0]), -EPERM);
	EXPECT_EQ(session_release(s), 0);
	EXPECT_FALSE(stats_of(s)->quarantined);
	session_target(1, 1);
	EXPECT_EQ(p[0].nhit, 2);
	EXPECT_EQ(p[1].nhit, 0);
	EXPECT_EQ(p[2].nhit, 1);
	EXPECT_EQ(enable_kprobe(&p[2]), 0);
	EXPECT_EQ(p[2].verdict, KPROBE_WELL);
	session_target(1, 1);
	EXPECT_EQ(p[2].verdict, KPROBE_FAULTED);
	EXPECT_FALSE(stats_of(s)->quarantined); /* one of three again */
	EXPECT_EQ(session_close(s), 0);
}

TEST(session_quarantine, the_number_of_verdicts_can_be_chosen)
{
	struct session_limits strict = { .verdicts = 1 };
	struct probe_session *s = NULL;
	struct kprobe p;

	ASSERT_EQ(session_open("strict", &strict, &s), 0);
	p = probe_of(s, good_pre);
	ASSERT_EQ(register_kprobe(&p), 0);
	misbehave(s, 1);
	EXPECT_TRUE(stats_of(s)->quarantined);
	session_target(1, 1);
	EXPECT_EQ(p.nhit, 0);
	EXPECT_EQ(session_close(s), 0);
}

TEST(session_quarantine, the_kernels_own_is_never_in_quarantine)
{
	struct kprobe p = probe_of(NULL, good_pre);

	ASSERT_EQ(register_kprobe(&p), 0);
	misbehave(NULL, 5);
	session_target(1, 1);
	EXPECT_EQ(p.nhit, 1);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

TEST(session_quarantine, many_bad_handlers_at_one_hit_stop_at_the_third)
{
	struct probe_session *s = open("a", 0, 0);
	static struct kprobe bad[6];
	struct kprobe good = probe_of(NULL, good_pre);
	unsigned faulted = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		bad[i] = probe_of(s, null_pre);
		ASSERT_EQ(register_kprobe(&bad[i]), 0);
	}
	ASSERT_EQ(register_kprobe(&good), 0);
	EXPECT_EQ(session_target(1, 2), 12);
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		faulted += bad[i].verdict == KPROBE_FAULTED;
	EXPECT_EQ(faulted, 3);
	EXPECT_EQ(good.nhit, 1);
	EXPECT_EQ(session_close(s), 0);
	EXPECT_EQ(unregister_kprobe(&good), 0);
}

TEST(session_quarantine, quarantine_under_load_disturbs_nobody_else)
{
	struct kprobe good = probe_of(NULL, good_pre);
	static struct load load;
	unsigned long calls;

	ASSERT_EQ(register_kprobe(&good), 0);
	load_start(&load);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct probe_session *s = open("a", 0, 0);
		static struct kprobe p[6];
		unsigned n = 0;

		for (; n < ARRAY_SIZE(p); n++) {
			p[n] = probe_of(s, n % 2 ? good_pre : null_pre);
			if (n % 3 == 0)
				p[n].symbol_name = "session_other";
			if (register_kprobe(&p[n]) == -EPERM)
				break;
		}
		thread_sleep(NSEC_PER_MSEC);
		EXPECT_EQ(session_release(s), 0);
		thread_sleep(NSEC_PER_MSEC);
		EXPECT_EQ(session_close(s), 0);
	}
	calls = load_end(&load);
	EXPECT_EQ(good.nhit + good.nmissed, calls);
	EXPECT_EQ(good.verdict, KPROBE_WELL);
	EXPECT_EQ(unregister_kprobe(&good), 0);
}

TEST(session_quarantine, three_sessions_on_one_address_one_faults_one_loops)
{
	struct probe_session *s[3] = { open("null", 0, 0), open("loop", 0, 0),
				       open("good", 0, 0) };
	struct kprobe p[3] = { probe_of(s[0], null_pre),
			       probe_of(s[1], loop_pre),
			       probe_of(s[2], good_pre) };
	struct kprobe *all[] = { &p[0], &p[1], &p[2] };
	bool watched = somebody_notices();
	u64 budget = probe_budget();

	if (watched)
		ASSERT_EQ(probe_budget_set(CASE_BUDGET_NS), 0);
	else
		p[1].pre_handler =
			null_pre; /* nobody could tell that it loops */
	ASSERT_EQ(register_kprobes(all, 3), 0);
	for (long i = 0; i < 5; i++)
		EXPECT_EQ(session_target(i, 7), i * 10 + 7);
	EXPECT_EQ(p[0].verdict, KPROBE_FAULTED);
	EXPECT_EQ(p[1].verdict, watched ? KPROBE_OVERDUE : KPROBE_FAULTED);
	EXPECT_EQ(p[2].verdict, KPROBE_WELL);
	EXPECT_EQ(stats_of(s[0])->faults, 1);
	EXPECT_EQ(stats_of(s[1])->faults, 1);
	EXPECT_EQ(stats_of(s[2])->faults, 0);
	EXPECT_EQ(stats_of(s[2])->hits, 5);
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(session_close(s[i]), 0);
	if (watched)
		ASSERT_EQ(probe_budget_set(budget), 0);
}

/* Time -------------------------------------------------------------------------- */

#define SLOW_NS (2 * NSEC_PER_MSEC)

static int slow_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	u64 end = clock_ns() + SLOW_NS;

	while (clock_ns() < end)
		cpu_relax();
	return 0;
}

static void slow_post(struct kprobe *p __unused, struct pt_regs *regs __unused,
		      unsigned long flags __unused)
{
	slow_pre(NULL, NULL);
}

static struct probe_session *open_timed(u64 ns)
{
	struct session_limits limits = { .time_ns = ns };
	struct probe_session *s = NULL;

	EXPECT_EQ(session_open("timed", &limits, &s), 0);
	return s;
}

TEST(session_quarantine, time_is_measured_only_where_it_is_limited)
{
	struct probe_session *s = open("a", 0, 0);
	struct kprobe p = probe_of(s, slow_pre);

	ASSERT_EQ(register_kprobe(&p), 0);
	session_target(1, 1);
	EXPECT_EQ(p.nhit, 1);
	EXPECT_TRUE(p.call == p.pre_handler);
	EXPECT_FALSE(stats_of(s)->timed);
	EXPECT_EQ(stats_of(s)->time_ns, 0);
	EXPECT_EQ(session_close(s), 0);
}

TEST(session_quarantine,
     handlers_that_take_too_much_time_together_stop_the_session)
{
	struct probe_session *s = open_timed(5 * SLOW_NS);
	struct kprobe p = probe_of(s, slow_pre), q = probe_of(s, good_pre);
	struct kprobe other = probe_of(NULL, good_pre);
	struct kprobe *all[] = { &p, &q, &other };
	unsigned long before;

	p.post_handler = slow_post;
	ASSERT_EQ(register_kprobes(all, 3), 0);
	for (unsigned i = 0; i < 10; i++)
		EXPECT_EQ(session_target(i, 2), i * 10 + 2);
	/* Five calls fill it, pre and post in turn; fewer if the host is slow. */
	EXPECT_GE(p.nhit, 1);
	EXPECT_LE(p.nhit, 3);
	EXPECT_EQ(other.nhit, 10);
	EXPECT_EQ(p.verdict, KPROBE_WELL);
	EXPECT_TRUE(stats_of(s)->quarantined);
	EXPECT_STREQ(stats_of(s)->why,
		     "its handlers took more time than it has");
	EXPECT_GE(stats_of(s)->time_ns, 5 * SLOW_NS);
	EXPECT_EQ(session_release(s), 0);
	EXPECT_FALSE(stats_of(s)->quarantined);
	before = p.nhit;
	session_target(1, 1);
	EXPECT_EQ(p.nhit, before + 1);
	EXPECT_EQ(session_close(s), 0);
	EXPECT_EQ(unregister_kprobe(&other), 0);
}

TEST(session_quarantine,
     a_handler_that_is_abandoned_has_used_its_time_all_the_same)
{
	struct probe_session *s = open_timed(NSEC_PER_SEC);
	struct kprobe p = probe_of(s, loop_pre);
	u64 budget = probe_budget();

	if (probe_budget_set(CASE_BUDGET_NS)) {
		EXPECT_EQ(session_close(s), 0);
		SKIP("needs a second CPU that notices");
	}
	ASSERT_EQ(register_kprobe(&p), 0);
	session_target(1, 1);
	EXPECT_EQ(p.verdict, KPROBE_OVERDUE);
	EXPECT_GE(stats_of(s)->time_ns, CASE_BUDGET_NS / 4 * 3);
	EXPECT_EQ(session_close(s), 0);
	ASSERT_EQ(probe_budget_set(budget), 0);
}

static int slow_return(struct kretprobe_instance *ri __unused,
		       struct pt_regs *regs)
{
	return slow_pre(NULL, regs);
}

TEST(session_quarantine, handlers_of_returns_take_time_too)
{
	struct probe_session *s = open_timed(100 * SLOW_NS);
	struct kretprobe rp = { .kp = { .symbol_name = "session_target",
					.session = s },
				.handler = slow_return };

	ASSERT_EQ(register_kretprobe(&rp), 0);
	EXPECT_EQ(session_target(4, 2), 42);
	EXPECT_GE(stats_of(s)->time_ns, SLOW_NS);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	EXPECT_EQ(session_close(s), 0);
}
