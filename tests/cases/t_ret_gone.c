// SPDX-License-Identifier: MIT
/*
 * Calls that do not return as they were called: longjmp, threads that end or
 * move, other stacks, changed return addresses, probes that are gone meanwhile.
 */
#include <arch/setjmp.h>
#include <kernel/heap.h>
#include <kernel/smp.h>
#include <kernel/wait.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/kretprobe.h>
#include <probe/owner.h>
#include <probe/ret.h>
#include <probe/session.h>
#include <tests/cases/ret.h>
#include <tests/cases/ret_area.h>
#include <tests/cases/threads.h>

static unsigned long returns;

static int count_return(struct kretprobe_instance *ri __unused,
			struct pt_regs *regs __unused)
{
	__atomic_fetch_add(&returns, 1, __ATOMIC_RELAXED);
	return 0;
}

#define COUNTED(f)                                           \
	{                                                    \
		.kp.symbol_name = f, .handler = count_return \
	}

static struct kretprobe_counts counts_of(const struct kretprobe *rp)
{
	struct kretprobe_counts c;

	kretprobe_counts(rp, &c);
	return c;
}

static void expect_counts(const struct kretprobe *rp, u64 entered, u64 returned,
			  u64 skipped, u64 outstanding)
{
	struct kretprobe_counts c = counts_of(rp);

	EXPECT_EQ(c.entered, entered);
	EXPECT_EQ(c.returned, returned);
	EXPECT_EQ(c.skipped, skipped);
	EXPECT_EQ(c.outstanding, outstanding);
}

/* setjmp alone ------------------------------------------------------------------- */

static struct jmp_buf env;

static __noclone long gone_jump(long depth, int value)
{
	long below;

	if (depth < 0)
		return 0;
	if (depth == 0)
		longjmp(&env, value);
	below = gone_jump(depth - 1, value);
	barrier();
	return below + 1;
}

static __noclone int gone_catch(long depth, int value)
{
	int got = setjmp(&env);

	if (!got)
		gone_jump(depth, value);
	return got;
}

TEST(setjmp, longjmp_returns_its_value_from_any_depth)
{
	for (long depth = 0; depth < 10; depth++)
		EXPECT_EQ(gone_catch(depth, 7), 7);
	EXPECT_EQ(gone_catch(2, 0), 1);
	EXPECT_EQ(gone_catch(2, -5), -5);
}

static long catch (void)
{
	return gone_catch(3, 1);
}

TEST(setjmp, the_registers_are_those_of_the_call_of_setjmp)
{
	EXPECT_EQ(ret_keeps(catch), 0);
}

/* Skipped frames ------------------------------------------------------------------- */

TEST_BOTH(frames_that_longjmp_leaves_are_skipped_when_an_outer_one_returns)
{
	struct kretprobe inner = COUNTED("gone_jump");
	struct kretprobe outer = COUNTED("gone_catch");

	returns = 0;
	ASSERT_EQ(ret_register(&inner), 0);
	ASSERT_EQ(ret_register(&outer), 0);
	for (unsigned i = 0; i < 10; i++)
		EXPECT_EQ(gone_catch(5, 3), 3);
	expect_counts(&inner, 60, 0, 60, 0);
	expect_counts(&outer, 10, 10, 0, 0);
	EXPECT_EQ(returns, 10);
	EXPECT_EQ(unregister_kretprobe(&inner), 0);
	EXPECT_EQ(unregister_kretprobe(&outer), 0);
}

/* Calls again at the very place of the frame that was left. */
static __noclone void gone_catch_often(unsigned times, long depth)
{
	volatile unsigned left = times;

	setjmp(&env);
	if (left-- > 0)
		gone_jump(depth, 1);
}

