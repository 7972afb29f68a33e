// SPDX-License-Identifier: MIT
/*
 * Threads: birth and end, sharing of CPUs, migration, preemption at arbitrary
 * instructions.
 */
#include <kernel/heap.h>
#include <kernel/lock.h>
#include <kernel/vm.h>
#include <kernel/wait.h>
#include <lib/errno.h>
#include <tests/cases/keep_regs.h>
#include <tests/cases/threads.h>

/* Lives ---------------------------------------------------------------------- */

static void add_to(void *sum)
{
	__atomic_fetch_add((unsigned *)sum, 1, __ATOMIC_RELAXED);
}

TEST(sched, a_thread_runs_its_function_with_its_argument)
{
	unsigned sum = 0;
	struct thread *t = thread_create("case", add_to, &sum);

	ASSERT_TRUE(t);
	EXPECT_STREQ(t->name, "case");
	thread_join(t);
	EXPECT_EQ(sum, 1);
}

TEST(sched, many_threads_all_run)
{
	struct thread *t[64];
	unsigned sum = 0, before = thread_count();

	for (unsigned i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = thread_create("case", add_to, &sum);
	EXPECT_LE(thread_count(), before + ARRAY_SIZE(t));
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++)
		join(t[i]);
	EXPECT_EQ(sum, ARRAY_SIZE(t));
	EXPECT_EQ(thread_count(), before);
}

TEST(sched, detached_threads_free_themselves)
{
	size_t objects = heap_objects_used(), pages = vm_pages_used();
	unsigned sum = 0;
	bool end = false;

	/* One that has probably ended when it is detached, and one not. */
	for (unsigned i = 0; i < 10; i++) {
		struct thread *t = i % 2 ? thread_create("case", add_to, &sum)
					 : thread_create("case", spin_until,
							 &end);

		ASSERT_TRUE(t);
		if (i % 2)
			WAIT_FOR(load_acquire(&sum) == i / 2 + 1);
		thread_detach(t);
	}
	EXPECT_GE(heap_objects_used(), objects + 5);
	store_release(&end, true);
	WAIT_FOR(heap_objects_used() == objects && vm_pages_used() == pages);
}

static void exit_early(void *arg)
{
	*(int *)arg = 1;
	thread_exit();
}

TEST(sched, a_thread_may_end_in_the_middle)
{
	int where = 0;

	join(thread_create("case", exit_early, &where));
	EXPECT_EQ(where, 1);
}

static void look_at_start(void *ok)
{
	*(bool *)ok = !arch_irqs_disabled() && current->preempt_count == 0 &&
		      current->state == THREAD_READY && locks_held() == 0;
}

TEST(sched, a_thread_starts_interruptible_and_preemptible)
{
	bool ok = false;

	join(thread_create("case", look_at_start, &ok));
	EXPECT_TRUE(ok);
}

TEST(sched, ids_are_never_used_twice)
{
	unsigned sum = 0;
	int last = 0;

	for (unsigned i = 0; i < 5; i++) {
		struct thread *t = thread_create("case", add_to, &sum);

		ASSERT_TRUE(t);
		EXPECT_GT(t->id, last);
		last = t->id;
		thread_join(t);
	}
}

TEST(sched, a_stack_lies_between_guards)
{
	unsigned long low = (unsigned long)current->stack;
	unsigned long here = (unsigned long)&low;

	EXPECT_EQ(current->stack_top, low + THREAD_STACK_SIZE);
	EXPECT_TRUE(here > low && here < current->stack_top);
	EXPECT_TRUE(vm_is_guard(low - 1));
	EXPECT_TRUE(vm_is_guard(current->stack_top));
	EXPECT_FALSE(vm_is_guard(low));
	EXPECT_FALSE(vm_is_guard(current->stack_top - 1));
}

static bool count_thread(struct thread *t, void *arg)
{
	unsigned *n = arg;

	n[0]++;
	n[1] += t->id <= 0;
	n[2] += t == current;
	return true;
}

