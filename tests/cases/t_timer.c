// SPDX-License-Identifier: MIT
/* Timers and the clock. */
#include <kernel/lock.h>
#include <kernel/smp.h>
#include <tests/cases/threads.h>

#define USEC NSEC_PER_USEC
#define MSEC NSEC_PER_MSEC
#define HOUR (3600 * NSEC_PER_SEC)

static struct {
	unsigned count;
	int order[4];
	u64 at;	 /* clock_ns() in the function */
	int cpu; /* where it ran */
	bool irqs_off;
} seen;

static bool is_at_rest(struct thread *t, void *all)
{
	unsigned long pc;

	*(bool *)all &= t == current || t->id <= 0 || /* idle threads */
			(READ_ONCE(t->state) == THREAD_BLOCKED &&
			 sched_whereabouts(t, &pc) == THREAD_OFF);
	return *(bool *)all;
}

static bool is_quiet(void)
{
	bool all = timers_active() == 0;

	thread_for_each(is_at_rest, &all);
	return all && timers_active() == 0;
}

/*
 * No timer is active but the test's, nor will be: the optimiser pauses by one, too,
 * once it has come to run.
 */
static void quiet(void)
{
	WAIT_FOR(is_quiet());
}

static void note(struct timer *t)
{
	seen.at = clock_ns();
	seen.cpu = (int)smp_processor_id();
	seen.irqs_off = arch_irqs_disabled();
	if (seen.count < ARRAY_SIZE(seen.order))
		seen.order[seen.count] = (int)(unsigned long)t->arg;
	store_release(&seen.count, seen.count + 1);
}

static unsigned count_seen(void)
{
	return load_acquire(&seen.count);
}

TEST(timer, a_timer_fires_behind_its_deadline_on_the_cpu_that_started_it)
{
	for (unsigned i = 0; i < cpu_count; i++) {
		struct timer t;
		u64 deadline;

		seen.count = 0;
		timer_init(&t, note, NULL);
		stay_on(i);
		deadline = clock_ns() + 100 * USEC;
		timer_start(&t, deadline, 0);
		WAIT_FOR(count_seen() == 1);
		EXPECT_GE(seen.at, deadline);
		EXPECT_EQ(seen.cpu, (int)i);
		EXPECT_TRUE(seen.irqs_off);
		EXPECT_FALSE(timer_stop(&t));
	}
	stay_anywhere();
}

/* Starts them so that all are due when interrupts come on again. */
static void start_three(struct timer t[3], const u64 deadlines[3])
{
	unsigned long flags = arch_irq_save();

	seen.count = 0;
	for (unsigned i = 0; i < 3; i++) {
		timer_init(&t[i], note, (void *)(unsigned long)i);
		timer_start(&t[i], deadlines[i], 0);
	}
	arch_irq_restore(flags);
	WAIT_FOR(count_seen() == 3);
	for (unsigned i = 0; i < 3; i++)
		timer_stop(&t[i]);
}

TEST(timer, timers_fire_in_order_of_their_deadlines)
{
	u64 now = clock_ns();
	struct timer t[3];

	start_three(t, (u64[]){ now + 300 * USEC, now + 100 * USEC,
				now + 200 * USEC });
	EXPECT_EQ(seen.order[0], 1);
	EXPECT_EQ(seen.order[1], 2);
	EXPECT_EQ(seen.order[2], 0);
}

TEST(timer, equal_deadlines_fire_in_the_order_of_their_starting)
{
	u64 at = clock_ns() + 200 * USEC;
	struct timer t[3];

	start_three(t, (u64[]){ at, at, at });
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(seen.order[i], i);
}

TEST(timer, a_deadline_that_is_past_fires_at_once)
{
	u64 now = clock_ns();
	struct timer t[3];

	start_three(t, (u64[]){ now, 1, 0 });
	EXPECT_EQ(seen.order[0], 2);
	EXPECT_EQ(seen.order[1], 1);
	EXPECT_EQ(seen.order[2], 0);
}