TEST_BOTH(frames_that_longjmp_leaves_are_skipped_when_their_place_is_taken)
{
	struct kretprobe inner = COUNTED("gone_jump");
	struct kretprobe_counts c;

	ASSERT_EQ(ret_register(&inner), 0);
	gone_catch_often(100, 0);
	c = counts_of(&inner);
	EXPECT_EQ(c.entered, 100);
	EXPECT_EQ(c.skipped, 99);
	EXPECT_EQ(c.outstanding, 1);
	gone_catch_often(10, 4);
	c = counts_of(&inner);
	EXPECT_EQ(c.entered, 150);
	EXPECT_EQ(c.returned, 0);
	EXPECT_EQ(c.outstanding, 5);
	EXPECT_EQ(unregister_kretprobe(&inner), 0);
	EXPECT_EQ(ret_orphans(), 1);
	/* ... and of a probe that is gone, when another's is taken. */
	inner = (struct kretprobe)COUNTED("gone_catch");
	ASSERT_EQ(ret_register(&inner), 0);
	gone_catch(0, 1);
	EXPECT_EQ(unregister_kretprobe(&inner), 0);
	EXPECT_EQ(ret_orphans(), 0);
}

static __noclone void gone_exit(bool end)
{
	if (end)
		thread_exit();
	barrier();
}

static void end_inside(void *arg __unused)
{
	gone_exit(false);
	gone_exit(true);
}

TEST(ret, frames_are_skipped_when_their_thread_ends)
{
	struct kretprobe rp = COUNTED("gone_exit");
	struct kretprobe never = COUNTED("thread_exit");

	returns = 0;
	ASSERT_EQ(ret_register(&rp), 0);
	ASSERT_EQ(ret_register(&never), 0);
	for (unsigned i = 0; i < 8; i++)
		join(start_on(i % cpu_count, end_inside, NULL));
	expect_counts(&rp, 16, 8, 8, 0);
	expect_counts(&never, 8, 0, 8, 0);
	EXPECT_EQ(returns, 8);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	EXPECT_EQ(unregister_kretprobe(&never), 0);
}

/* Other CPUs, other stacks, other contexts ------------------------------------------ */

static __noclone unsigned gone_travel(void)
{
	unsigned seen = 0;

	for (unsigned i = 0; i < cpu_count; i++) {
		stay_on(i);
		seen += smp_processor_id() == i;
	}
	return seen;
}

TEST_BOTH(a_function_may_return_on_another_cpu)
{
	struct kretprobe rp = COUNTED("gone_travel");

	returns = 0;
	ASSERT_EQ(ret_register(&rp), 0);
	for (unsigned i = 0; i < 5; i++)
		EXPECT_EQ(gone_travel(), cpu_count);
	stay_anywhere();
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	expect_counts(&rp, 5, 5, 0, 0);
	EXPECT_EQ(returns, 5);
}

static struct jmp_buf on_main, on_other;
static unsigned long order[4], nr_order;

static int note_order(struct kretprobe_instance *ri,
		      struct pt_regs *regs __unused)
{
	if (nr_order < ARRAY_SIZE(order))
		order[nr_order++] = (unsigned long)get_kretprobe(ri);
	return 0;
}

/* On the other stack: leaves before it returns, is continued later. */
static __noclone void gone_other(void)
{
	if (!setjmp(&on_other))
		longjmp(&on_main, 1);
}

static long other_stack(void *arg __unused)
{
	gone_other();
	longjmp(&on_main, 2);
}

static __noclone int gone_start(void *top)
{
	int got = setjmp(&on_main);

	return got ? got : (int)ret_on_stack(top, other_stack, NULL);
}

static __noclone int gone_go_on(void)
{
	int got = setjmp(&on_main);

	if (!got)
		longjmp(&on_other, 1);
	return got;
}

TEST_BOTH(functions_on_two_stacks_return_in_any_order)
{
	static struct kretprobe start = { .kp.symbol_name = "gone_start",
					  .handler = note_order };
	static struct kretprobe other = { .kp.symbol_name = "gone_other",
					  .handler = note_order };
	static struct kretprobe go_on = { .kp.symbol_name = "gone_go_on",
					  .handler = note_order };
	struct kretprobe *all[] = { &start, &other, &go_on };
	void *stack = kmalloc(8192);

	ASSERT_TRUE(stack);
	ASSERT_EQ(ret_register_all(all, 3), 0);
	for (unsigned i = 0; i < 3; i++) {
		nr_order = 0;
		EXPECT_EQ(gone_start((char *)stack + 8192), 1);
		EXPECT_EQ(nr_order, 1);
		EXPECT_EQ(order[0], (unsigned long)&start);
		EXPECT_EQ(gone_go_on(), 2);
		EXPECT_EQ(nr_order, 3);
		EXPECT_EQ(order[1], (unsigned long)&other);
		EXPECT_EQ(order[2], (unsigned long)&go_on);
	}
	for (unsigned i = 0; i < 3; i++)
		expect_counts(all[i], 3, 3, 0, 0);
	EXPECT_EQ(unregister_kretprobes(all, 3), 0);
	kfree(stack);
}

