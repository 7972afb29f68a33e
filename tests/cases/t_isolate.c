// SPDX-License-Identifier: MIT
/*
 * Hostile handlers: none of them hurts the kernel, the probed code, or another
 * probe on the same address.
 */
#include <arch/cpu.h>
#include <arch/insn.h>
#include <kernel/percpu.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <kernel/vm.h>
#include <lib/errno.h>
#include <probe/kretprobe.h>
#include <probe/opt.h>
#include <probe/plan.h>
#include <probe/site.h>
#include <tests/cases/isolate.h>
#include <tests/cases/threads.h>

__noclone long isolate_target(long a, long b)
{
	barrier();
	return a * 10 + b;
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

void isolate_check(struct kprobe *bad, enum kprobe_verdict verdict)
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

	isolate_check(&bad, KPROBE_FAULTED);
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

	isolate_check(&bad, KPROBE_FAULTED);
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
	isolate_check(&bad, KPROBE_FAULTED);
	bad_function = NULL;
	vm_free(code);
}

TEST(isolate, a_post_handler_that_follows_null_is_abandoned_alone)
{
	struct kprobe bad = { .pre_handler = good_pre,
			      .post_handler = null_post };

	isolate_check(&bad, KPROBE_FAULTED);
}

TEST(isolate, a_handler_that_overruns_its_stack_is_abandoned_alone)
{
	struct kprobe bad = { .pre_handler = deep_pre };

	isolate_check(&bad, KPROBE_OVERFLOWED);
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
	ASSERT_EQ(probe_budget_set(CASE_BUDGET_NS), 0);
	isolate_check(&bad, KPROBE_OVERDUE);
	ASSERT_EQ(probe_budget_set(budget), 0);
}

static int preempt_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	preempt_disable();
	return *(volatile int *)bad_address;
}

TEST(isolate, what_a_handler_did_to_preemption_goes_with_it)
{
	struct kprobe bad = { .pre_handler = preempt_pre };

	isolate_check(&bad, KPROBE_FAULTED);
	EXPECT_EQ(current->preempt_count, 0);
}

/* Interrupts enabled ------------------------------------------------------------ */

static bool ticked, ticked_inside;
static unsigned long ticks;

static void tick(struct timer *t __unused)
{
	WRITE_ONCE(ticks, ticks + 1);
	WRITE_ONCE(ticked, true);
}

static void wait_for_tick(void)
{
	u64 end = clock_ns() + 2 * NSEC_PER_MSEC;

	while (clock_ns() < end && !READ_ONCE(ticked))
		cpu_relax();
}

static void enable_and_wait(void)
{
	arch_irq_enable();
	wait_for_tick();
	ticked_inside |= READ_ONCE(ticked);
}

static int enable_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	enable_and_wait();
	return 0;
}

static void enable_post(struct kprobe *p __unused,
			struct pt_regs *regs __unused,
			unsigned long flags __unused)
{
	enable_and_wait();
}

static int enable_ret(struct kretprobe_instance *ri __unused,
		      struct pt_regs *regs __unused)
{
	enable_and_wait();
	return 0;
}

/* The tick is due in the handler, and comes behind it. */
static void call_with_tick(void)
{
	unsigned long flags;
	struct timer t;

	ticked = ticked_inside = false;
	timer_init(&t, tick, NULL);
	flags = arch_irq_save();
	timer_start(&t, clock_ns(), 0);
	EXPECT_EQ(isolate_target(1, 2), 12);
	EXPECT_FALSE(ticked_inside);
	arch_irq_restore(flags);
	EXPECT_TRUE(SPIN_FOR(READ_ONCE(ticked)));
	timer_stop(&t);
}

static void call_with_ticks(void)
{
	call_with_tick(); /* through a breakpoint */
	EXPECT_EQ(opt_sync(), 0);
	call_with_tick(); /* through a jump */
}

