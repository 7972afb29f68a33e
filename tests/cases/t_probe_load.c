// SPDX-License-Identifier: MIT
/*
 * Probes of what all CPUs call all the time: they come and go, no call is lost, and
 * removing one waits for its handlers, but not for ever.
 */
#include <arch/cpu.h>
#include <kernel/percpu.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <lib/string.h>
#include <probe/patch.h>
#include <tests/cases/probe.h>

#define LOAD_CALLS 3000

static bool go;
static unsigned long wrong_results;

static void load(void *arg __unused)
{
	while (!READ_ONCE(go))
		cpu_relax();
	for (long i = 0; i < LOAD_CALLS; i++) {
		if (probe_target(i, 2, 3) != i * 100 + 23)
			__atomic_fetch_add(&wrong_results, 1, __ATOMIC_RELAXED);
	}
}

static void start_load(struct thread **threads)
{
	go = false;
	wrong_results = 0;
	target_calls = 0;
	for (unsigned i = 0; i < cpu_count; i++) {
		threads[i] = thread_create_on("load", BIT(i), load, NULL);
		ASSERT_TRUE(threads[i]);
	}
}

static void end_load(struct thread **threads)
{
	for (unsigned i = 0; i < cpu_count; i++)
		thread_join(threads[i]);
	EXPECT_EQ(wrong_results, 0);
	EXPECT_EQ(target_calls, (u64)LOAD_CALLS * cpu_count);
}

TEST(probe_load, on_all_cpus_hits_and_misses_are_all_calls)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = good_pre,
			    .post_handler = good_post };
	struct thread *threads[MAX_CPUS];

	ASSERT_EQ(register_kprobe(&p), 0);
	start_load(threads);
	WRITE_ONCE(go, true);
	end_load(threads);
	EXPECT_EQ(p.nhit + p.nmissed, (u64)LOAD_CALLS * cpu_count);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

static unsigned long begins, ends;

static int count_begin(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	__atomic_fetch_add(&begins, 1, __ATOMIC_RELAXED);
	return 0;
}

static void count_end(struct kprobe *p __unused, struct pt_regs *regs __unused,
		      unsigned long flags __unused)
{
	__atomic_fetch_add(&ends, 1, __ATOMIC_RELAXED);
}

/* Also: whoever saw a hit begin sees it end. */
static void toggle(enum patch_mode mode)
{
	struct kprobe stays = { .symbol_name = "probe_target",
				.pre_handler = good_pre };
	struct kprobe comes = { .symbol_name = "probe_target",
				.pre_handler = count_begin,
				.post_handler = count_end };
	struct kprobe alone = { .addr = second_of(probe_target),
				.pre_handler = good_pre };
	struct thread *threads[MAX_CPUS];
	enum patch_mode before = patch_mode();
	u64 text = text_hash(), all = (u64)LOAD_CALLS * cpu_count;

	begins = ends = 0;
	patch_mode_set(mode);
	EXPECT_EQ(register_kprobe(&stays), 0);
	start_load(threads);
	WRITE_ONCE(go, true);
	for (unsigned i = 0; i < 10 || READ_ONCE(target_calls) < all; i++) {
		EXPECT_EQ(register_kprobe(&comes), 0);
		EXPECT_EQ(register_kprobe(&alone), 0);
		thread_sleep(NSEC_PER_MSEC);
		EXPECT_EQ(unregister_kprobe(&comes), 0);
		EXPECT_EQ(unregister_kprobe(&alone), 0);
	}
	end_load(threads);
	EXPECT_EQ(ends, begins);
	EXPECT_EQ(stays.nhit + stays.nmissed, all);
	EXPECT_EQ(unregister_kprobe(&stays), 0);
	patch_mode_set(before);
	EXPECT_EQ(text_hash(), text);
}

TEST(probe_load, coming_and_going_under_load_loses_nothing_by_break)
{
	toggle(PATCH_BREAK);
}

TEST(probe_load, coming_and_going_under_load_loses_nothing_by_stop)
{
	toggle(PATCH_STOP);
}

/* Removing --------------------------------------------------------------------- */

static bool in_slow_handler, slow_may_end, slow_ended;

static int slow_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	WRITE_ONCE(in_slow_handler, true);
	while (!READ_ONCE(slow_may_end))
		cpu_relax();
	WRITE_ONCE(slow_ended, true);
	return 0;
}

static void call_target(void *arg __unused)
{
	probe_target(1, 2, 3);
}

static void release_slow(struct timer *t __unused)
{
	WRITE_ONCE(slow_may_end, true);
}

TEST(probe_load, unregistering_waits_for_a_handler_on_another_cpu)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = slow_pre };
	enum patch_mode before = patch_mode();
	struct thread *caller;
	struct timer t;

	if (cpu_count < 2)
		SKIP("needs a second CPU");
	/* To stop the machine would stop who ends the handler, too. */
	patch_mode_set(PATCH_BREAK);
	in_slow_handler = slow_may_end = slow_ended = false;
	ASSERT_EQ(thread_set_affinity(current, BIT(0)), 0);
	ASSERT_EQ(register_kprobe(&p), 0);
	caller = thread_create_on("caller", BIT(1), call_target, NULL);
	ASSERT_TRUE(caller);
	while (!READ_ONCE(in_slow_handler))
		thread_yield();
	timer_init(&t, release_slow, NULL);
	timer_start(&t, clock_ns() + 5 * NSEC_PER_MSEC, 0);
	EXPECT_EQ(unregister_kprobe(&p), 0);
	EXPECT_TRUE(slow_ended);
	timer_stop(&t);
	thread_join(caller);
	patch_mode_set(before);
	ASSERT_EQ(thread_set_affinity(current, ~0u), 0);
}

/* A loop with a probe on each instruction: where it can be interrupted is slots. */
static bool hot_end;

static __noclone unsigned long hot_loop(unsigned long x)
{
	for (unsigned i = 0; i < 100; i++) {
		x ^= x << 3;
		x ^= x >> 5;
		barrier();
	}
	return x;
}

static void run_hot(void *arg __unused)
{
	unsigned long x = 1;

	while (!READ_ONCE(hot_end))
		x = hot_loop(x);
}

TEST(probe_load, unregistering_ends_however_hot_other_probes_are)
{
	static struct kprobe hot[64];
	struct kprobe one = { .symbol_name = "probe_target",
			      .pre_handler = good_pre };
	struct thread *threads[MAX_CPUS];
	struct symbol sym;
	unsigned n = 0;

	ASSERT_EQ(symtab_lookup((unsigned long)hot_loop, &sym), 0);
	memset(hot, 0, sizeof(hot));
	for (unsigned i = 0; i < sym.size && n < ARRAY_SIZE(hot); i++) {
		hot[n].addr = sym.addr + i;
		hot[n].pre_handler = good_pre;
		n += register_kprobe(&hot[n]) == 0;
	}
	hot_end = false;
	for (unsigned i = 0; i < cpu_count; i++) {
		threads[i] = thread_create_on("hot", BIT(i), run_hot, NULL);
		ASSERT_TRUE(threads[i]);
	}
	for (unsigned i = 0; i < 3; i++) {
		EXPECT_EQ(register_kprobe(&one), 0);
		EXPECT_EQ(unregister_kprobe(&one), 0);
	}
	WRITE_ONCE(hot_end, true);
	for (unsigned i = 0; i < cpu_count; i++)
		thread_join(threads[i]);
	while (n-- > 0)
		EXPECT_EQ(unregister_kprobe(&hot[n]), 0);
}