static __noclone void gone_in_nmi(unsigned *calls)
{
	++*calls;
}

static void call_in_nmi(void *arg, struct pt_regs *regs __unused)
{
	gone_in_nmi(arg);
	gone_in_nmi(arg);
}

static bool stop_calling;

static __noclone long gone_busy(long x)
{
	return x + 1;
}

static void keep_busy(void *arg)
{
	unsigned long *wrong = arg;

	while (!READ_ONCE(stop_calling))
		*wrong += gone_busy(1) != 2;
}

TEST_BOTH(calls_in_nmis_return_between_those_of_what_they_interrupt)
{
	struct kretprobe nmi = COUNTED("gone_in_nmi");
	struct kretprobe busy = { .kp.symbol_name = "gone_busy",
				  .handler = note_order };
	unsigned long wrong = 0;
	unsigned calls = 0, n = 0;
	struct kretprobe_counts c;
	struct thread *t;

	if (cpu_count < 2)
		SKIP("needs another CPU to send an NMI to");
	returns = 0;
	stop_calling = false;
	ASSERT_EQ(ret_register(&nmi), 0);
	ASSERT_EQ(ret_register(&busy), 0);
	stay_on(0);
	t = start_on(1, keep_busy, &wrong);
	while (n < 200 && smp_nmi_call(1, call_in_nmi, &calls) == 0)
		n++;
	WRITE_ONCE(stop_calling, true);
	join(t);
	stay_anywhere();
	EXPECT_EQ(n, 200);
	EXPECT_EQ(calls, 400);
	EXPECT_EQ(wrong, 0);
	c = counts_of(&nmi);
	EXPECT_EQ(c.entered + nmi.kp.nmissed + nmi.nmissed, 400);
	EXPECT_GT(c.entered, 0);
	EXPECT_EQ(c.returned, c.entered);
	EXPECT_EQ(returns, c.returned);
	c = counts_of(&busy);
	EXPECT_EQ(c.returned, c.entered);
	EXPECT_EQ(unregister_kretprobe(&nmi), 0);
	EXPECT_EQ(unregister_kretprobe(&busy), 0);
}

static void yield_often(void *arg __unused)
{
	for (unsigned i = 0; i < 50; i++) {
		thread_yield();
		if (i % 16 == 0)
			thread_sleep(100 * NSEC_PER_USEC);
	}
}

TEST(ret, switching_threads_may_be_probed)
{
	static struct kretprobe rps[] = {
		COUNTED("schedule"),	   COUNTED("arch_context_switch"),
		COUNTED("thread_yield"),   COUNTED("thread_sleep"),
		COUNTED("sched_irq_exit"), COUNTED("thread_entry"),
		COUNTED("thread_gone"),	   COUNTED("timers_set_slice"),
	};
	struct kretprobe *all[ARRAY_SIZE(rps)];
	struct thread *threads[2 * MAX_CPUS];
	struct kretprobe_counts c;

	for (unsigned i = 0; i < ARRAY_SIZE(rps); i++)
		all[i] = &rps[i];
	ASSERT_EQ(ret_register_all(all, ARRAY_SIZE(rps)), 0);
	for (unsigned i = 0; i < 2 * cpu_count; i++)
		threads[i] = thread_create("yield", yield_often, NULL);
	for (unsigned i = 0; i < 2 * cpu_count; i++)
		join(threads[i]);
	EXPECT_EQ(unregister_kretprobes(all, ARRAY_SIZE(rps)), 0);
	c = counts_of(&rps[2]);
	EXPECT_EQ(c.entered, 100 * cpu_count);
	EXPECT_EQ(c.returned, c.entered);
	c = counts_of(&rps[5]);
	EXPECT_EQ(c.entered, 2 * cpu_count);
	EXPECT_EQ(c.skipped, c.entered);
	c = counts_of(&rps[1]);
	EXPECT_GT(c.returned, 20);
	ret_stir();
}

