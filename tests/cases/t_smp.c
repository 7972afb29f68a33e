// SPDX-License-Identifier: MIT
/* Calls from CPU to CPU, and NMIs. */
#include <arch/regs.h>
#include <kernel/irq.h>
#include <kernel/smp.h>
#include <kernel/symtab.h>
#include <lib/errno.h>
#include <tests/cases/threads.h>

static struct {
	unsigned calls[MAX_CPUS];
	unsigned irqs_on;
	bool right_arg;
} seen;

static void note(void *arg)
{
	__atomic_fetch_add(&seen.calls[smp_processor_id()], 1,
			   __ATOMIC_RELAXED);
	if (!arch_irqs_disabled())
		__atomic_fetch_add(&seen.irqs_on, 1, __ATOMIC_RELAXED);
	if (arg != &seen)
		seen.right_arg = false;
}

static void forget(void)
{
	seen = (typeof(seen)){ .right_arg = true };
}

TEST(smp, all_cpus_that_were_found_are_online)
{
	EXPECT_EQ(smp_online(), cpu_count);
	for_each_cpu(cpu)
		EXPECT_EQ(cpu->id, (unsigned)(cpu - cpus));
}

TEST(smp, a_call_runs_once_on_the_cpu_it_is_for)
{
	for (unsigned i = 0; i < cpu_count; i++) {
		forget();
		EXPECT_EQ(smp_call(i, note, &seen), 0);
		for (unsigned j = 0; j < MAX_CPUS; j++)
			EXPECT_EQ(seen.calls[j], i == j);
		EXPECT_EQ(seen.irqs_on, 0);
		EXPECT_TRUE(seen.right_arg);
	}
}

TEST(smp, a_call_on_all_runs_once_on_each_with_interrupts_off)
{
	forget();
	smp_call_all(note, &seen);
	for (unsigned i = 0; i < MAX_CPUS; i++)
		EXPECT_EQ(seen.calls[i], i < cpu_count);
	EXPECT_EQ(seen.irqs_on, 0);
	EXPECT_TRUE(seen.right_arg);
}

static void note_nmi(void *arg __unused, struct pt_regs *regs __unused)
{
	note(&seen);
}

TEST(smp, a_cpu_that_does_not_exist_is_refused)
{
	const unsigned wrong[] = { cpu_count, MAX_CPUS, MAX_CPUS + 1, ~0u };

	forget();
	for (unsigned i = 0; i < ARRAY_SIZE(wrong); i++) {
		EXPECT_EQ(smp_call(wrong[i], note, &seen), -ENODEV);
		EXPECT_EQ(smp_nmi_call(wrong[i], note_nmi, NULL), -ENODEV);
	}
	for (unsigned i = 0; i < MAX_CPUS; i++)
		EXPECT_EQ(seen.calls[i], 0);
}

#define CROSSING 40

static void call_everybody(void *number __unused)
{
	for (unsigned i = 0; i < CROSSING; i++)
		smp_call_all(note, &seen);
}

TEST(smp, calls_of_all_cpus_on_all_cpus_cross_each_other)
{
	forget();
	on_all_cpus(call_everybody);
	for (unsigned i = 0; i < cpu_count; i++)
		EXPECT_EQ(seen.calls[i], CROSSING * cpu_count);
	EXPECT_EQ(seen.irqs_on, 0);
}

static void call_next(void *number)
{
	unsigned next = ((unsigned)(unsigned long)number + 1) % cpu_count;

	for (unsigned i = 0; i < CROSSING; i++)
		EXPECT_EQ(smp_call(next, note, &seen), 0);
}

TEST(smp, calls_in_a_circle_all_arrive)
{
	forget();
	on_all_cpus(call_next);
	for (unsigned i = 0; i < cpu_count; i++)
		EXPECT_EQ(seen.calls[i], CROSSING);
}

TEST(smp, each_call_from_elsewhere_takes_an_interrupt)
{
	if (cpu_count < 2)
		SKIP("needs two CPUs");
	forget();
	stay_on(0);
	for (unsigned i = 1; i < cpu_count; i++) {
		u64 before = irq_count(i, IRQ_IPI);

		EXPECT_EQ(smp_call(i, note, &seen), 0);
		/* One that was under way may have made the call: ours comes. */
		WAIT_FOR(irq_count(i, IRQ_IPI) > before);
	}
	stay_anywhere();
}

