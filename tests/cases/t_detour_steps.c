// SPDX-License-Identifier: MIT
/*
 * What comes while the pc is at each single instruction of a hit through a jump:
 * an NMI that runs into a probe itself, or an interrupt that has the thread
 * preempted. The thread is single-stepped through the calls of a probed function,
 * its detour, the handlers and all that the engine does for them, and each step
 * trap makes one of these come.
 */
#include <arch/cpu.h>
#include <arch/regs.h>
#include <kernel/image.h>
#include <kernel/irq.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/trap.h>
#include <probe/kretprobe.h>
#include <probe/opt.h>
#include <probe/site.h>
#include <probe/window.h>
#include <tests/cases/threads.h>
#include <tests/cases/trace_step.h>

static __noclone long steps_target(long a, long b)
{
	barrier();
	return a * 10 + b;
}

static __noclone long steps_in_nmi(long a)
{
	barrier();
	return a + 1;
}

static int nothing(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
}

static void nothing_post(struct kprobe *p __unused,
			 struct pt_regs *regs __unused,
			 unsigned long flags __unused)
{
}

static int returned(struct kretprobe_instance *ri __unused,
		    struct pt_regs *regs __unused)
{
	return 0;
}

/* What comes ------------------------------------------------------------------- */

static bool tracing, interrupts;
static unsigned steps, wrong;
static struct cpu *traced_cpu;

static void in_nmi(void *arg __unused, struct pt_regs *regs __unused)
{
	if (steps_in_nmi(steps) != (long)steps + 1)
		wrong++;
}

/* Generated, or what a hit runs. */
static bool is_engines(unsigned long pc)
{
	return exec_at(pc) || window_contains(pc) ||
	       (pc >= (unsigned long)__noprobe_text_start &&
		pc < (unsigned long)__noprobe_text_end);
}

static bool step(struct pt_regs *regs)
{
	bool may_come = trace_step_on(regs);

	if (may_come &&
	    (is_engines(instruction_pointer(regs)) || this_cpu()->hit_levels)) {
		steps++;
		if (this_cpu() != traced_cpu)
			wrong++;
		if (interrupts)
			smp_send(this_cpu(), IPI_RESCHED);
		else if (smp_nmi_call(smp_processor_id(), in_nmi, NULL))
			wrong++;
	}
	if (!READ_ONCE(tracing))
		trace_step_off(regs);
	return true;
}

/* So that there is somebody to switch to. */
static void yield(void *arg)
{
	while (!load_acquire((bool *)arg))
		thread_yield();
}

/* @calls of the function, stepped. */
static void call_stepped(unsigned calls)
{
	long sum = 0;

	steps = wrong = 0;
	traced_cpu = this_cpu();
	tracing = true;
	trap_tracer = step;
	trace_step_begin();
	for (unsigned i = 0; i < calls; i++)
		sum += steps_target(4, 2);
	WRITE_ONCE(tracing, false);
	barrier();
	trap_tracer = NULL;
	EXPECT_EQ(sum, 42 * (long)calls);
	EXPECT_EQ(wrong, 0);
	EXPECT_EQ(this_cpu()->hit_levels, 0);
	EXPECT_FALSE(arch_irqs_disabled());
	EXPECT_EQ(current->preempt_count, 0);
}

/* Through what ------------------------------------------------------------------ */

static struct kprobe probes[3];
static struct kretprobe rp;
static struct kprobe nmi_probe;

static void fill(bool post)
{
	for (unsigned i = 0; i < ARRAY_SIZE(probes); i++)
		probes[i] = (struct kprobe){ .symbol_name = "steps_target",
					     .pre_handler = nothing };
	if (post)
		probes[1].post_handler = nothing_post;
	rp = (struct kretprobe){ .kp.symbol_name = "steps_target",
				 .handler = returned };
	nmi_probe = (struct kprobe){ .symbol_name = "steps_in_nmi",
				     .pre_handler = nothing };
}

/* A jump, and the one in NMIs a jump or a breakpoint. */
static void check(unsigned n, bool with_return, unsigned nmi_flags)
{
	enum { CALLS = 3 };

	nmi_probe.flags = nmi_flags;
	ASSERT_EQ(register_kprobe(&nmi_probe), 0);
	for (unsigned i = 0; i < n; i++)
		ASSERT_EQ(register_kprobe(&probes[i]), 0);
	if (with_return)
		ASSERT_EQ(register_kretprobe(&rp), 0);
	EXPECT_EQ(opt_sync(), 0);
	EXPECT_NE(kprobe_jump(with_return ? &rp.kp : &probes[0]), JUMP_NONE);
	call_stepped(CALLS);
	test_note("%u steps, %lu hits in NMIs and %lu missed", steps,
		  nmi_probe.nhit, nmi_probe.nmissed);
	EXPECT_GE(steps, CALLS * 30);
	if (!interrupts) {
		EXPECT_EQ(nmi_probe.nhit + nmi_probe.nmissed, steps);
		EXPECT_GT(nmi_probe.nhit, 0);
		EXPECT_GT(nmi_probe.nmissed, 0);
	}
	for (unsigned i = 0; i < n; i++) {
		EXPECT_EQ(probes[i].nhit, CALLS);
		EXPECT_EQ(probes[i].verdict, KPROBE_WELL);
		EXPECT_EQ(unregister_kprobe(&probes[i]), 0);
	}
	if (with_return) {
		struct kretprobe_counts counts;

		kretprobe_counts(&rp, &counts);
		EXPECT_EQ(counts.returned, CALLS);
		EXPECT_EQ(unregister_kretprobe(&rp), 0);
	}
	EXPECT_EQ(unregister_kprobe(&nmi_probe), 0);
}

static void check_all(bool with_interrupts)
{
	static const unsigned flags[] = { KPROBE_FLAG_NO_JUMP, 0 };

	stay_on(0);
	interrupts = with_interrupts;
	for (unsigned i = 0; i < ARRAY_SIZE(flags); i++) {
		fill(false);
		check(1, false, flags[i]); /* direct */
		check(3, false, flags[i]);
		check(1, true, flags[i]);
		fill(true);
		check(2, false, flags[i]); /* general */
	}
	stay_anywhere();
}

TEST(detour, an_nmi_with_a_hit_may_come_at_every_instruction)
{
	check_all(false);
}

TEST(detour, an_interrupt_may_come_at_every_instruction)
{
	bool over = false;
	struct thread *t = start_on(0, yield, &over);

	check_all(true);
	store_release(&over, true);
	join(t);
}