TEST(sched, all_threads_and_idle_threads_are_listed)
{
	unsigned n[3] = { 0 };

	thread_for_each(count_thread, n);
	EXPECT_EQ(n[0], thread_count() + cpu_count);
	EXPECT_EQ(n[1], cpu_count);
	EXPECT_EQ(n[2], 1);
}

/* Sharing a CPU ---------------------------------------------------------------- */

static unsigned ball;

/* Neither gives the CPU away: each waits for the other by spinning. */
static void pass_ball(void *side)
{
	unsigned mine = (unsigned)(unsigned long)side;

	while (READ_ONCE(ball) < 6) {
		if (!SPIN_FOR(READ_ONCE(ball) % 2 == mine ||
			      READ_ONCE(ball) >= 6))
			return;
		if (READ_ONCE(ball) < 6)
			__atomic_fetch_add(&ball, 1, __ATOMIC_RELAXED);
	}
}

TEST(sched, threads_that_only_spin_share_their_cpu)
{
	for (unsigned i = 0; i < cpu_count; i++) {
		struct thread *a, *b;

		ball = 0;
		a = start_on(i, pass_ball, (void *)0);
		b = start_on(i, pass_ball, (void *)1);
		join(a);
		join(b);
		EXPECT_EQ(ball, 6);
	}
}

static u64 counter;
static bool end;

static void count(void *unused __unused)
{
	while (!load_acquire(&end))
		WRITE_ONCE(counter, counter + 1);
}

/* A thread that is ready to count on CPU 0, where the case stays. */
static struct thread *rival_begin(void)
{
	struct thread *t;

	end = false;
	counter = 0;
	stay_on(0);
	t = start_on(0, count, NULL);
	WAIT_FOR(READ_ONCE(counter) > 0);
	return t;
}

static void rival_end(struct thread *t)
{
	store_release(&end, true);
	join(t);
	stay_anywhere();
}

TEST(sched, nothing_preempts_while_preemption_is_off)
{
	struct thread *t = rival_begin();
	bool wanted, undisturbed;
	u64 n;

	preempt_disable();
	n = READ_ONCE(counter);
	wanted = SPIN_FOR(READ_ONCE(current->need_resched));
	undisturbed = READ_ONCE(counter) == n;
	preempt_enable();
	EXPECT_TRUE(wanted);
	EXPECT_TRUE(undisturbed);
	EXPECT_FALSE(current->need_resched && arch_irqs_disabled());
	SPIN_FOR(READ_ONCE(counter) > n);
	rival_end(t);
}

TEST(sched, preemption_nests)
{
	struct thread *t = rival_begin();
	bool undisturbed;
	u64 n;

	preempt_disable();
	preempt_disable();
	n = READ_ONCE(counter);
	SPIN_FOR(READ_ONCE(current->need_resched));
	preempt_enable();
	undisturbed = READ_ONCE(counter) == n;
	preempt_enable();
	EXPECT_TRUE(undisturbed);
	EXPECT_EQ(current->preempt_count, 0);
	rival_end(t);
}

/* Nothing but another tick can see that the CPU is wanted. */
TEST(sched, preemption_that_comes_back_with_interrupts_off_is_not_the_end_of_it)
{
	struct thread *t = rival_begin();
	unsigned long flags;
	u64 n;

	preempt_disable();
	n = READ_ONCE(counter);
	SPIN_FOR(READ_ONCE(current->need_resched));
	flags = arch_irq_save();
	preempt_enable();
	arch_irq_restore(flags);
	SPIN_FOR(READ_ONCE(counter) > n);
	rival_end(t);
}

TEST(sched, yielding_is_voluntary_and_counted)
{
	u64 before = current->voluntary;

	for (unsigned i = 0; i < 10; i++)
		thread_yield();
	EXPECT_EQ(current->voluntary, before + 10);
}