TEST(timer, a_far_deadline_neither_fires_nor_hinders_a_near_one)
{
	struct timer far[3], near;

	quiet();
	seen.count = 0;
	for (unsigned i = 0; i < 3; i++)
		timer_init(&far[i], note, NULL);
	timer_init(&near, note, NULL);
	timer_start(&far[0], ~0ULL - 1, 0);
	timer_start(&far[1], 1ULL << 63, 0);
	timer_start(&far[2], clock_ns() + HOUR, 0);
	EXPECT_EQ(timers_active(), 3);
	timer_start(&near, clock_ns() + MSEC, 0);
	WAIT_FOR(count_seen() >= 1);
	for (unsigned i = 0; i < 3; i++)
		EXPECT_TRUE(timer_stop(&far[i]));
	EXPECT_FALSE(timer_stop(&near));
	EXPECT_EQ(seen.count, 1);
	WAIT_FOR(timers_active() == 0);
}

TEST(timer, a_periodic_timer_fires_again_and_again_until_stopped)
{
	struct timer t;
	unsigned n;

	seen.count = 0;
	timer_init(&t, note, NULL);
	timer_start(&t, clock_ns() + 50 * USEC, 50 * USEC);
	WAIT_FOR(count_seen() >= 5);
	EXPECT_TRUE(timer_stop(&t));
	n = count_seen();
	thread_sleep(MSEC);
	EXPECT_EQ(count_seen(), n);
	WAIT_FOR(timers_active() == 0);
	EXPECT_FALSE(timer_stop(&t));
}

static void note_lateness(struct timer *t)
{
	/* The next deadline is set already. */
	if (seen.count == 0)
		seen.at = t->deadline;
	store_release(&seen.count, seen.count + 1);
}

TEST(timer, missed_periods_are_skipped)
{
	unsigned long flags;
	struct timer t;
	u64 start, on_again;

	seen.count = 0;
	timer_init(&t, note_lateness, NULL);
	flags = arch_irq_save();
	start = clock_ns();
	timer_start(&t, 1, start / 4); /* due four times already */
	on_again = clock_ns();
	arch_irq_restore(flags);
	WAIT_FOR(count_seen() > 0);
	EXPECT_TRUE(timer_stop(&t));
	EXPECT_GT(seen.at, on_again);
}

TEST(timer, starting_an_active_timer_moves_it)
{
	struct timer t;

	quiet();
	seen.count = 0;
	timer_init(&t, note, NULL);
	timer_start(&t, clock_ns() + HOUR, 0);
	stay_on(last_cpu());
	timer_start(&t, clock_ns() + 50 * USEC, 0);
	EXPECT_LE(timers_active(), 1);
	WAIT_FOR(count_seen() == 1);
	EXPECT_EQ(seen.cpu, (int)last_cpu());
	EXPECT_FALSE(timer_stop(&t));
	stay_anywhere();
}

TEST(timer, stopping_what_was_never_started_is_harmless)
{
	struct timer t;

	timer_init(&t, note, NULL);
	EXPECT_FALSE(timer_stop(&t));
	EXPECT_FALSE(timer_stop(&t));
}

static void start_again(struct timer *t)
{
	note(t);
	if (seen.count < 3)
		timer_start(t, clock_ns() + 20 * USEC, 0);
}

TEST(timer, a_timer_may_start_itself_again)
{
	struct timer t;

	seen.count = 0;
	timer_init(&t, start_again, NULL);
	timer_start(&t, clock_ns(), 0);
	WAIT_FOR(count_seen() == 3);
	EXPECT_FALSE(timer_stop(&t));
}

static void stop_itself(struct timer *t)
{
	bool active = timer_stop(t);

	note(t);
	if (!active)
		FAIL("a periodic timer was not active in its function");
}

TEST(timer, a_periodic_timer_may_stop_itself)
{
	struct timer t;

	seen.count = 0;
	timer_init(&t, stop_itself, NULL);
	timer_start(&t, clock_ns(), 10 * USEC);
	WAIT_FOR(count_seen() == 1);
	thread_sleep(MSEC);
	EXPECT_EQ(count_seen(), 1);
	EXPECT_FALSE(timer_stop(&t));
}

/* Stopping from another CPU ------------------------------------------------------ */

static struct {
	bool entered, stopping, left;
} slow;

static void run_slowly(struct timer *t __unused)
{
	store_release(&slow.entered, true);
	SPIN_FOR(load_acquire(&slow.stopping));
	for (unsigned i = 0; i < 3000; i++)
		cpu_relax();
	store_release(&slow.left, true);
}

static void start_soon(void *t)
{
	timer_start(t, clock_ns(), 0);
}

