// SPDX-License-Identifier: MIT
/*
 * Sessions: what one owner of probes may take, what is counted for it, what
 * becomes of it when its handlers misbehave, and that nobody else notices.
 */
#include "../test.h"
#include <arch/cpu.h>
#include <arch/trap.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <lib/errno.h>
#include <lib/printf.h>
#include <lib/string.h>
#include <probe/explain.h>
#include <probe/kprobe.h>
#include <probe/kretprobe.h>
#include <probe/opt.h>
#include <probe/session.h>
#include <probe/site.h>
#include <probe/watch.h>
#include <probe/window.h>
#include <tests/cases/budget.h>

#define ROUNDS 4 /* under load: each waits for quiescence several times */

static __noclone long session_target(long a, long b)
{
	barrier();
	return a * 10 + b;
}

static __noclone long session_other(long a)
{
	barrier();
	return a + 3;
}

static int good_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
}

static volatile unsigned long bad_address;

static int null_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return *(volatile int *)bad_address;
}

static int loop_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	for (;;)
		cpu_relax();
	return 0;
}

/* A hit inside of a hit. */
static int calling_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	session_other(1);
	return 0;
}

static void good_post(struct kprobe *p __unused, struct pt_regs *regs __unused,
		      unsigned long flags __unused)
{
}

static struct probe_session *open(const char *name, unsigned probes,
				  size_t memory)
{
	struct session_limits limits = { .probes = probes, .memory = memory };
	struct probe_session *s = NULL;

	EXPECT_EQ(session_open(name, &limits, &s), 0);
	return s;
}

/* Until it is called again. */
static const struct session_stats *stats_of(struct probe_session *s)
{
	static struct session_stats stats;

	EXPECT_EQ(session_stats_get(s, &stats), 0);
	return &stats;
}

#define probe_of(s, handler)                               \
	((struct kprobe){ .symbol_name = "session_target", \
			  .pre_handler = (handler),        \
			  .session = (s) })

/* Opening and closing --------------------------------------------------------- */

TEST(session, names_are_checked_and_unique)
{
	struct probe_session *s = open("a", 0, 0), *t = NULL;

	EXPECT_EQ(session_open("", NULL, &t), -EINVAL);
	EXPECT_EQ(session_open("a", NULL, &t), -EEXIST);
	EXPECT_EQ(session_open("kernel", NULL, &t), -EEXIST);
	EXPECT_EQ(session_open("a name that is much too long", NULL, &t),
		  -ENAMETOOLONG);
	EXPECT_FALSE(t);
	EXPECT_TRUE(session_find("a") == s);
	EXPECT_FALSE(session_find("b"));
	EXPECT_STREQ(session_name(s), "a");
	EXPECT_STREQ(session_name(NULL), "kernel");
	EXPECT_EQ(session_close(s), 0);
	EXPECT_FALSE(session_find("a"));
}

TEST(session, what_is_not_open_is_refused)
{
	struct probe_session *s = open("a", 0, 0);
	struct kprobe p = probe_of(s, good_pre);
	struct session_stats stats;

	EXPECT_EQ(session_close(s), 0);
	EXPECT_EQ(session_close(s), -EINVAL);
	EXPECT_EQ(session_release(s), -EINVAL);
	EXPECT_EQ(session_stats_get(s, &stats), -EINVAL);
	EXPECT_EQ(session_close(NULL), -EINVAL);
	EXPECT_EQ(register_kprobe(&p), -EINVAL);
	EXPECT_STREQ(kprobe_reason(), "its session is not open");
	EXPECT_EQ(site_count(), 0);
}

TEST(session, calls_with_interrupts_off_are_refused)
{
	struct probe_session *s = open("a", 0, 0), *t = NULL;
	unsigned long flags = arch_irq_save();
	int opened = session_open("b", NULL, &t);
	int closed = session_close(s), released = session_release(s);

	arch_irq_restore(flags);
	EXPECT_EQ(opened, -EDEADLK);
	EXPECT_EQ(closed, -EDEADLK);
	EXPECT_EQ(released, -EDEADLK);
	EXPECT_EQ(session_close(s), 0);
}