static const struct pt_regs *interrupted;

static void note_irq_regs(void *unused __unused)
{
	interrupted = irq_regs();
}

TEST(smp, what_an_interrupt_interrupted_is_known_only_inside)
{
	stay_on(0);
	EXPECT_EQ(smp_call(last_cpu(), note_irq_regs, NULL), 0);
	EXPECT_TRUE(interrupted);
	note_irq_regs(NULL);
	EXPECT_TRUE(!interrupted);
	stay_anywhere();
}

/* NMIs ----------------------------------------------------------------------- */

TEST(smp, an_nmi_call_runs_once_on_the_cpu_it_is_for)
{
	for (unsigned i = 0; i < cpu_count; i++) {
		forget();
		EXPECT_EQ(smp_nmi_call(i, note_nmi, NULL), 0);
		for (unsigned j = 0; j < MAX_CPUS; j++)
			EXPECT_EQ(seen.calls[j], i == j);
		EXPECT_EQ(seen.irqs_on, 0);
	}
}

static struct {
	bool ready, stop;
	unsigned cpu;
	unsigned long pc;
	bool irqs_on;
} deaf;

static __noclone void spin_deaf(void *unused __unused)
{
	unsigned long flags = arch_irq_save();

	deaf.cpu = smp_processor_id();
	store_release(&deaf.ready, true);
	while (!load_acquire(&deaf.stop))
		cpu_relax();
	arch_irq_restore(flags);
}

static void look_at_deaf(void *cpu, struct pt_regs *regs)
{
	*(unsigned *)cpu = smp_processor_id();
	deaf.pc = instruction_pointer(regs);
	deaf.irqs_on = regs_irqs_enabled(regs);
}

TEST(smp, an_nmi_reaches_a_cpu_with_interrupts_off_and_has_its_registers)
{
	struct symbol sym;
	struct thread *t;
	unsigned cpu = ~0u;

	if (cpu_count < 2)
		SKIP("needs two CPUs");
	deaf.ready = deaf.stop = false;
	stay_on(0);
	t = start_on(1, spin_deaf, NULL);
	WAIT_FOR(load_acquire(&deaf.ready));
	EXPECT_EQ(smp_nmi_call(1, look_at_deaf, &cpu), 0);
	store_release(&deaf.stop, true);
	join(t);
	stay_anywhere();
	EXPECT_EQ(cpu, 1);
	EXPECT_EQ(deaf.cpu, 1);
	EXPECT_FALSE(deaf.irqs_on);
	ASSERT_EQ(symtab_lookup(deaf.pc, &sym), 0);
	EXPECT_EQ(sym.addr, (unsigned long)spin_deaf);
}

#define NMI_ROUNDS 20

static void nmi_next(void *number)
{
	unsigned next = ((unsigned)(unsigned long)number + 1) % cpu_count;

	for (unsigned i = 0; i < NMI_ROUNDS; i++)
		EXPECT_EQ(smp_nmi_call(next, note_nmi, NULL), 0);
}

TEST(smp, nmi_calls_of_all_cpus_take_turns)
{
	forget();
	on_all_cpus(nmi_next);
	for (unsigned i = 0; i < cpu_count; i++)
		EXPECT_EQ(seen.calls[i], NMI_ROUNDS);
}

static void nmi_self(void *deafly)
{
	for (unsigned i = 0; i < 300; i++) {
		unsigned long flags = arch_irq_save();

		if (!deafly)
			arch_irq_restore(flags);
		EXPECT_EQ(smp_nmi_call(0, note_nmi, NULL), 0);
		arch_irq_restore(flags);
	}
}

/* One that waits with interrupts off must not keep the other from its CPU. */
TEST(smp, threads_of_one_cpu_take_turns_with_nmi_calls)
{
	struct thread *a, *b;

	forget();
	a = start_on(0, nmi_self, NULL);
	b = start_on(0, nmi_self, &seen);
	join(a);
	join(b);
	EXPECT_EQ(seen.calls[0], 600);
}