TEST(sched, sleep_is_not_short)
{
	static const u64 lengths[] = { 0, 1, NSEC_PER_USEC, NSEC_PER_MSEC,
				       3 * NSEC_PER_MSEC };

	for (unsigned i = 0; i < ARRAY_SIZE(lengths); i++) {
		u64 start = clock_ns();

		thread_sleep(lengths[i]);
		EXPECT_GE(clock_ns() - start, lengths[i]);
	}
	WAIT_FOR(timers_active() == 0);
}

/* Which CPU -------------------------------------------------------------------- */

static void note_cpu(void *cpu)
{
	*(unsigned *)cpu = smp_processor_id();
}

TEST(sched, a_thread_starts_where_it_may_run)
{
	for (unsigned i = 0; i < cpu_count; i++) {
		unsigned cpu = ~0u;

		join(start_on(i, note_cpu, &cpu));
		EXPECT_EQ(cpu, i);
	}
}

TEST(sched, an_affinity_without_any_cpu_is_refused)
{
	u32 before = current->affinity;

	EXPECT_EQ(thread_set_affinity(current, 0), -EINVAL);
	if (cpu_count < 32)
		EXPECT_EQ(thread_set_affinity(current, 1u << 31), -EINVAL);
	EXPECT_EQ(current->affinity, before);
}

TEST(sched, one_may_move_oneself)
{
	for (unsigned i = 0; i < 3 * cpu_count; i++) {
		unsigned to = i * 3 % cpu_count;

		EXPECT_EQ(thread_set_affinity(current, BIT(to)), 0);
		EXPECT_EQ(smp_processor_id(), to);
	}
	stay_anywhere();
}

/* What a thread that is moved says of where it is, when it is asked. */
static struct {
	unsigned asked, answered, cpu;
} where;

static void answer(void)
{
	unsigned n = load_acquire(&where.asked);

	if (n != where.answered) {
		where.cpu = smp_processor_id();
		store_release(&where.answered, n);
	}
}

static unsigned ask(void)
{
	unsigned n = where.asked + 1;

	store_release(&where.asked, n);
	WAIT_FOR(load_acquire(&where.answered) == n);
	return where.cpu;
}

static void answer_spinning(void *unused __unused)
{
	while (!load_acquire(&end))
		answer();
}

TEST(sched, a_running_thread_is_moved)
{
	struct thread *t;

	end = false;
	t = start_on(0, answer_spinning, NULL);
	for (unsigned i = 0; t && i < 5 * cpu_count; i++) {
		unsigned to = i * 3 % cpu_count;

		EXPECT_EQ(thread_set_affinity(t, BIT(to)), 0);
		EXPECT_EQ(ask(), to);
	}
	store_release(&end, true);
	join(t);
}

static struct wait_queue queue = WAIT_QUEUE(queue);
static unsigned ticks;

static void answer_woken(void *unused __unused)
{
	unsigned last = READ_ONCE(ticks);

	while (!load_acquire(&end)) {
		wait_event(&queue, READ_ONCE(ticks) != last);
		last = READ_ONCE(ticks);
		answer();
	}
}

static void wake_always(void *unused __unused)
{
	while (!load_acquire(&end)) {
		WRITE_ONCE(ticks, ticks + 1);
		wake_up(&queue);
	}
	WRITE_ONCE(ticks, ticks + 1);
	wake_up(&queue);
}

/* It sleeps, is placed, runs, in whatever state the change finds it. */
TEST(sched, a_thread_that_sleeps_and_wakes_obeys_at_once)
{
	struct thread *sleeper, *waker;

	end = false;
	sleeper = start_on(0, answer_woken, NULL);
	waker = start_on(last_cpu(), wake_always, NULL);
	for (unsigned i = 0; sleeper && waker && i < 60; i++) {
		unsigned to = i * 3 % cpu_count;

		EXPECT_EQ(thread_set_affinity(sleeper, BIT(to)), 0);
		EXPECT_EQ(ask(), to);
	}
	store_release(&end, true);
	join(waker);
	wake_up(&queue);
	join(sleeper);
}