TEST(session, closing_removes_all_probes_of_it_and_no_others)
{
	struct probe_session *s = open("a", 0, 0), *t = open("b", 0, 0);
	struct kprobe mine[2] = { probe_of(s, good_pre),
				  probe_of(s, good_pre) };
	struct kprobe other = probe_of(t, good_pre);
	struct kprobe kernels = probe_of(NULL, good_pre);
	struct kprobe *all[] = { &mine[0], &other, &mine[1], &kernels };

	mine[1].symbol_name = "session_other";
	ASSERT_EQ(register_kprobes(all, 4), 0);
	EXPECT_EQ(site_count(), 2);
	EXPECT_EQ(session_close(s), 0);
	EXPECT_EQ(site_count(), 1);
	EXPECT_EQ(unregister_kprobe(&mine[0]), -EINVAL);
	EXPECT_EQ(session_target(1, 2), 12);
	EXPECT_EQ(mine[0].nhit + mine[1].nhit, 0);
	EXPECT_EQ(other.nhit, 1);
	EXPECT_EQ(kernels.nhit, 1);
	EXPECT_EQ(session_close(t), 0);
	EXPECT_EQ(unregister_kprobe(&kernels), 0);
}

TEST(session, a_probe_may_come_back_after_its_session_closed)
{
	struct probe_session *s = open("a", 0, 0);
	struct kprobe p = probe_of(s, good_pre);

	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(session_close(s), 0);
	p.session = NULL;
	ASSERT_EQ(register_kprobe(&p), 0);
	session_target(1, 1);
	EXPECT_EQ(p.nhit, 1);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

static bool hammer_stop;

static void hammer(void *arg)
{
	unsigned long *calls = arg;

	while (!READ_ONCE(hammer_stop)) {
		if (session_target(4, 2) == 42 && session_other(4) == 7)
			++*calls;
		else
			FAIL("a probed function returned something else");
		if (*calls % 16 == 0)
			thread_yield();
	}
}

struct load {
	struct thread *threads[MAX_CPUS];
	unsigned long calls[MAX_CPUS];
};

static void load_start(struct load *l)
{
	WRITE_ONCE(hammer_stop, false);
	for (unsigned i = 0; i < cpu_count; i++) {
		l->calls[i] = 0;
		l->threads[i] = thread_create("hammer", hammer, &l->calls[i]);
	}
}

static unsigned long load_end(struct load *l)
{
	unsigned long calls = 0;

	WRITE_ONCE(hammer_stop, true);
	for (unsigned i = 0; i < cpu_count; i++) {
		if (l->threads[i])
			thread_join(l->threads[i]);
		calls += l->calls[i];
	}
	return calls;
}

TEST(session, closes_under_load_and_nothing_runs_afterwards)
{
	struct kprobe kernels = probe_of(NULL, good_pre);
	static struct load load;
	unsigned long calls;

	ASSERT_EQ(register_kprobe(&kernels), 0);
	load_start(&load);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct probe_session *s = open("a", 0, 0);
		struct kprobe p[3] = { probe_of(s, good_pre),
				       probe_of(s, good_pre),
				       probe_of(s, good_pre) };
		struct kprobe *all[] = { &p[0], &p[1], &p[2] };
		unsigned long hits;

		p[1].symbol_name = "session_other";
		p[2].post_handler = good_post;
		EXPECT_EQ(register_kprobes(all, 3), 0);
		thread_sleep(2 * NSEC_PER_MSEC);
		EXPECT_EQ(session_close(s), 0);
		hits = p[0].nhit + p[1].nhit + p[2].nhit;
		thread_sleep(NSEC_PER_MSEC);
		EXPECT_EQ(p[0].nhit + p[1].nhit + p[2].nhit, hits);
	}
	calls = load_end(&load);
	EXPECT_EQ(kernels.nhit + kernels.nmissed, calls);
	EXPECT_EQ(unregister_kprobe(&kernels), 0);
}

/* Quotas ------------------------------------------------------------------------ */

