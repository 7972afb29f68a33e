// SPDX-License-Identifier: MIT
/*
 * Other CPUs: bringing them up, asking them to do things.
 *
 * A call is a record on the caller's stack, linked into the target's queue; the
 * target's interrupt takes it out, runs it and counts it done. The caller waits
 * with interrupts on, so two CPUs can call each other.
 */
#include <arch/cpu.h>
#include <arch/irq.h>
#include <arch/smp.h>
#include <arch/trap.h>
#include <kernel/lock.h>
#include <kernel/log.h>
#include <kernel/main.h>
#include <kernel/panic.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <kernel/vm.h>
#include <lib/list.h>
#include <probe/hit.h>

#define REPORT_NS (5 * NSEC_PER_SEC)
/* A CPU that was started may be one that a busy host does not run yet. */
#define START_NS (60 * NSEC_PER_SEC)

struct call {
	struct list_head link;
	void (*fn)(void *arg);
	void *arg;
	unsigned *pending; /* shared by the calls of one request */
};

struct call_queue {
	struct spinlock lock;
	struct list_head calls;
};
static DEFINE_PER_CPU(struct call_queue, queues);

static void queue_init(unsigned cpu_id)
{
	struct call_queue *q = &per_cpu(queues, cpu_id);

	spin_lock_init(&q->lock, "call", RANK_CALL);
	INIT_LIST_HEAD(&q->calls);
}

unsigned smp_online(void)
{
	unsigned n = 0;

	for_each_cpu(cpu)
		n += READ_ONCE(cpu->online);
	return n;
}

void smp_send(struct cpu *cpu, enum ipi ipi)
{
	__atomic_fetch_or(&cpu->ipi_pending, BIT(ipi), __ATOMIC_SEQ_CST);
	arch_ipi_send(cpu);
}

static void run_calls(void)
{
	struct call_queue *q = &this_cpu_ref(queues);

	spin_lock(&q->lock);
	while (!list_empty(&q->calls)) {
		struct call *c = list_first_entry(&q->calls, struct call, link);
		unsigned *pending = c->pending;

		list_del(&c->link);
		spin_unlock(&q->lock);
		c->fn(c->arg);
		/* Pairs with the acquire in wait_done(); c is gone after it. */
		__atomic_fetch_sub(pending, 1, __ATOMIC_RELEASE);
		spin_lock(&q->lock);
	}
	spin_unlock(&q->lock);
}

/* The longest time for which others' calls have held up what this CPU did. */
static DEFINE_PER_CPU(u64, held_ns);

static void answer_calls(void)
{
	u64 *held = &this_cpu_ref(held_ns), since = clock_ns();

	run_calls();
	WRITE_ONCE(*held, max(*held, clock_ns() - since));
}

u64 smp_longest_hold(void)
{
	u64 longest = 0;

	for_each_cpu(cpu) {
		longest = max(longest, READ_ONCE(per_cpu(held_ns, cpu->id)));
		WRITE_ONCE(per_cpu(held_ns, cpu->id), 0);
	}
	return longest;
}

void smp_ipi_handle(struct pt_regs *regs __unused)
{
	unsigned asked = __atomic_exchange_n(&this_cpu()->ipi_pending, 0,
					     __ATOMIC_SEQ_CST);

	if (asked & BIT(IPI_CALL))
		answer_calls();
	if (asked & BIT(IPI_RESCHED))
		sched_ipi();
}

static void post(struct cpu *cpu, struct call *c)
{
	struct call_queue *q = &per_cpu(queues, cpu->id);
	unsigned long flags = spin_lock_irqsave(&q->lock);

	list_add_tail(&c->link, &q->calls);
	spin_unlock(&q->lock);
	smp_send(cpu, IPI_CALL);
	arch_irq_restore(flags);
}

static void wait_done(unsigned *pending, const char *what)
{
	u64 report = clock_ns() + REPORT_NS;

	/* Pairs with the release in run_calls(). */
	while (load_acquire(pending) > 0) {
		cpu_relax();
		if (clock_ns() < report)
			continue;
		pr_warn("%s: %u CPU(s) do not answer", what, *pending);
		report = clock_ns() + REPORT_NS;
	}
}

static void check_may_wait(const void *pc)
{
	probe_hit_keep_out("call of a CPU", pc);
	if (arch_irqs_disabled())
		panic("cross-CPU call with interrupts off");
}

void smp_call_all(void (*fn)(void *arg), void *arg)
{
	struct call calls[MAX_CPUS];
	unsigned pending = 0;
	unsigned long flags;

	if (system_is_booting()) {
		fn(arg);
		return;
	}
	check_may_wait(__builtin_return_address(0));
	/* Nobody migrates between choosing "the others" and running here. */
	preempt_disable();
	for_each_cpu(cpu)
		pending += cpu != this_cpu() && READ_ONCE(cpu->online);
	for_each_cpu(cpu) {
		if (cpu == this_cpu() || !READ_ONCE(cpu->online))
			continue;
		calls[cpu->id] = (struct call){ .fn = fn,
						.arg = arg,
						.pending = &pending };
		post(cpu, &calls[cpu->id]);
	}
	flags = arch_irq_save();
	fn(arg);
	arch_irq_restore(flags);
	preempt_enable();
	wait_done(&pending, "call on all CPUs");
}

