// SPDX-License-Identifier: MIT
#include <arch/cpu.h>
#include <arch/smp.h>
#include <arch/timer.h>
#include <kernel/percpu.h>
#include <kernel/quiesce.h>
#include <kernel/smp.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <probe/watch.h>
#include <tests/cases/nmis.h>
#include <tests/test.h>

#define DEPTH_MAX 2 /* of those that call the function: stacks are small */
/* Times the number of CPUs: there may be fewer real ones. */
#define TIMER_NS  (500 * NSEC_PER_USEC)
#define SENDER_NS (500 * NSEC_PER_USEC)

struct nmis {
	unsigned depth; /* how many are under way */
	unsigned long seen;
};
static DEFINE_PER_CPU(struct nmis, nmis);

static void (*called)(struct pt_regs *regs);

static bool come(struct pt_regs *regs)
{
	struct nmis *n = &this_cpu_ref(nmis);

	n->depth++;
	barrier();
	if (n->depth <= DEPTH_MAX)
		called(regs);
	barrier();
	n->depth--;
	WRITE_ONCE(n->seen, n->seen + 1);
	return true;
}

void nmis_begin(void (*fn)(struct pt_regs *regs))
{
	called = fn;
	for_each_cpu(cpu)
		per_cpu(nmis, cpu->id) = (struct nmis){ 0 };
	store_release(&smp_nmi_tracer, come);
}

/* Interrupts are later than NMIs that were sent before them. */
void nmis_end(void)
{
	quiesce_cpus();
	WRITE_ONCE(smp_nmi_tracer, NULL);
}

unsigned long nmis_seen(unsigned cpu_id)
{
	return READ_ONCE(per_cpu(nmis, cpu_id).seen);
}

bool nmis_everywhere(void)
{
	for_each_cpu(cpu) {
		if (nmis_seen(cpu->id) == 0)
			return false;
	}
	return true;
}

bool nmis_in_one(void)
{
	return this_cpu_ref(nmis).depth > 0;
}

void nmis_send_self(void)
{
	unsigned long flags = arch_irq_save();
	unsigned long before = nmis_seen(smp_processor_id());

	smp_nmi_send(this_cpu());
	while (nmis_seen(smp_processor_id()) == before)
		cpu_relax();
	arch_irq_restore(flags);
}

void nmis_send_others(void)
{
	unsigned long before[MAX_CPUS];

	for_each_cpu(cpu)
		before[cpu->id] = nmis_seen(cpu->id);
	arch_nmi_send_others();
	for_each_cpu(cpu) {
		while (cpu != this_cpu() &&
		       nmis_seen(cpu->id) == before[cpu->id])
			cpu_relax();
	}
}

/* The rain ---------------------------------------------------------------------- */

static DEFINE_PER_CPU(struct timer, timers);
static void (*timer_called)(void);
static struct thread *sender;
static bool over, has_nmi_timer;

static void ring(struct timer *t __unused)
{
	timer_called();
	nmis_send_self();
}

static void start_timer(void *arg __unused)
{
	struct timer *t = &this_cpu_ref(timers);

	timer_init(t, ring, NULL);
	timer_start(t, clock_ns() + TIMER_NS, cpu_count * TIMER_NS);
}

static void send_to_all(void *arg __unused)
{
	while (!READ_ONCE(over)) {
		for_each_cpu(cpu)
			smp_nmi_send(cpu);
		thread_sleep(cpu_count * SENDER_NS);
	}
}

void nmis_rain_begin(void (*fn)(void))
{
	timer_called = fn;
	over = false;
	sender = thread_create_on("nmis", BIT(cpu_count - 1), send_to_all,
				  NULL);
	if (!sender)
		FAIL("no thread to send NMIs");
	has_nmi_timer = arch_nmi_timer_set(NSEC_PER_MSEC) == 0;
	smp_call_all(start_timer, NULL);
}

void nmis_rain_end(void)
{
	WRITE_ONCE(over, true);
	if (sender)
		thread_join(sender);
	for_each_cpu(cpu)
		timer_stop(&per_cpu(timers, cpu->id));
	/* As it was, and the engine knows one that comes late. */
	if (has_nmi_timer)
		EXPECT_EQ(probe_budget_set(probe_budget()), 0);
}