/* Changed return addresses ----------------------------------------------------------- */

TEST(ret, a_function_may_add_to_its_return_address)
{
	struct kretprobe rp = COUNTED("ret_changes");

	returns = 0;
	EXPECT_EQ(ret_change(), 10);
	ASSERT_EQ(ret_register(&rp), 0);
	for (unsigned i = 0; i < 5; i++)
		EXPECT_EQ(ret_change(), 10);
	EXPECT_EQ(returns, 5);
	expect_counts(&rp, 5, 5, 0, 0);
	EXPECT_EQ(counts_of(&rp).changed, 5);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	EXPECT_EQ(ret_change(), 10);
}

/* Asked for by name only: see tests/qemu/test_runner.py. */
TEST(bad, returns_without_a_call)
{
	struct kretprobe rp = COUNTED("ret_address");

	ASSERT_EQ(ret_register(&rp), 0);
	ret_address()();
}

/* Probes that leave first ------------------------------------------------------------- */

#define SLEEPERS 25

static bool wake;
static unsigned asleep;

static __noclone long gone_sleep(long x)
{
	__atomic_fetch_add(&asleep, 1, __ATOMIC_RELAXED);
	while (!load_acquire(&wake))
		thread_sleep(NSEC_PER_MSEC);
	return x;
}

static unsigned long wrong_sleeps;

static void sleep_in(void *arg)
{
	long x = (long)arg;

	if (gone_sleep(x) != x)
		__atomic_fetch_add(&wrong_sleeps, 1, __ATOMIC_RELAXED);
}

static void start_sleepers(struct thread **threads, unsigned n)
{
	returns = wrong_sleeps = 0;
	WRITE_ONCE(asleep, 0);
	store_release(&wake, false);
	for (unsigned i = 0; i < n; i++)
		threads[i] = start_on(i % cpu_count, sleep_in,
				      (void *)(unsigned long)i);
	WAIT_FOR(READ_ONCE(asleep) == n);
}

static void wake_sleepers(struct thread **threads, unsigned n)
{
	store_release(&wake, true);
	for (unsigned i = 0; i < n; i++)
		join(threads[i]);
	EXPECT_EQ(wrong_sleeps, 0);
}

TEST_BOTH(maxactive_bounds_the_calls_under_way_and_the_rest_is_counted)
{
	static const int bounds[] = { 0, 1, 4, 64 };
	struct thread *threads[SLEEPERS];

	for (unsigned i = 0; i < ARRAY_SIZE(bounds); i++) {
		struct kretprobe rp = COUNTED("gone_sleep");
		unsigned n = SLEEPERS;

		rp.maxactive = bounds[i];
		if (bounds[i] > 0 && bounds[i] < SLEEPERS)
			n = (unsigned)bounds[i];
		ASSERT_EQ(ret_register(&rp), 0);
		start_sleepers(threads, SLEEPERS);
		expect_counts(&rp, n, 0, 0, n);
		EXPECT_EQ(rp.nmissed, SLEEPERS - n);
		wake_sleepers(threads, SLEEPERS);
		EXPECT_EQ(returns, n);
		/* All are free again. */
		EXPECT_EQ(gone_sleep(1), 1);
		expect_counts(&rp, n + 1, n + 1, 0, 0);
		EXPECT_EQ(unregister_kretprobe(&rp), 0);
	}
}

TEST_BOTH(calls_under_way_return_after_their_probe_has_left)
{
	struct kretprobe rp = COUNTED("gone_sleep");
	struct thread *threads[3];

	ASSERT_EQ(ret_register(&rp), 0);
	start_sleepers(threads, 3);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	expect_counts(&rp, 3, 0, 0, 3);
	EXPECT_EQ(ret_orphans(), 1);
	/* Nor does a trap meanwhile find it. */
	EXPECT_NE(threads[0]->ret.top->owner->kp, &rp.kp);
	memset(&rp, 0xdd, sizeof(rp));
	wake_sleepers(threads, 3);
	EXPECT_EQ(returns, 0);
	EXPECT_EQ(ret_orphans(), 0);
}

