// SPDX-License-Identifier: MIT
/* Mutexes, completions, wait queues. */
#include <kernel/wait.h>
#include <tests/cases/threads.h>

#define MSEC NSEC_PER_MSEC

static struct mutex mutex = MUTEX(mutex);
static unsigned long counter;

static void count_up(void *unused __unused)
{
	for (unsigned i = 0; i < 100; i++) {
		unsigned long n;

		mutex_lock(&mutex);
		n = counter;
		if (i % 8 == 0)
			thread_yield(); /* the holder may sleep */
		counter = n + 1;
		mutex_unlock(&mutex);
	}
}

TEST(wait, a_mutex_excludes_and_everybody_gets_it)
{
	struct thread *t[6];

	counter = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++)
		t[i] = start_on(i % cpu_count, count_up, NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++)
		join(t[i]);
	EXPECT_EQ(counter, 100 * ARRAY_SIZE(t));
	EXPECT_TRUE(list_empty(&mutex.queue.waiters));
}

static void try_mutex(void *got)
{
	*(bool *)got = mutex_trylock(&mutex);
	if (*(bool *)got)
		mutex_unlock(&mutex);
}

TEST(wait, trying_a_mutex_of_another_is_refused)
{
	bool while_held = true, while_free = false;

	mutex_lock(&mutex);
	EXPECT_TRUE(mutex_is_held(&mutex));
	join(start_on(last_cpu(), try_mutex, &while_held));
	mutex_unlock(&mutex);
	EXPECT_FALSE(mutex_is_held(&mutex));
	join(start_on(last_cpu(), try_mutex, &while_free));
	EXPECT_FALSE(while_held);
	EXPECT_TRUE(while_free);
}

static void ask_whether_held(void *held)
{
	*(bool *)held = mutex_is_held(&mutex);
}

TEST(wait, a_mutex_is_held_by_its_owner_only)
{
	bool by_other = true;

	mutex_lock(&mutex);
	join(start_on(0, ask_whether_held, &by_other));
	mutex_unlock(&mutex);
	EXPECT_FALSE(by_other);
}

static bool is_blocked(struct thread *t)
{
	unsigned long pc;

	return READ_ONCE(t->state) == THREAD_BLOCKED &&
	       sched_whereabouts(t, &pc) == THREAD_OFF;
}

static unsigned long order[3], turns;

static void take_turn(void *number)
{
	mutex_lock(&mutex);
	order[turns++] = (unsigned long)number;
	mutex_unlock(&mutex);
}

/* All are on this CPU: none of them runs between unlocking and the attempt. */
TEST(wait, a_mutex_goes_to_those_who_wait_in_their_order)
{
	struct thread *t[3];
	bool again;

	stay_on(0);
	turns = 0;
	mutex_lock(&mutex);
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++) {
		t[i] = start_on(0, take_turn, (void *)(unsigned long)i);
		if (t[i])
			WAIT_FOR(is_blocked(t[i]));
	}
	preempt_disable();
	mutex_unlock(&mutex);
	again = mutex_trylock(&mutex);
	preempt_enable();
	EXPECT_FALSE(again);
	if (!again)
		mutex_lock(&mutex);
	EXPECT_EQ(turns, ARRAY_SIZE(order));
	mutex_unlock(&mutex);
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++) {
		join(t[i]);
		EXPECT_EQ(order[i], i);
	}
	stay_anywhere();
}

/* Completions ---------------------------------------------------------------- */

static void complete_it(void *c)
{
	complete(c);
}

TEST(wait, a_completion_counts)
{
	struct completion c;

	completion_init(&c);
	complete(&c);
	complete(&c);
	complete_wait(&c);
	EXPECT_EQ(complete_wait_timeout(&c, MSEC), 0);
	EXPECT_EQ(complete_wait_timeout(&c, MSEC / 10), -ETIMEDOUT);
	EXPECT_TRUE(list_empty(&c.queue.waiters));
}

TEST(wait, a_completion_wakes_its_waiter)
{
	struct completion c;
	struct thread *t;

	completion_init(&c);
	t = start_on(last_cpu(), complete_it, &c);
	complete_wait(&c);
	join(t);
	EXPECT_EQ(c.done, 0);
}

TEST(wait, a_timeout_is_not_early)
{
	struct completion c;
	u64 start = clock_ns();

	completion_init(&c);
	EXPECT_EQ(complete_wait_timeout(&c, 2 * MSEC), -ETIMEDOUT);
	EXPECT_GE(clock_ns() - start, 2 * MSEC);
}

