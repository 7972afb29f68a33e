// SPDX-License-Identifier: MIT
/* stop_machine(): one function runs, nobody else does. */
#include <kernel/smp.h>
#include <kernel/stop.h>
#include <lib/errno.h>
#include <tests/cases/threads.h>

static int answer(void *arg)
{
	return *(int *)arg;
}

TEST(stop, the_value_of_the_function_is_returned)
{
	int values[] = { 0, 1, -5, 0x7fffffff };

	for (unsigned i = 0; i < ARRAY_SIZE(values); i++)
		EXPECT_EQ(stop_machine(answer, &values[i]), values[i]);
}

static struct {
	struct thread *thread;
	bool irqs_off;
	unsigned runs;
} seen;

static int look(void *arg __unused)
{
	seen.thread = current;
	seen.irqs_off = arch_irqs_disabled();
	seen.runs++;
	return 0;
}

TEST(stop, the_function_runs_once_in_the_caller_with_interrupts_off)
{
	seen.runs = 0;
	EXPECT_EQ(stop_machine(look, NULL), 0);
	EXPECT_EQ(seen.runs, 1);
	EXPECT_TRUE(seen.thread == current);
	EXPECT_TRUE(seen.irqs_off);
	EXPECT_FALSE(arch_irqs_disabled());
}

/* The others ------------------------------------------------------------------ */

static struct {
	u64 n;
} __aligned(64) counters[MAX_CPUS];
static bool enough;

static void count(void *number)
{
	u64 *n = &counters[(unsigned long)number].n;

	while (!load_acquire(&enough))
		WRITE_ONCE(*n, *n + 1);
}

static void counting_begin(struct thread *t[MAX_CPUS])
{
	enough = false;
	stay_on(0);
	for (unsigned i = 1; i < cpu_count; i++) {
		counters[i].n = 0;
		t[i] = start_on(i, count, (void *)(unsigned long)i);
	}
	for (unsigned i = 1; i < cpu_count; i++)
		WAIT_FOR(READ_ONCE(counters[i].n) > 0);
}

static void counting_end(struct thread *t[MAX_CPUS])
{
	store_release(&enough, true);
	for (unsigned i = 1; i < cpu_count; i++)
		join(t[i]);
	stay_anywhere();
}

static int count_moves(void *arg __unused)
{
	u64 before[MAX_CPUS];
	int moves = 0;

	for (unsigned i = 1; i < cpu_count; i++)
		before[i] = READ_ONCE(counters[i].n);
	for (unsigned spin = 0; spin < 2000; spin++)
		cpu_relax();
	for (unsigned i = 1; i < cpu_count; i++)
		moves += READ_ONCE(counters[i].n) != before[i];
	return moves;
}

TEST(stop, nobody_else_runs)
{
	struct thread *t[MAX_CPUS];

	if (cpu_count < 2)
		SKIP("needs two CPUs");
	counting_begin(t);
	for (unsigned i = 0; i < 10; i++)
		EXPECT_EQ(stop_machine(count_moves, NULL), 0);
	counting_end(t);
}

TEST(stop, everybody_goes_on_behind_it)
{
	struct thread *t[MAX_CPUS];
	u64 n[MAX_CPUS];

	if (cpu_count < 2)
		SKIP("needs two CPUs");
	counting_begin(t);
	for (unsigned i = 1; i < cpu_count; i++)
		n[i] = READ_ONCE(counters[i].n);
	EXPECT_EQ(stop_machine(count_moves, NULL), 0);
	for (unsigned i = 1; i < cpu_count; i++)
		WAIT_FOR(READ_ONCE(counters[i].n) > n[i]);
	counting_end(t);
}

/* Refusals ------------------------------------------------------------------- */

TEST(stop, with_interrupts_off_it_is_refused)
{
	unsigned long flags = arch_irq_save();
	int err;

	seen.runs = 0;
	err = stop_machine(look, NULL);
	arch_irq_restore(flags);
	EXPECT_EQ(err, -EDEADLK);
	EXPECT_EQ(seen.runs, 0);
}