TEST(session, more_probes_than_the_quota_are_refused)
{
	struct probe_session *s = open("a", 2, 0), *t = open("b", 0, 0);
	struct kprobe p[3] = { probe_of(s, good_pre), probe_of(s, good_pre),
			       probe_of(s, good_pre) };
	struct kprobe other = probe_of(t, good_pre);

	EXPECT_EQ(register_kprobe(&p[0]), 0);
	EXPECT_EQ(register_kprobe(&p[1]), 0);
	EXPECT_EQ(register_kprobe(&p[2]), -EDQUOT);
	EXPECT_STREQ(kprobe_reason(), "its session may not have more probes");
	EXPECT_EQ(register_kprobe(&other), 0);
	EXPECT_EQ(stats_of(s)->probes, 2);
	EXPECT_EQ(unregister_kprobe(&p[0]), 0);
	EXPECT_EQ(register_kprobe(&p[2]), 0);
	EXPECT_EQ(session_close(s), 0);
	EXPECT_EQ(session_close(t), 0);
}

TEST(session, a_batch_that_exceeds_the_quota_changes_nothing)
{
	struct probe_session *s = open("a", 2, 0);
	struct kprobe p[3] = { probe_of(s, good_pre), probe_of(s, good_pre),
			       probe_of(s, good_pre) };
	struct kprobe *all[] = { &p[0], &p[1], &p[2] };

	p[2].symbol_name = "session_other";
	EXPECT_EQ(register_kprobes(all, 3), -EDQUOT);
	EXPECT_EQ(site_count(), 0);
	EXPECT_EQ(stats_of(s)->probes, 0);
	EXPECT_EQ(stats_of(s)->memory, 0);
	EXPECT_EQ(session_target(1, 2), 12);
	EXPECT_EQ(p[0].nhit, 0);
	EXPECT_EQ(register_kprobes(all, 2), 0);
	EXPECT_EQ(session_close(s), 0);
}

TEST(session, more_memory_than_the_quota_is_refused)
{
	struct probe_session *s = open("a", 0, 0), *t;
	struct kprobe p[3] = { probe_of(s, good_pre) };
	size_t one;

	ASSERT_EQ(register_kprobe(&p[0]), 0);
	one = stats_of(s)->memory;
	EXPECT_GT(one, sizeof(struct site));
	EXPECT_EQ(session_close(s), 0);

	t = open("b", 0, 2 * one);
	for (unsigned i = 0; i < 3; i++) {
		p[i] = probe_of(t, good_pre);
		EXPECT_EQ(register_kprobe(&p[i]), i < 2 ? 0 : -EDQUOT);
	}
	EXPECT_STREQ(kprobe_reason(), "its session may not use more memory");
	EXPECT_EQ(stats_of(t)->memory, 2 * one);
	EXPECT_EQ(session_close(t), 0);
}

TEST(session, a_refused_probe_costs_nothing)
{
	struct probe_session *s = open("a", 1, 0);
	struct kprobe p = probe_of(s, good_pre), bad = p;

	bad.symbol_name = "session_target_of_nobody";
	EXPECT_EQ(register_kprobe(&bad), -ENOENT);
	bad.symbol_name = "trap";
	EXPECT_EQ(register_kprobe(&bad), -EACCES);
	EXPECT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(register_kprobe(&p), -EBUSY);
	EXPECT_EQ(stats_of(s)->probes, 1);
	EXPECT_EQ(session_close(s), 0);
}

/* Accounts ------------------------------------------------------------------------ */

TEST(session, hits_of_present_and_past_probes_are_counted)
{
	struct probe_session *s = open("a", 0, 0);
	struct kprobe p = probe_of(s, good_pre), q = p;
	struct kprobe *twice[] = { &q, &q };

	ASSERT_EQ(register_kprobe(&p), 0);
	ASSERT_EQ(register_kprobe(&q), 0);
	session_target(1, 1);
	EXPECT_EQ(stats_of(s)->hits, 2);
	EXPECT_EQ(unregister_kprobes(twice, 2), -EINVAL);
	EXPECT_EQ(stats_of(s)->hits, 2);
	session_target(1, 1);
	EXPECT_EQ(stats_of(s)->hits, 3);
	ASSERT_EQ(register_kprobe(&q), 0);
	session_target(1, 1);
	EXPECT_EQ(stats_of(s)->hits, 5);
	EXPECT_EQ(session_close(s), 0);
}

