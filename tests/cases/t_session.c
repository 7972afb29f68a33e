// SPDX-License-Identifier: MIT
/*
 * Sessions: what one owner of probes may take, what is counted for it, and that
 * nobody else notices.
 */
#include <arch/cpu.h>
#include <kernel/timer.h>
#include <lib/errno.h>
#include <probe/site.h>
#include <tests/cases/session.h>

#define ROUNDS 4 /* under load: each waits for quiescence several times */

__noclone long session_target(long a, long b)
{
	barrier();
	return a * 10 + b;
}

__noclone long session_other(long a)
{
	barrier();
	return a + 3;
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

void load_start(struct load *l)
{
	WRITE_ONCE(hammer_stop, false);
	for (unsigned i = 0; i < cpu_count; i++) {
		l->calls[i] = 0;
		l->threads[i] = thread_create("hammer", hammer, &l->calls[i]);
	}
}

unsigned long load_end(struct load *l)
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
	unsigned sites = site_count();
	struct session_stats stats;

	EXPECT_EQ(session_close(s), 0);
	EXPECT_EQ(session_close(s), -EINVAL);
	EXPECT_EQ(session_release(s), -EINVAL);
	EXPECT_EQ(session_stats_get(s, &stats), -EINVAL);
	EXPECT_EQ(session_close(NULL), -EINVAL);
	EXPECT_EQ(register_kprobe(&p), -EINVAL);
	EXPECT_STREQ(kprobe_reason(), "its session is not open");
	EXPECT_EQ(site_count(), sites);
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
	unsigned sites = site_count();

	p[2].symbol_name = "session_other";
	EXPECT_EQ(register_kprobes(all, 3), -EDQUOT);
	EXPECT_EQ(site_count(), sites);
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

/* A hit inside of a hit. */
static int calling_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	session_other(1);
	return 0;
}

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