static int stop_within(void *arg __unused)
{
	return stop_machine(look, NULL);
}

TEST(stop, within_itself_it_is_refused)
{
	seen.runs = 0;
	EXPECT_EQ(stop_machine(stop_within, NULL), -EDEADLK);
	EXPECT_EQ(seen.runs, 0);
	EXPECT_EQ(stop_machine(look, NULL), 0); /* and did no harm */
}

/* Several at once -------------------------------------------------------------- */

#define ROUNDS 15

static unsigned stops, calls;

static int count_stop(void *arg __unused)
{
	return (int)++stops; /* nobody else runs */
}

static void stop_often(void *number __unused)
{
	int last = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		int n = stop_machine(count_stop, NULL);

		EXPECT_GT(n, last);
		last = n;
	}
}

TEST(stop, stops_of_all_cpus_take_turns)
{
	stops = 0;
	on_all_cpus(stop_often);
	EXPECT_EQ(stops, ROUNDS * cpu_count);
}

static void count_call(void *arg __unused)
{
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

static void stop_or_call(void *number)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		if ((unsigned long)number % 2)
			smp_call_all(count_call, NULL);
		else
			EXPECT_GT(stop_machine(count_stop, NULL), 0);
	}
}

TEST(stop, stops_and_calls_cross_each_other)
{
	unsigned callers = cpu_count / 2, stoppers = cpu_count - callers;

	stops = calls = 0;
	on_all_cpus(stop_or_call);
	EXPECT_EQ(stops, ROUNDS * stoppers);
	EXPECT_EQ(calls, ROUNDS * callers * cpu_count);
}

TEST(stop, stops_are_counted_and_timed)
{
	struct stop_stats before, after;

	stop_stats_get(&before);
	EXPECT_EQ(stop_machine(look, NULL), 0);
	EXPECT_EQ(stop_machine(look, NULL), 0);
	stop_stats_get(&after);
	EXPECT_EQ(after.calls, before.calls + 2);
	EXPECT_GE(after.longest_ns, before.longest_ns);
	EXPECT_GT(after.longest_ns, 0);
}

/* A CPU that does not come ------------------------------------------------------- */

static struct {
	bool deaf;
	unsigned reports, cpu;
	const char *state;
} hang;

static void note_hang(unsigned cpu_id, const char *state)
{
	/* Others may be late too, on a busy host. */
	if (cpu_id != 1)
		return;
	if (hang.reports == 0)
		hang.state = state;
	hang.cpu = cpu_id;
	store_release(&hang.reports, hang.reports + 1);
}

/* Comes only when it was reported missing twice. */
static void stay_deaf(void *arg __unused)
{
	unsigned long flags = arch_irq_save();

	store_release(&hang.deaf, true);
	SPIN_FOR(load_acquire(&hang.reports) >= 2);
	arch_irq_restore(flags);
}

TEST(stop, a_cpu_that_does_not_come_is_reported_until_it_does)
{
	void (*report)(unsigned cpu_id, const char *state) = stop_hang_report;
	u64 limit = stop_hang_ns;
	struct thread *t;

	if (cpu_count < 2)
		SKIP("needs two CPUs");
	hang.deaf = false;
	hang.reports = 0;
	stop_hang_report = note_hang;
	stop_hang_ns = NSEC_PER_MSEC;
	stay_on(0);
	t = start_on(1, stay_deaf, NULL);
	WAIT_FOR(load_acquire(&hang.deaf));
	EXPECT_EQ(stop_machine(look, NULL), 0);
	join(t);
	stay_anywhere();
	stop_hang_ns = limit;
	stop_hang_report = report;
	EXPECT_GE(hang.reports, 2);
	EXPECT_EQ(hang.cpu, 1);
	EXPECT_STREQ(hang.state, "gather");
}