int smp_call(unsigned cpu_id, void (*fn)(void *arg), void *arg)
{
	unsigned pending = 1;
	struct call c = { .fn = fn, .arg = arg, .pending = &pending };

	check_may_wait(__builtin_return_address(0));
	if (cpu_id >= cpu_count || !READ_ONCE(cpus[cpu_id].online))
		return -ENODEV;
	post(&cpus[cpu_id], &c);
	wait_done(&pending, "call on a CPU");
	return 0;
}

/*
 * NMI calls: one at a time for the whole machine, because NMIs coalesce and
 * carry no argument.
 */
static struct nmi_call {
	void (*fn)(void *arg, struct pt_regs *regs);
	void *arg;
	unsigned cpu_id;
	bool wanted;
} nmi_call;

/*
 * One NMI does all that is wanted by then, whoever sent it; those that were on
 * their way with it find nothing. There are no more of these than were sent.
 */
static DEFINE_PER_CPU(u64, nmis_sent);
static DEFINE_PER_CPU(u64, nmis_idle);

void smp_nmi_send(struct cpu *cpu)
{
	__atomic_fetch_add(&per_cpu(nmis_sent, cpu->id), 1, __ATOMIC_SEQ_CST);
	arch_nmi_send(cpu);
}

__noprobe bool smp_nmi_was_sent(void)
{
	if (this_cpu_ref(nmis_idle) >= READ_ONCE(this_cpu_ref(nmis_sent)))
		return false;
	this_cpu_ref(nmis_idle)++;
	return true;
}

bool (*smp_nmi_tracer)(struct pt_regs *regs);

bool smp_nmi_handle(struct pt_regs *regs)
{
	bool (*tracer)(struct pt_regs * regs) = READ_ONCE(smp_nmi_tracer);
	bool traced = tracer && tracer(regs);

	if (!load_acquire(&nmi_call.wanted) ||
	    nmi_call.cpu_id != smp_processor_id())
		return traced;
	nmi_call.fn(nmi_call.arg, regs);
	store_release(&nmi_call.wanted, false);
	return true;
}

int smp_nmi_call(unsigned cpu_id, void (*fn)(void *arg, struct pt_regs *regs),
		 void *arg)
{
	static unsigned busy;
	u64 report;

	if (cpu_id >= cpu_count || !READ_ONCE(cpus[cpu_id].online))
		return -ENODEV;
	/* Whoever waits for us with interrupts off must not keep us from a CPU. */
	preempt_disable();
	while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		cpu_relax();
	nmi_call.fn = fn;
	nmi_call.arg = arg;
	nmi_call.cpu_id = cpu_id;
	store_release(&nmi_call.wanted, true);
	smp_nmi_send(&cpus[cpu_id]);
	report = clock_ns() + REPORT_NS;
	/*
	 * Without end, as other calls: an NMI that comes late must still find
	 * that it is wanted, and @arg in place.
	 */
	while (load_acquire(&nmi_call.wanted)) {
		cpu_relax();
		if (clock_ns() < report)
			continue;
		pr_warn("NMI call: cpu %u does not answer", cpu_id);
		report = clock_ns() + REPORT_NS;
	}
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	preempt_enable();
	return 0;
}

/* Bringing up --------------------------------------------------------------- */

void smp_cpu_entry(struct cpu *cpu)
{
	arch_irq_init_cpu();
	arch_timer_init_cpu();
	timers_init_cpu();
	/* From here on others may send work. */
	store_release(&cpu->online, true);
	sched_idle();
}

static int start(struct cpu *cpu)
{
	u8 *stack = vm_alloc(THREAD_STACK_SIZE / PAGE_SIZE, VM_READ | VM_WRITE);
	u64 limit;
	int err;

	if (!stack)
		return -ENOMEM;
	cpu->boot_stack_top = (unsigned long)stack + THREAD_STACK_SIZE;
	cpu->thread->stack_top = cpu->boot_stack_top;
	sched_init_cpu(cpu);
	queue_init(cpu->id);
	err = arch_smp_start(cpu);
	if (err)
		return err;
	limit = clock_ns() + START_NS;
	while (!READ_ONCE(cpu->online)) {
		cpu_relax();
		if (clock_ns() > limit)
			return -ETIMEDOUT;
	}
	return 0;
}

void smp_init(void)
{
	int err;

	queue_init(0);
	if (cpu_count > 1 && arch_smp_prepare() < 0)
		panic("smp: no way to start other CPUs");
	for (unsigned i = 1; i < cpu_count; i++) {
		err = start(&cpus[i]);
		if (err)
			panic("smp: cpu %u (hw id %u) did not start: error %d",
			      i, cpus[i].hw_id, -err);
	}
}
