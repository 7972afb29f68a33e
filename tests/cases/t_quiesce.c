// SPDX-License-Identifier: MIT
/*
 * Waiting until nothing old is in use: what is waited for, and what is not. Code
 * outside of the image's text is a copy of a small loop, as slots are.
 */
#include <arch/regs.h>
#include <kernel/irq.h>
#include <kernel/quiesce.h>
#include <kernel/smp.h>
#include <kernel/vm.h>
#include <probe/kprobe.h>
#include <probe/site.h>
#include <tests/cases/keep_regs.h>
#include <tests/cases/threads.h>

#define A_WHILE (4 * NSEC_PER_MSEC)

static bool returned, end, in_loop;

static void quiesce_both(void *unused __unused)
{
	quiesce_tasks();
	quiesce_cpus();
}

static void tasks(void *unused __unused)
{
	quiesce_tasks();
	store_release(&returned, true);
}

static void cpus_only(void *unused __unused)
{
	quiesce_cpus();
	store_release(&returned, true);
}

TEST(quiesce, both_return_where_nothing_runs)
{
	quiesce_cpus();
	quiesce_tasks();
}

TEST(quiesce, all_cpus_may_ask_at_once)
{
	on_all_cpus(quiesce_both);
}

/* Threads that only compute --------------------------------------------------- */

TEST(quiesce, threads_in_plain_text_need_not_sleep)
{
	struct thread *t[2 * MAX_CPUS];
	unsigned n = 2 * cpu_count;

	end = false;
	for (unsigned i = 0; i < n; i++)
		t[i] = start_on(i / 2, spin_until, &end);
	quiesce_tasks();
	quiesce_tasks();
	store_release(&end, true);
	for (unsigned i = 0; i < n; i++)
		join(t[i]);
}

static void spin_deaf(void *unused __unused)
{
	unsigned long flags = arch_irq_save();

	store_release(&in_loop, true);
	SPIN_FOR(load_acquire(&end));
	arch_irq_restore(flags);
}

/* One CPU has interrupts off: as if in a handler. */
static void expect_wait_for_deaf_cpu(void (*fn)(void *unused))
{
	struct thread *deaf, *waiter;

	returned = end = in_loop = false;
	stay_on(0);
	deaf = start_on(1, spin_deaf, NULL);
	WAIT_FOR(load_acquire(&in_loop));
	waiter = start_on(0, fn, NULL);
	thread_sleep(A_WHILE);
	EXPECT_FALSE(load_acquire(&returned));
	store_release(&end, true);
	WAIT_FOR(load_acquire(&returned));
	join(waiter);
	join(deaf);
	stay_anywhere();
}

TEST(quiesce, cpus_are_waited_for_while_their_interrupts_are_off)
{
	if (cpu_count < 2)
		SKIP("needs two CPUs");
	expect_wait_for_deaf_cpu(cpus_only);
}

TEST(quiesce, tasks_imply_cpus)
{
	if (cpu_count < 2)
		SKIP("needs two CPUs");
	expect_wait_for_deaf_cpu(tasks);
}

/* Threads in code outside of the image ------------------------------------------ */

static void (*far_loop)(bool *leave);
static bool leave, left;

static void run_far_loop(void *unused __unused)
{
	far_loop(&leave);
	store_release(&left, true);
	/* Back in plain text, and still no sleep. */
	spin_until(&end);
}

static bool far_begin(void)
{
	void *code = vm_alloc_near(1, VM_READ | VM_EXEC);

	returned = end = leave = left = false;
	if (!code) {
		FAIL("no executable page");
		return false;
	}
	text_write_unused((unsigned long)code, spin_code,
			  (size_t)(spin_code_end - spin_code));
	far_loop = (void (*)(bool *))code;
	return true;
}

static bool is_far_pc(unsigned long pc)
{
	return pc - (unsigned long)far_loop < PAGE_SIZE;
}

static bool is_far(struct thread *t)
{
	unsigned long pc = 0;

	return sched_whereabouts(t, &pc) == THREAD_PREEMPTED && is_far_pc(pc);
}

static void look_whether_far(void *far)
{
	const struct pt_regs *regs = irq_regs();

	*(bool *)far = regs && is_far_pc(instruction_pointer(regs));
}

/* Preempted there, or running there on the last CPU. */
static bool has_come(struct thread *t)
{
	bool far = false;

	return is_far(t) ||
	       (smp_call(last_cpu(), look_whether_far, &far) == 0 && far);
}

static void far_end(struct thread *runner, struct thread *waiter)
{
	EXPECT_FALSE(load_acquire(&returned));
	EXPECT_FALSE(load_acquire(&left));
	store_release(&leave, true);
	WAIT_FOR(load_acquire(&returned));
	EXPECT_TRUE(load_acquire(&left));
	store_release(&end, true);
	join(runner);
	join(waiter);
	stay_anywhere();
	vm_free((void *)far_loop);
}

TEST(quiesce, a_thread_that_runs_in_a_slot_is_waited_for)
{
	struct thread *runner, *waiter;

	if (!far_begin())
		return;
	stay_on(0);
	runner = start_on(last_cpu(), run_far_loop, NULL);
	if (runner)
		WAIT_FOR(has_come(runner));
	waiter = start_on(0, tasks, NULL);
	thread_sleep(A_WHILE);
	far_end(runner, waiter);
}

static struct thread *sleeper;
static unsigned sleeps[2]; /* [true]: of the sleeper */

static int count_sleeps(struct kprobe *p __unused, struct pt_regs *r __unused)
{
	sleeps[current == sleeper]++;
	return 0;
}

static void tasks_counted(void *unused __unused)
{
	sleeper = current;
	tasks(NULL);
}

/* The optimiser waits at any time: who counts sleeps is to see his own only. */
TEST(quiesce, a_probe_on_thread_sleep_does_not_see_the_wait)
{
	struct kprobe p = { .symbol_name = "thread_sleep",
			    .pre_handler = count_sleeps };
	struct thread *runner, *waiter;

	if (!far_begin())
		return;
	sleeper = NULL;
	sleeps[false] = sleeps[true] = 0;
	EXPECT_EQ(register_kprobe(&p), 0);
	stay_on(0);
	runner = start_on(last_cpu(), run_far_loop, NULL);
	if (runner)
		WAIT_FOR(has_come(runner));
	waiter = start_on(0, tasks_counted, NULL);
	thread_sleep(A_WHILE);
	EXPECT_FALSE(load_acquire(&returned));
	far_end(runner, waiter);
	EXPECT_EQ(sleeps[true], 0);
	EXPECT_GT(sleeps[false], 0);
	unregister_kprobe(&p);
}

/* It shares its CPU with one that spins, so it is off it half of the time. */
TEST(quiesce, a_thread_that_was_preempted_in_a_slot_is_waited_for)
{
	struct thread *runner, *rival, *waiter;

	if (!far_begin())
		return;
	stay_on(0);
	runner = start_on(last_cpu(), run_far_loop, NULL);
	rival = start_on(last_cpu(), spin_until, &end);
	if (runner)
		WAIT_FOR(is_far(runner));
	waiter = start_on(0, tasks, NULL);
	thread_sleep(2 * A_WHILE);
	far_end(runner, waiter);
	join(rival);
}