static void note_cpu_when_complete(void *arg)
{
	struct completion *c = arg;

	complete_wait(c);
	note_cpu(&where.cpu);
}

TEST(sched, a_waiting_thread_wakes_where_it_may_run)
{
	for (unsigned i = 0; i < cpu_count; i++) {
		struct completion c;
		struct thread *t;

		completion_init(&c);
		t = start_on(0, note_cpu_when_complete, &c);
		ASSERT_TRUE(t);
		WAIT_FOR(READ_ONCE(t->state) == THREAD_BLOCKED);
		EXPECT_EQ(thread_set_affinity(t, BIT(i)), 0);
		complete(&c);
		thread_join(t);
		EXPECT_EQ(where.cpu, i);
	}
}

/* Two spin on CPU 1, one of which CPU 0 may take; CPU 0 idles now and then. */
TEST(sched, an_idle_cpu_takes_a_waiting_thread)
{
	struct thread *stays, *may_go;

	if (cpu_count < 2)
		SKIP("needs two CPUs");
	end = false;
	stay_on(0);
	stays = start_on(1, spin_until, &end);
	may_go = start_on(1, spin_until, &end);
	if (may_go) {
		EXPECT_EQ(thread_set_affinity(may_go, BIT(0) | BIT(1)), 0);
		WAIT_FOR(READ_ONCE(may_go->cpu) == 0);
	}
	store_release(&end, true);
	join(stays);
	join(may_go);
	stay_anywhere();
}

/* CPU 0 sleeps, and nothing happens there by itself. */
TEST(sched, a_sleeping_cpu_is_told_of_a_waiting_thread)
{
	struct thread *may_go;

	if (cpu_count < 2)
		SKIP("needs two CPUs");
	end = false;
	stay_on(1);
	may_go = start_on(1, spin_until, &end);
	if (may_go) {
		EXPECT_EQ(thread_set_affinity(may_go, BIT(0) | BIT(1)), 0);
		SPIN_FOR(READ_ONCE(may_go->cpu) == 0);
	}
	store_release(&end, true);
	join(may_go);
	stay_anywhere();
}

TEST(sched, whereabouts_tell_running_from_sleeping)
{
	struct completion c;
	struct thread *t;
	unsigned long pc;

	completion_init(&c);
	t = start_on(last_cpu(), note_cpu_when_complete, &c);
	ASSERT_TRUE(t);
	EXPECT_EQ(sched_whereabouts(current, &pc), THREAD_ON_CPU);
	WAIT_FOR(READ_ONCE(t->state) == THREAD_BLOCKED &&
		 sched_whereabouts(t, &pc) == THREAD_OFF);
	complete(&c);
	thread_join(t);
}

/* Registers -------------------------------------------------------------------- */

static bool broken;

static void keep(void *seed)
{
	for (unsigned i = 0; i < 200 && !load_acquire(&end); i++)
		if (keep_regs(2000, (unsigned long)seed))
			store_release(&broken, true);
}

TEST(sched, preemption_and_migration_leave_all_registers_alone)
{
	struct thread *t[4];

	end = broken = false;
	stay_on(0);
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = start_on(0, keep,
				(void *)(0x0123456789abcdefUL * (i + 1)));
	for (unsigned i = 0; i < 40; i++) {
		unsigned to = i * 3 % cpu_count;

		if (t[i % ARRAY_SIZE(t)])
			EXPECT_EQ(thread_set_affinity(t[i % ARRAY_SIZE(t)],
						      BIT(to)),
				  0);
		thread_sleep(100 * NSEC_PER_USEC);
	}
	store_release(&end, true);
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++)
		join(t[i]);
	stay_anywhere();
	EXPECT_FALSE(broken);
}
