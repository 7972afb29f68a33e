// SPDX-License-Identifier: MIT
/*
 * Hostile handlers: none of them hurts the kernel, the probed code, or another
 * probe on the same address.
 */
#include <arch/cpu.h>
#include <kernel/console.h>
#include <kernel/heap.h>
#include <kernel/lock.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/stop.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <kernel/vm.h>
#include <kernel/wait.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/hit.h>
#include <probe/kprobe.h>
#include <probe/opt.h>
#include <probe/site.h>
#include <probe/watch.h>
#include <tests/cases/budget.h>
#include <tests/test.h>

static __noclone long isolate_target(long a, long b)
{
	barrier();
	return a * 10 + b;
}

static int good_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
}

static void good_post(struct kprobe *p __unused, struct pt_regs *regs __unused,
		      unsigned long flags __unused)
{
}

/* Made by asking, so that the compiler does not know what it does. */
static volatile unsigned long bad_address;
static void (*volatile bad_function)(void);

static int null_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return *(volatile int *)bad_address;
}

static int jump_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	bad_function();
	return 0;
}

static int loop_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	for (;;)
		cpu_relax();
	return 0;
}

static void null_post(struct kprobe *p __unused, struct pt_regs *regs __unused,
		      unsigned long flags __unused)
{
	*(volatile int *)bad_address = 1;
}

/* Calls itself through memory until the guard page stops it. */
static int (*volatile deep_fn)(unsigned n);

static __noclone int deep(unsigned n)
{
	volatile char room[256];

	room[0] = (char)n;
	return deep_fn(n + 1) + room[0];
}

static int deep_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	deep_fn = deep;
	return deep(0);
}

/*
 * @bad between two good probes on one address: all calls return what they
 * should, the good ones count every call, the bad one is disabled by the first.
 */
static void check(struct kprobe *bad, enum kprobe_verdict verdict)
{
	struct kprobe before = { .symbol_name = "isolate_target",
				 .pre_handler = good_pre,
				 .post_handler = good_post };
	struct kprobe after = { .symbol_name = "isolate_target",
				.pre_handler = good_pre };
	struct kprobe *all[] = { &before, bad, &after };

	bad->symbol_name = "isolate_target";
	ASSERT_EQ(register_kprobes(all, 3), 0);
	for (long i = 0; i < 5; i++)
		EXPECT_EQ(isolate_target(i, 7), i * 10 + 7);
	EXPECT_EQ(before.nhit, 5);
	EXPECT_EQ(after.nhit, 5);
	EXPECT_EQ(before.nmissed + after.nmissed, 0);
	EXPECT_EQ(bad->verdict, verdict);
	EXPECT_TRUE(bad->flags & KPROBE_FLAG_DISABLED);
	EXPECT_EQ(before.verdict, KPROBE_WELL);
	EXPECT_EQ(after.verdict, KPROBE_WELL);
	EXPECT_EQ(unregister_kprobes(all, 3), 0);
	EXPECT_EQ(isolate_target(1, 2), 12);
}

TEST(isolate, a_handler_that_follows_null_is_abandoned_alone)
{
	struct kprobe bad = { .pre_handler = null_pre };

	check(&bad, KPROBE_FAULTED);
	EXPECT_NE(bad.verdict_pc, 0);
	EXPECT_EQ(bad.nhit, 1);
}

TEST(isolate, an_abandoned_probe_can_be_enabled_again)
{
	struct kprobe bad = { .symbol_name = "isolate_target",
			      .pre_handler = null_pre };

	ASSERT_EQ(register_kprobe(&bad), 0);
	isolate_target(1, 2);
	EXPECT_EQ(bad.verdict, KPROBE_FAULTED);
	isolate_target(1, 2);
	EXPECT_EQ(bad.nhit, 1);
	EXPECT_EQ(enable_kprobe(&bad), 0);
	EXPECT_EQ(bad.verdict, KPROBE_WELL);
	isolate_target(1, 2);
	EXPECT_EQ(bad.nhit, 2);
	EXPECT_EQ(bad.verdict, KPROBE_FAULTED);
	EXPECT_EQ(unregister_kprobe(&bad), 0);
}