TEST(session, missed_hits_are_counted_for_who_missed_them)
{
	struct probe_session *s = open("a", 0, 0), *t = open("b", 0, 0);
	struct kprobe p = probe_of(s, calling_pre), q = probe_of(t, good_pre);

	q.symbol_name = "session_other";
	ASSERT_EQ(register_kprobe(&p), 0);
	ASSERT_EQ(register_kprobe(&q), 0);
	for (unsigned i = 0; i < 4; i++)
		session_target(1, 1);
	EXPECT_EQ(stats_of(s)->hits, 4);
	EXPECT_EQ(stats_of(s)->missed, 0);
	EXPECT_EQ(stats_of(t)->hits, 0);
	EXPECT_EQ(stats_of(t)->missed, 4);
	EXPECT_EQ(session_close(s), 0);
	EXPECT_EQ(session_close(t), 0);
}

TEST(session, accounts_are_exact_under_load)
{
	struct probe_session *s = open("a", 0, 0);
	struct kprobe stays = probe_of(s, good_pre), comes[2];
	struct session_stats stats;
	static struct load load;
	unsigned long calls, hits = 0;

	ASSERT_EQ(register_kprobe(&stays), 0);
	load_start(&load);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct kprobe *both[] = { &comes[0], &comes[1] };

		comes[0] = comes[1] = probe_of(s, good_pre);
		EXPECT_EQ(register_kprobes(both, 2), 0);
		thread_sleep(NSEC_PER_MSEC);
		EXPECT_EQ(unregister_kprobes(both, 2), 0);
		hits += comes[0].nhit + comes[1].nhit;
	}
	calls = load_end(&load);
	stats = *stats_of(s);
	EXPECT_EQ(stays.nhit, calls);
	EXPECT_EQ(stats.hits, calls + hits);
	EXPECT_EQ(stats.missed, 0);
	EXPECT_EQ(stats.probes, 1);
	EXPECT_EQ(session_close(s), 0);
}

/* Quarantine ------------------------------------------------------------------------ */

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

TEST(session, the_third_verdict_stops_all_probes_of_the_session_at_once)
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

TEST(session, release_brings_back_what_was_well_and_enabled)
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

TEST(session, the_number_of_verdicts_can_be_chosen)
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

TEST(session, the_kernels_own_is_never_in_quarantine)
{
	struct kprobe p = probe_of(NULL, good_pre);

	ASSERT_EQ(register_kprobe(&p), 0);
	misbehave(NULL, 5);
	session_target(1, 1);
	EXPECT_EQ(p.nhit, 1);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

TEST(session, many_bad_handlers_at_one_hit_stop_at_the_third)
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

TEST(session, quarantine_under_load_disturbs_nobody_else)
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

TEST(session, three_sessions_on_one_address_one_faults_one_loops)
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
		ASSERT_EQ(probe_budget_set(20 * NSEC_PER_MSEC), 0);
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

TEST(session, time_is_measured_only_where_it_is_limited)
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

TEST(session, handlers_that_take_too_much_time_together_stop_the_session)
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

TEST(session, a_handler_that_is_abandoned_has_used_its_time_all_the_same)
{
	struct probe_session *s = open_timed(NSEC_PER_SEC);
	struct kprobe p = probe_of(s, loop_pre);
	u64 budget = probe_budget();

	if (probe_budget_set(20 * NSEC_PER_MSEC)) {
		EXPECT_EQ(session_close(s), 0);
		SKIP("needs a second CPU that notices");
	}
	ASSERT_EQ(register_kprobe(&p), 0);
	session_target(1, 1);
	EXPECT_EQ(p.verdict, KPROBE_OVERDUE);
	EXPECT_GE(stats_of(s)->time_ns, 15 * NSEC_PER_MSEC);
	EXPECT_EQ(session_close(s), 0);
	ASSERT_EQ(probe_budget_set(budget), 0);
}

static int slow_return(struct kretprobe_instance *ri __unused,
		       struct pt_regs *regs)
{
	return slow_pre(NULL, regs);
}

TEST(session, handlers_of_returns_take_time_too)
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

/* Explaining -------------------------------------------------------------------------- */

TEST(session, explain_says_why_not_or_how_and_by_whom)
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

TEST(session, explain_tells_which_jump_there_would_be_and_leaves_nothing)
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

TEST(session, explain_names_the_plan_and_hits_follow_it)
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

TEST(session, explain_names_the_plan_that_was_forced)
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