TEST(wait, a_timeout_that_is_not_needed_leaves_no_timer)
{
	struct completion c;
	struct thread *t;

	completion_init(&c);
	t = start_on(last_cpu(), complete_it, &c);
	EXPECT_EQ(complete_wait_timeout(&c, HANG_NS), 0);
	join(t);
	WAIT_FOR(timers_active() == 0);
}

#define STACK_ROUNDS 300

static struct completion *on_stack;

static void complete_many(void *unused __unused)
{
	for (unsigned i = 0; i < STACK_ROUNDS; i++) {
		struct completion *c;

		while (!(c = __atomic_exchange_n(&on_stack, NULL,
						 __ATOMIC_ACQ_REL)))
			thread_yield();
		complete(c);
	}
}

static __noclone void wait_on_stack(void)
{
	struct completion c;

	completion_init(&c);
	store_release(&on_stack, &c);
	while (complete_wait_timeout(&c, 0) < 0)
		cpu_relax();
}

static __noclone void overwrite_stack(void)
{
	volatile u8 bytes[512];

	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = 0xa5;
}

/* complete() must be done with it before the waiter goes. */
TEST(wait, a_completion_may_live_on_the_waiters_stack)
{
	struct thread *t;

	if (cpu_count < 2)
		SKIP("needs two CPUs");
	stay_on(0);
	t = start_on(1, complete_many, NULL);
	for (unsigned i = 0; t && i < STACK_ROUNDS; i++) {
		wait_on_stack();
		overwrite_stack();
	}
	join(t);
	stay_anywhere();
	EXPECT_TRUE(!on_stack);
}

/* Queues --------------------------------------------------------------------- */

static struct wait_queue queue = WAIT_QUEUE(queue);
static unsigned tickets, taken;

static bool take_ticket(void)
{
	unsigned n = READ_ONCE(tickets);

	return n &&
	       __atomic_compare_exchange_n(&tickets, &n, n - 1, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void wait_for_ticket(void *unused __unused)
{
	wait_event(&queue, take_ticket());
	__atomic_fetch_add(&taken, 1, __ATOMIC_RELEASE);
}

TEST(wait, wake_up_wakes_all)
{
	struct thread *t[3];

	tickets = taken = 0;
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++) {
		t[i] = start_on(0, wait_for_ticket, NULL);
		if (t[i])
			WAIT_FOR(is_blocked(t[i]));
	}
	__atomic_store_n(&tickets, ARRAY_SIZE(t), __ATOMIC_RELEASE);
	wake_up(&queue);
	WAIT_FOR(load_acquire(&taken) == ARRAY_SIZE(t));
	for (unsigned i = 0; i < ARRAY_SIZE(t); i++)
		join(t[i]);
}

static bool flag;

static void raise_flag(void *unused __unused)
{
	store_release(&flag, true);
	wake_up(&queue);
}

TEST(wait, an_event_beats_its_timeout)
{
	struct thread *t;

	flag = false;
	EXPECT_FALSE(wait_event_timeout(&queue, load_acquire(&flag), MSEC));
	t = start_on(last_cpu(), raise_flag, NULL);
	EXPECT_TRUE(wait_event_timeout(&queue, load_acquire(&flag), HANG_NS));
	join(t);
	EXPECT_TRUE(wait_event_timeout(&queue, load_acquire(&flag), 0));
	EXPECT_TRUE(list_empty(&queue.waiters));
}

/* 10,000 times there and back -------------------------------------------------------- */

#define PASSES 5000

static struct wait_queue ball_queue = WAIT_QUEUE(ball_queue);
static unsigned ball;

static void play(void *side)
{
	unsigned mine = (unsigned)(unsigned long)side;

	while (READ_ONCE(ball) < 2 * PASSES) {
		wait_event(&ball_queue, load_acquire(&ball) % 2 == mine ||
						READ_ONCE(ball) >= 2 * PASSES);
		if (READ_ONCE(ball) < 2 * PASSES)
			__atomic_fetch_add(&ball, 1, __ATOMIC_RELEASE);
		wake_up(&ball_queue);
	}
}

TEST(wait, no_wake_up_is_lost_between_cpus)
{
	struct thread *a, *b;

	ball = 0;
	a = start_on(0, play, (void *)0);
	b = start_on(last_cpu(), play, (void *)1);
	join(a);
	join(b);
	EXPECT_EQ(ball, 2 * PASSES);
}