TEST(isolate, a_handler_that_calls_null_is_abandoned_alone)
{
	struct kprobe bad = { .pre_handler = jump_pre };

	check(&bad, KPROBE_FAULTED);
}

TEST(isolate, a_handler_that_runs_into_a_breakpoint_is_abandoned_alone)
{
	struct kprobe bad = { .pre_handler = jump_pre };
	void *code = vm_alloc_near(1, VM_READ | VM_EXEC);

	ASSERT_TRUE(code);
	/* Nobody's breakpoint: as in a free slot. */
	text_write_unused((unsigned long)code, arch_break_insn,
			  ARCH_BREAK_SIZE);
	bad_function = (void (*)(void))code;
	check(&bad, KPROBE_FAULTED);
	bad_function = NULL;
	vm_free(code);
}

TEST(isolate, a_post_handler_that_follows_null_is_abandoned_alone)
{
	struct kprobe bad = { .pre_handler = good_pre,
			      .post_handler = null_post };

	check(&bad, KPROBE_FAULTED);
}

TEST(isolate, a_handler_that_overruns_its_stack_is_abandoned_alone)
{
	struct kprobe bad = { .pre_handler = deep_pre };

	check(&bad, KPROBE_OVERFLOWED);
}

TEST(isolate, a_handler_that_never_returns_is_abandoned_alone)
{
	struct kprobe bad = { .pre_handler = loop_pre };
	u64 budget = probe_budget();

	if (!somebody_notices()) {
		EXPECT_EQ(probe_budget_set(10 * NSEC_PER_MSEC), -ENODEV);
		EXPECT_EQ(cpu_count, 1);
		SKIP("nobody would notice");
	}
	ASSERT_EQ(probe_budget_set(20 * NSEC_PER_MSEC), 0);
	check(&bad, KPROBE_OVERDUE);
	ASSERT_EQ(probe_budget_set(budget), 0);
}

static bool looping;
static unsigned abandoned;

static int mark_and_loop(struct kprobe *p, struct pt_regs *regs)
{
	WRITE_ONCE(looping, true);
	return loop_pre(p, regs);
}

static void call_target(void *arg __unused)
{
	EXPECT_EQ(isolate_target(4, 2), 42);
}

/* In an NMI, as if those of two CPUs had come at once. */
static void find_overdue_twice(void *arg __unused, struct pt_regs *regs)
{
	u64 turn = probe_hit_turn(this_cpu());

	probe_hit_nmi_exit(false); /* the watch is asked before */
	abandoned += probe_hit_overdue(regs, turn);
	abandoned += probe_hit_overdue(regs, turn);
	probe_hit_nmi_enter();
}

/* On a CPU of its own: the one that loops runs nothing else. */
static void abandon(void *arg __unused)
{
	while (!READ_ONCE(looping))
		thread_yield();
	EXPECT_EQ(smp_nmi_call(1, find_overdue_twice, NULL), 0);
}

static void abandon_twice(unsigned flags)
{
	struct kprobe bad = { .symbol_name = "isolate_target",
			      .pre_handler = mark_and_loop,
			      .flags = flags };
	struct thread *judge, *victim;

	looping = false;
	abandoned = 0;
	ASSERT_EQ(register_kprobe(&bad), 0);
	EXPECT_EQ(opt_sync(), 0);
	judge = thread_create_on("judge", BIT(0), abandon, NULL);
	victim = thread_create_on("victim", BIT(1), call_target, NULL);
	ASSERT_TRUE(judge && victim);
	thread_join(judge);
	thread_join(victim);
	EXPECT_EQ(abandoned, 1);
	EXPECT_EQ(bad.verdict, KPROBE_OVERDUE);
	EXPECT_EQ(unregister_kprobe(&bad), 0);
}

