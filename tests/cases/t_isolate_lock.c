// SPDX-License-Identifier: MIT
/*
 * Hostile handlers and locks: they get none, and what others hold while they run
 * is given back.
 */
#include <kernel/console.h>
#include <kernel/heap.h>
#include <kernel/lock.h>
#include <kernel/smp.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <kernel/wait.h>
#include <tests/cases/isolate.h>

static struct spinlock bad_lock = SPINLOCK("isolate", RANK_LEAF);
static struct mutex bad_mutex = MUTEX(bad_mutex);
static unsigned got_it;

static void take_plainly(void)
{
	spin_lock(&bad_lock);
}

static void take_nested(void)
{
	spin_lock_nested(&bad_lock);
}

static void take_saving(void)
{
	unsigned long flags = spin_lock_irqsave(&bad_lock);

	(void)flags;
}

static void try_it(void)
{
	if (spin_trylock(&bad_lock))
		got_it--; /* not even that is an answer */
}

static void take_mutex(void)
{
	mutex_lock(&bad_mutex);
}

static void try_mutex(void)
{
	if (mutex_trylock(&bad_mutex))
		got_it++;
}

static void sleep_a_little(void)
{
	thread_sleep(1);
}

static void give_way(void)
{
	thread_yield();
}

static void allocate(void)
{
	if (kmalloc(1))
		got_it++;
}

static void do_nothing(void *arg __unused)
{
}

static void call_all(void)
{
	smp_call_all(do_nothing, NULL);
}

static void (*want)(void);

static int lock_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	want();
	got_it++;
	return 0;
}

static int locked_fault(struct kprobe *p __unused,
			struct pt_regs *regs __unused, int kind __unused)
{
	return 1; /* "repaired" */
}

TEST(isolate_lock, a_handler_that_wants_a_lock_is_abandoned_without_it)
{
	static void (*const ways[])(void) = {
		take_plainly, take_nested,    take_saving, try_it,   take_mutex,
		try_mutex,    sleep_a_little, give_way,	   allocate, call_all
	};

	for (unsigned i = 0; i < ARRAY_SIZE(ways); i++) {
		struct kprobe bad = { .pre_handler = lock_pre,
				      .fault_handler = locked_fault };

		want = ways[i];
		got_it = 0;
		isolate_check(&bad, KPROBE_LOCKED);
		EXPECT_EQ(got_it, 0);
		EXPECT_TRUE(bad.verdict_lock && *bad.verdict_lock);
		EXPECT_NE(bad.verdict_pc, 0);
		EXPECT_EQ(READ_ONCE(bad_lock.taken), 0);
		ASSERT_TRUE(mutex_trylock(&bad_mutex));
		mutex_unlock(&bad_mutex);
	}
}

static __noclone void under_lock(void)
{
	unsigned long flags = spin_lock_irqsave(&bad_lock);

	isolate_target(1, 2);
	spin_unlock_irqrestore(&bad_lock, flags);
}

/* With a budget of @ns, has @bad abandoned as overdue by whoever notices. */
static void check_overdue(struct kprobe *bad, void (*caller)(void))
{
	u64 budget = probe_budget();

	ASSERT_EQ(probe_budget_set(CASE_BUDGET_NS), 0);
	bad->symbol_name = "isolate_target";
	ASSERT_EQ(register_kprobe(bad), 0);
	caller();
	EXPECT_EQ(bad->verdict, KPROBE_OVERDUE);
	EXPECT_EQ(unregister_kprobe(bad), 0);
	ASSERT_EQ(probe_budget_set(budget), 0);
}

TEST(isolate_lock,
     an_endless_handler_under_a_lock_of_the_probed_code_is_abandoned)
{
	struct kprobe bad = { .pre_handler = loop_pre };

	if (!somebody_notices())
		SKIP("nobody would notice");
	check_overdue(&bad, under_lock);
	EXPECT_EQ(READ_ONCE(bad_lock.taken), 0);
}

static int print_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	for (;;)
		console_write("", 0);
	return 0;
}

static void call_it(void)
{
	isolate_target(1, 2);
}

static void write_nothing(void *arg __unused)
{
	console_write("", 0);
}

TEST(isolate_lock, an_endless_handler_that_prints_leaves_the_console_to_others)
{
	if (!somebody_notices())
		SKIP("nobody would notice");
	for (unsigned i = 0; i < 3; i++) {
		struct kprobe bad = { .pre_handler = print_pre };

		check_overdue(&bad, call_it);
		smp_call_all(write_nothing, NULL);
	}
}