TEST(isolate, a_handler_that_enables_interrupts_gets_none)
{
	struct kprobe p = { .symbol_name = "isolate_target" };
	struct kretprobe rp = { .kp = p, .handler = enable_ret };

	stay_on(last_cpu());
	p.pre_handler = enable_pre;
	ASSERT_EQ(register_kprobe(&p), 0);
	call_with_ticks();
	EXPECT_EQ(unregister_kprobe(&p), 0);
	p.pre_handler = NULL;
	p.post_handler = enable_post;
	ASSERT_EQ(register_kprobe(&p), 0);
	call_with_ticks();
	EXPECT_EQ(unregister_kprobe(&p), 0);
	EXPECT_EQ(p.nhit, 2);
	ASSERT_EQ(register_kretprobe(&rp), 0);
	call_with_ticks();
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	stay_anywhere();
}

static int enable_register_pre(struct kprobe *p __unused,
			       struct pt_regs *regs __unused)
{
	static struct kprobe other = { .symbol_name = "isolate_target",
				       .pre_handler = good_pre };

	arch_irq_enable();
	return register_kprobe(&other) == -EDEADLK ? *(int *)bad_address : 0;
}

static int enable_sleep_pre(struct kprobe *p __unused,
			    struct pt_regs *regs __unused)
{
	arch_irq_enable();
	thread_sleep(NSEC_PER_MSEC);
	return 0;
}

TEST(isolate, a_handler_that_enables_interrupts_still_cannot_wait)
{
	struct kprobe registers = { .pre_handler = enable_register_pre };
	struct kprobe sleeps = { .pre_handler = enable_sleep_pre };

	isolate_check(&registers, KPROBE_FAULTED);
	isolate_check(&sleeps, KPROBE_LOCKED);
}

/* So many instructions, each with a probe that is stepped, in a hit of its own. */
static unsigned step_all(const struct symbol *sym, struct kprobe *probes,
			 unsigned max)
{
	unsigned long pc = sym->addr, end = sym->addr + sym->size;
	struct insn insn;
	enum probe_plan before = probe_plan();
	unsigned n = 0;

	probe_plan_set(PLAN_STEP);
	for (; pc < end && n < max; pc += insn.len) {
		if (arch_insn_decode(&insn, (const void *)pc,
				     min(end - pc, INSN_MAX_BYTES + 0ul), pc))
			break;
		probes[n] = (struct kprobe){ .addr = pc,
					     .pre_handler = good_pre,
					     .flags = KPROBE_FLAG_NO_JUMP };
		n += register_kprobe(&probes[n]) == 0;
	}
	probe_plan_set(before);
	return n;
}

/* What asks whether it is in a handler may be probed, and then is in one. */
TEST(isolate, interrupts_outside_of_handlers_stay_enabled)
{
	static struct kprobe probes[64];
	unsigned long before;
	struct symbol sym;
	struct timer t;
	unsigned n;

	ASSERT_EQ(symtab_find("probe_hit_interrupted", &sym), 0);
	n = step_all(&sym, probes, ARRAY_SIZE(probes));
	EXPECT_GT(n, 4);
	stay_on(last_cpu());
	before = READ_ONCE(ticks);
	timer_init(&t, tick, NULL);
	timer_start(&t, clock_ns(), NSEC_PER_MSEC);
	SPIN_FOR(READ_ONCE(ticks) - before >= 10 || arch_irqs_disabled());
	EXPECT_FALSE(arch_irqs_disabled());
	arch_irq_enable();
	timer_stop(&t);
	stay_anywhere();
	EXPECT_GT(probes[0].nhit, 0);
	while (n > 0)
		EXPECT_EQ(unregister_kprobe(&probes[--n]), 0);
}

/* Fault handlers --------------------------------------------------------------- */

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
	isolate_check(&bad, KPROBE_FAULTED);
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
	isolate_check(&bad, KPROBE_FAULTED);
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
		barrier(); /* there is no way back from here */
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
	ASSERT_EQ(probe_budget_set(CASE_BUDGET_NS), 0);
	isolate_check(&bad, KPROBE_OVERDUE);
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
	isolate_check(&bad, KPROBE_FAULTED);
	EXPECT_EQ(nested.nmissed, 1);
	EXPECT_EQ(nested.nhit, 0);
	EXPECT_EQ(unregister_kprobe(&nested), 0);
}