TEST(isolate, a_handler_that_several_cpus_find_overdue_is_abandoned_once)
{
	if (cpu_count < 2)
		SKIP("needs a second CPU that notices");
	abandon_twice(KPROBE_FLAG_NO_JUMP);
	abandon_twice(0);
}

static unsigned fixed_faults;

static int skip_fault(struct kprobe *p __unused, struct pt_regs *regs __unused,
		      int trap_kind __unused)
{
	fixed_faults++;
	bad_address = (unsigned long)&fixed_faults; /* and it is tried again */
	return 0;
}

static int fault_fault(struct kprobe *p __unused, struct pt_regs *regs __unused,
		       int trap_kind __unused)
{
	fixed_faults++;
	return *(volatile int *)bad_address;
}

TEST(isolate, only_the_faulting_probes_own_fault_handler_is_asked)
{
	struct kprobe innocent = { .symbol_name = "isolate_target",
				   .pre_handler = good_pre,
				   .fault_handler = fault_fault };
	struct kprobe bad = { .pre_handler = null_pre,
			      .fault_handler = skip_fault };

	fixed_faults = 0;
	ASSERT_EQ(register_kprobe(&innocent), 0);
	check(&bad, KPROBE_FAULTED);
	EXPECT_EQ(fixed_faults, 1);
	EXPECT_EQ(innocent.nhit, 6); /* once more than the bad one was there */
	EXPECT_EQ(innocent.verdict, KPROBE_WELL);
	EXPECT_EQ(unregister_kprobe(&innocent), 0);
	bad_address = 0;
}

TEST(isolate, a_fault_handler_that_faults_is_not_asked_again)
{
	struct kprobe bad = { .pre_handler = null_pre,
			      .fault_handler = fault_fault };

	fixed_faults = 0;
	check(&bad, KPROBE_FAULTED);
	EXPECT_EQ(fixed_faults, 1);
}

static volatile bool repaired;
static unsigned long landing;

static int repair(struct kprobe *p __unused, struct pt_regs *regs,
		  int trap_kind __unused)
{
	fixed_faults++;
	instruction_pointer_set(regs, landing);
	return 1;
}

static __noclone void land(void)
{
	repaired = true;
	for (;;)
		cpu_relax(); /* there is no way back from here */
}

TEST(isolate, a_fault_handler_may_send_its_handler_elsewhere)
{
	struct kprobe bad = { .pre_handler = null_pre,
			      .fault_handler = repair };
	struct symbol sym;
	u64 budget = probe_budget();

	if (!somebody_notices())
		SKIP("nobody would notice");
	fixed_faults = 0;
	repaired = false;
	ASSERT_EQ(symtab_lookup((unsigned long)land, &sym), 0);
	landing = symbol_entry(&sym);
	ASSERT_EQ(probe_budget_set(20 * NSEC_PER_MSEC), 0);
	check(&bad, KPROBE_OVERDUE);
	ASSERT_EQ(probe_budget_set(budget), 0);
	EXPECT_EQ(fixed_faults, 1);
	EXPECT_TRUE(repaired);
}

/* A handler whose own calls are probed faults inside of one of them. */
static __noclone int inner(void)
{
	return *(volatile int *)bad_address;
}

static int outer_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return inner();
}

TEST(isolate, a_fault_in_a_probed_function_of_a_handler_ends_the_handler)
{
	struct kprobe nested = { .symbol_name = "inner",
				 .pre_handler = good_pre,
				 .post_handler = good_post };
	struct kprobe bad = { .pre_handler = outer_pre };

	ASSERT_EQ(register_kprobe(&nested), 0);
	check(&bad, KPROBE_FAULTED);
	EXPECT_EQ(nested.nmissed, 1);
	EXPECT_EQ(nested.nhit, 0);
	EXPECT_EQ(unregister_kprobe(&nested), 0);
}