TEST(timer, stopping_waits_for_a_function_that_runs_elsewhere)
{
	struct timer t;

	if (cpu_count < 2)
		SKIP("needs two CPUs");
	slow.entered = slow.stopping = slow.left = false;
	timer_init(&t, run_slowly, NULL);
	stay_on(0);
	EXPECT_EQ(smp_call(1, start_soon, &t), 0);
	SPIN_FOR(load_acquire(&slow.entered));
	store_release(&slow.stopping, true);
	EXPECT_FALSE(timer_stop(&t));
	EXPECT_TRUE(load_acquire(&slow.left));
	stay_anywhere();
}

static unsigned runs;

/* A slow CPU that is alone must get to stop it between two of its interrupts. */
static void restart_for_ever(struct timer *t)
{
	u64 soon = cpu_count > 1 ? 2 * USEC : 100 * USEC;

	__atomic_fetch_add(&runs, 1, __ATOMIC_RELAXED);
	timer_start(t, clock_ns() + soon, 0);
}

/* At whatever moment it comes: also while the function starts it again. */
TEST(timer, stopping_ends_a_timer_that_starts_itself_again)
{
	stay_on(0);
	for (unsigned i = 0; i < 100; i++) {
		struct timer t;
		unsigned n;

		runs = 0;
		timer_init(&t, restart_for_ever, NULL);
		EXPECT_EQ(smp_call(last_cpu(), start_soon, &t), 0);
		SPIN_FOR(READ_ONCE(runs) > i % 4);
		timer_stop(&t);
		n = READ_ONCE(runs);
		for (unsigned spin = 0; spin < 50; spin++)
			cpu_relax();
		EXPECT_EQ(READ_ONCE(runs), n);
		EXPECT_EQ(t.cpu, -1);
	}
	stay_anywhere();
	WAIT_FOR(timers_active() == 0);
}

static bool gone;
static unsigned late;

static void must_not_be_late(struct timer *t __unused)
{
	for (unsigned i = 0; i < 20; i++)
		cpu_relax();
	if (load_acquire(&gone))
		__atomic_fetch_add(&late, 1, __ATOMIC_RELAXED);
}

TEST(timer, nothing_runs_behind_a_stop_at_the_moment_of_firing)
{
	if (cpu_count < 2)
		SKIP("needs two CPUs");
	late = 0;
	stay_on(0);
	for (unsigned i = 0; i < 500; i++) {
		struct timer t;

		gone = false;
		timer_init(&t, must_not_be_late, NULL);
		EXPECT_EQ(smp_call(1, start_soon, &t), 0);
		for (unsigned spin = 0; spin < i % 60; spin++)
			cpu_relax();
		timer_stop(&t);
		store_release(&gone, true);
		for (unsigned spin = 0; spin < 10; spin++)
			cpu_relax();
	}
	stay_anywhere();
	EXPECT_EQ(late, 0);
}

static struct timer shared;

static void start_shared(void *number __unused)
{
	for (unsigned i = 0; i < 500; i++)
		timer_start(&shared, clock_ns() + HOUR, 0);
}

TEST(timer, all_cpus_may_start_one_timer_at_once)
{
	quiet();
	timer_init(&shared, note, NULL);
	on_all_cpus(start_shared);
	EXPECT_EQ(timers_active(), 1);
	EXPECT_TRUE(timer_stop(&shared));
	WAIT_FOR(timers_active() == 0);
}

/* The clock ------------------------------------------------------------------ */

static struct spinlock clock_lock = SPINLOCK("case", RANK_LEAF);
static u64 latest;
static unsigned backwards;

static void read_clock(void *number __unused)
{
	for (unsigned i = 0; i < 2000; i++) {
		unsigned long flags = spin_lock_irqsave(&clock_lock);
		u64 now = clock_ns();

		backwards += now < latest;
		latest = now;
		spin_unlock_irqrestore(&clock_lock, flags);
	}
}

TEST(timer, the_clock_never_goes_back_from_cpu_to_cpu)
{
	latest = backwards = 0;
	on_all_cpus(read_clock);
	EXPECT_EQ(backwards, 0);
}

TEST(timer, the_clock_goes_on)
{
	u64 start = clock_ns();

	SPIN_FOR(clock_ns() > start);
	EXPECT_GT(clock_ns(), start);
}