TEST_BOTH(a_probe_that_is_used_again_does_not_see_its_former_calls)
{
	struct kretprobe rp = COUNTED("gone_sleep");
	struct thread *threads[3];

	ASSERT_EQ(ret_register(&rp), 0);
	start_sleepers(threads, 3);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	rp = (struct kretprobe)COUNTED("gone_sleep");
	ASSERT_EQ(ret_register(&rp), 0);
	wake_sleepers(threads, 3);
	EXPECT_EQ(returns, 0);
	expect_counts(&rp, 0, 0, 0, 0);
	EXPECT_EQ(gone_sleep(1), 1);
	EXPECT_EQ(returns, 1);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	EXPECT_EQ(ret_orphans(), 0);
}

TEST_BOTH(registering_twice_fails_and_changes_nothing)
{
	struct kretprobe rp = COUNTED("gone_sleep");
	struct thread *threads[3];

	ASSERT_EQ(ret_register(&rp), 0);
	start_sleepers(threads, 3);
	EXPECT_EQ(ret_register(&rp), -EBUSY);
	wake_sleepers(threads, 3);
	EXPECT_EQ(returns, 3);
	expect_counts(&rp, 3, 3, 0, 0);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	EXPECT_EQ(unregister_kretprobe(&rp), -EINVAL);
}

TEST_BOTH(a_session_closes_while_calls_are_under_way)
{
	struct kretprobe rp = COUNTED("gone_sleep");
	struct kretprobe other = COUNTED("gone_sleep");
	struct thread *threads[3];
	struct probe_session *s;

	ASSERT_EQ(session_open("ret", NULL, &s), 0);
	rp.kp.session = s;
	ASSERT_EQ(ret_register(&rp), 0);
	ASSERT_EQ(ret_register(&other), 0);
	start_sleepers(threads, 3);
	EXPECT_EQ(session_close(s), 0);
	memset(&rp, 0xdd, sizeof(rp));
	wake_sleepers(threads, 3);
	EXPECT_EQ(returns, 3);
	expect_counts(&other, 3, 3, 0, 0);
	EXPECT_EQ(unregister_kretprobe(&other), 0);
	EXPECT_EQ(ret_orphans(), 0);
}

/* Depth ------------------------------------------------------------------------------ */

static __noclone long gone_deep(long n, bool yield)
{
	long below;

	if (yield)
		thread_yield();
	below = n == 0 ? -1 : gone_deep(n - 1, yield);
	barrier();
	return below + 1;
}

#define DEPTH 90

static void go_deep(void *arg)
{
	*(long *)arg = gone_deep(DEPTH, true);
}

TEST_BOTH(shadow_stacks_grow_where_the_thread_may_be_preempted)
{
	struct kretprobe rp = COUNTED("gone_deep");
	long depth = 0;

	ASSERT_EQ(ret_register(&rp), 0);
	join(start_on(0, go_deep, &depth));
	EXPECT_EQ(depth, DEPTH);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	expect_counts(&rp, DEPTH + 1, DEPTH + 1, 0, 0);
	EXPECT_EQ(rp.nmissed, 0);
}

static void go_deep_at_once(void *arg)
{
	unsigned long flags = arch_irq_save();

	*(long *)arg = gone_deep(DEPTH, false);
	arch_irq_restore(flags);
}

TEST_BOTH(calls_that_find_no_room_are_counted_and_return)
{
	struct kretprobe rp = COUNTED("gone_deep");
	struct kretprobe_counts c;
	long depth = 0;

	returns = 0;
	ASSERT_EQ(ret_register(&rp), 0);
	join(start_on(0, go_deep_at_once, &depth));
	EXPECT_EQ(depth, DEPTH);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	c = counts_of(&rp);
	EXPECT_GT(rp.nmissed, 0);
	EXPECT_GT(c.entered, 40);
	EXPECT_EQ(c.entered + rp.nmissed, DEPTH + 1);
	EXPECT_EQ(c.returned, c.entered);
	EXPECT_EQ(returns, c.entered);
}