/* Locks ------------------------------------------------------------------------ */

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

TEST(isolate, a_handler_that_wants_a_lock_is_abandoned_without_it)
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
		check(&bad, KPROBE_LOCKED);
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

	ASSERT_EQ(probe_budget_set(20 * NSEC_PER_MSEC), 0);
	bad->symbol_name = "isolate_target";
	ASSERT_EQ(register_kprobe(bad), 0);
	caller();
	EXPECT_EQ(bad->verdict, KPROBE_OVERDUE);
	EXPECT_EQ(unregister_kprobe(bad), 0);
	ASSERT_EQ(probe_budget_set(budget), 0);
}

TEST(isolate, an_endless_handler_under_a_lock_of_the_probed_code_is_abandoned)
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

TEST(isolate, an_endless_handler_that_prints_leaves_the_console_to_others)
{
	if (!somebody_notices())
		SKIP("nobody would notice");
	for (unsigned i = 0; i < 3; i++) {
		struct kprobe bad = { .pre_handler = print_pre };

		check_overdue(&bad, call_it);
		smp_call_all(write_nothing, NULL);
	}
}

static void hammer(void *arg)
{
	unsigned long *wrong = arg;

	for (long i = 0; i < 500; i++) {
		if (isolate_target(i, 1) != i * 10 + 1)
			__atomic_fetch_add(wrong, 1, __ATOMIC_RELAXED);
	}
}

TEST(isolate, faulting_handlers_on_all_cpus_leave_exact_counts)
{
	struct kprobe good = { .symbol_name = "isolate_target",
			       .pre_handler = good_pre };
	struct kprobe bad[3] = {
		{ .symbol_name = "isolate_target", .pre_handler = null_pre },
		{ .symbol_name = "isolate_target", .pre_handler = jump_pre },
		{ .symbol_name = "isolate_target", .post_handler = null_post }
	};
	struct kprobe *all[] = { &bad[0], &bad[1], &good, &bad[2] };
	struct thread *threads[MAX_CPUS];
	unsigned long wrong = 0;

	ASSERT_EQ(register_kprobes(all, 4), 0);
	for (unsigned i = 0; i < cpu_count; i++) {
		threads[i] = thread_create_on("hammer", BIT(i), hammer, &wrong);
		ASSERT_TRUE(threads[i]);
	}
	for (unsigned i = 0; i < cpu_count; i++)
		thread_join(threads[i]);
	EXPECT_EQ(wrong, 0);
	EXPECT_EQ(good.nhit + good.nmissed, 500UL * cpu_count);
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(bad[i].verdict, KPROBE_FAULTED);
	EXPECT_EQ(unregister_kprobes(all, 4), 0);
}

static void call_once(void *arg)
{
	unsigned long *wrong = arg;

	if (isolate_target(4, 2) != 42)
		__atomic_fetch_add(wrong, 1, __ATOMIC_RELAXED);
}

TEST(isolate, endless_handlers_on_all_cpus_but_one_are_all_abandoned)
{
	struct kprobe bad = { .symbol_name = "isolate_target",
			      .pre_handler = loop_pre };
	struct thread *threads[MAX_CPUS];
	unsigned long wrong = 0;
	u64 budget = probe_budget();

	if (cpu_count < 2)
		SKIP("needs a second CPU that notices");
	ASSERT_EQ(thread_set_affinity(current, BIT(cpu_count - 1)), 0);
	ASSERT_EQ(probe_budget_set(20 * NSEC_PER_MSEC), 0);
	ASSERT_EQ(register_kprobe(&bad), 0);
	for (unsigned i = 0; i + 1 < cpu_count; i++) {
		threads[i] = thread_create_on("once", BIT(i), call_once,
					      &wrong);
		ASSERT_TRUE(threads[i]);
	}
	for (unsigned i = 0; i + 1 < cpu_count; i++)
		thread_join(threads[i]);
	EXPECT_EQ(wrong, 0);
	EXPECT_EQ(bad.verdict, KPROBE_OVERDUE);
	EXPECT_EQ(unregister_kprobe(&bad), 0);
	ASSERT_EQ(probe_budget_set(budget), 0);
	ASSERT_EQ(thread_set_affinity(current, ~0u), 0);
}

