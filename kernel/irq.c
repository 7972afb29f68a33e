// SPDX-License-Identifier: MIT
/*
 * Where interrupts go, after the controller said which. Interrupts are off.
 */
#include <kernel/console.h>
#include <kernel/irq.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/thread.h>
#include <kernel/timer.h>

struct irq_counts {
	u64 n[IRQ_KIND_COUNT];
};
static DEFINE_PER_CPU(struct irq_counts, counts);

static void irq_timer(struct pt_regs *regs __unused)
{
	timers_run();
	sched_tick();
}

static void irq_console(struct pt_regs *regs __unused)
{
	console_receive();
}

static void irq_spurious(struct pt_regs *regs __unused)
{
}

static void (*const handlers[IRQ_KIND_COUNT])(struct pt_regs *regs) = {
	[IRQ_TIMER] = irq_timer,
	[IRQ_IPI] = smp_ipi_handle,
	[IRQ_CONSOLE] = irq_console,
	[IRQ_SPURIOUS] = irq_spurious,
};

/* Interrupts do not nest: they stay off until the way out. */
static DEFINE_PER_CPU(const struct pt_regs *, interrupted);

const struct pt_regs *irq_regs(void)
{
	return this_cpu_ref(interrupted);
}

void irq_handle(enum irq_kind kind, struct pt_regs *regs)
{
	this_cpu_ref(counts).n[kind]++;
	this_cpu_ref(interrupted) = regs;
	handlers[kind](regs);
	this_cpu_ref(interrupted) = NULL;
}

u64 irq_count(unsigned cpu_id, enum irq_kind kind)
{
	return READ_ONCE(per_cpu(counts, cpu_id).n[kind]);
}