static unsigned loopers;

static int loop_together_pre(struct kprobe *p __unused,
			     struct pt_regs *regs __unused)
{
	__atomic_fetch_add(&loopers, 1, __ATOMIC_RELAXED);
	for (;;)
		barrier();
	return 0;
}

static unsigned long call_on_each_cpu(void)
{
	struct thread *threads[MAX_CPUS];
	unsigned long wrong = 0;

	for (unsigned i = 0; i < cpu_count; i++) {
		threads[i] = thread_create_on("once", BIT(i), call_once,
					      &wrong);
		if (!threads[i])
			FAIL("no memory for a thread");
	}
	for (unsigned i = 0; i < cpu_count; i++)
		thread_join(threads[i]);
	return wrong;
}

/* On a busy host one may be abandoned before another has come: once more then. */
#define TRIES 10

TEST(isolate, endless_handlers_on_all_cpus_at_once_are_abandoned_by_a_timer)
{
	struct kprobe bad = { .symbol_name = "isolate_target",
			      .pre_handler = loop_together_pre };
	u64 budget = probe_budget();

	if (!somebody_notices() || probe_budget_set(100 * NSEC_PER_MSEC) != 0 ||
	    !probe_budget_is_sure()) {
		ASSERT_EQ(probe_budget_set(budget), 0);
		SKIP("no timer comes as an NMI");
	}
	ASSERT_EQ(register_kprobe(&bad), 0);
	for (unsigned i = 0; i < TRIES; i++) {
		loopers = 0;
		EXPECT_EQ(enable_kprobe(&bad), 0);
		EXPECT_EQ(call_on_each_cpu(), 0);
		EXPECT_EQ(bad.verdict, KPROBE_OVERDUE);
		if (loopers == cpu_count)
			break;
	}
	EXPECT_EQ(loopers, cpu_count);
	EXPECT_EQ(unregister_kprobe(&bad), 0);
	ASSERT_EQ(probe_budget_set(budget), 0);
}

static int stop_nothing(void *arg __unused)
{
	return 7;
}

TEST(isolate, an_endless_handler_does_not_keep_the_machine_from_stopping)
{
	struct kprobe bad = { .symbol_name = "isolate_target",
			      .pre_handler = loop_pre };
	struct thread *thread;
	unsigned long wrong = 0;
	u64 budget = probe_budget();

	if (cpu_count < 2)
		SKIP("needs a second CPU that notices");
	ASSERT_EQ(thread_set_affinity(current, BIT(0)), 0);
	ASSERT_EQ(probe_budget_set(20 * NSEC_PER_MSEC), 0);
	ASSERT_EQ(register_kprobe(&bad), 0);
	thread = thread_create_on("once", BIT(1), call_once, &wrong);
	ASSERT_TRUE(thread);
	while (READ_ONCE(bad.nhit) == 0)
		thread_yield();
	EXPECT_EQ(stop_machine(stop_nothing, NULL), 7);
	thread_join(thread);
	EXPECT_EQ(bad.verdict, KPROBE_OVERDUE);
	EXPECT_EQ(unregister_kprobe(&bad), 0);
	ASSERT_EQ(probe_budget_set(budget), 0);
	ASSERT_EQ(thread_set_affinity(current, ~0u), 0);
}

static int preempt_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	preempt_disable();
	return *(volatile int *)bad_address;
}

TEST(isolate, what_a_handler_did_to_preemption_goes_with_it)
{
	struct kprobe bad = { .pre_handler = preempt_pre };

	check(&bad, KPROBE_FAULTED);
	EXPECT_EQ(current->preempt_count, 0);
}
