// SPDX-License-Identifier: MIT
/*
 * The scheduler: who runs where. One run queue per CPU, round robin with time
 * slices; a CPU with nothing to do takes a waiting thread from another.
 *
 * A run queue's lock protects its list and the state, cpu and queue link of the
 * threads on it or running there. It is held across the switch: taken by the
 * thread that leaves, freed in switch_finish() by the one that comes, so nobody
 * sees a thread whose registers are half saved. Only one run queue is locked at
 * a time; a thread that moves is on no list in between, with state READY and
 * t->cpu already its destination, set under the lock of the queue that it left.
 *
 * Interrupts are off throughout. Preemption happens in sched_irq_exit() (at any
 * interruptible instruction) and in preempt_schedule().
 */
#include <arch/boot.h>
#include <arch/regs.h>
#include <arch/smp.h>
#include <arch/timer.h>
#include <kernel/lock.h>
#include <kernel/panic.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include "sched.h"

#define SLICE_NS (4 * NSEC_PER_MSEC)

struct runq {
	struct spinlock lock;
	struct list_head ready;
	unsigned nr_ready;
	struct thread *running;
	struct thread *prev; /* what the switch under way leaves */
	bool prev_moves;     /* prev may not stay here: place it elsewhere */
};
static DEFINE_PER_CPU(struct runq, runqs);

/* arch_context_switch() makes the thread of a context the running one. */
STATIC_ASSERT(offsetof(struct thread, ctx) == 0);

static struct thread idle_threads[MAX_CPUS];

struct thread *sched_idle_thread(unsigned cpu_id)
{
	return &idle_threads[cpu_id];
}

static bool is_idle(const struct thread *t)
{
	return t >= idle_threads && t < idle_threads + MAX_CPUS;
}

/*
 * Who has the lock of @rq is alone with it, if all keep to that. Read again, or the
 * compiler would compare what it has just written with itself.
 */
static bool is_runq_of(const struct runq *rq, const struct thread *t)
{
	return rq == &per_cpu(runqs, READ_ONCE(t->cpu));
}

static void enqueue(struct runq *rq, struct thread *t)
{
	ASSERT(is_runq_of(rq, t));
	list_add_tail(&t->queue, &rq->ready);
	WRITE_ONCE(rq->nr_ready, rq->nr_ready + 1);
}

static void dequeue(struct runq *rq, struct thread *t)
{
	ASSERT(is_runq_of(rq, t));
	list_del_init(&t->queue);
	WRITE_ONCE(rq->nr_ready, rq->nr_ready - 1);
}

/* The run queue of the CPU that @t runs, waits or last ran on, locked. */
static struct runq *lock_runq_of(const struct thread *t)
{
	for (;;) {
		unsigned cpu = READ_ONCE(t->cpu);
		struct runq *rq = &per_cpu(runqs, cpu);

		spin_lock(&rq->lock);
		if (t->cpu == cpu)
			return rq;
		spin_unlock(&rq->lock);
	}
}

/* Has the CPU look at its queue: it switches on its way out of an interrupt. */
static void kick(unsigned cpu_id)
{
	struct cpu *cpu = &cpus[cpu_id];

	if (cpu == this_cpu())
		current->need_resched = true;
	else
		smp_send(cpu, IPI_RESCHED);
}

/* An idle CPU if there is one, else the least loaded; its last one if equal. */
static unsigned choose_cpu(const struct thread *t)
{
	unsigned best = t->cpu;
	unsigned best_load = ~0u;

	for_each_cpu(cpu) {
		struct runq *rq = &per_cpu(runqs, cpu->id);
		unsigned load = READ_ONCE(rq->nr_ready) +
				!is_idle(READ_ONCE(rq->running));

		if (!READ_ONCE(cpu->online) || !(t->affinity & BIT(cpu->id)))
			continue;
		if (load < best_load ||
		    (load == best_load && cpu->id == t->cpu)) {
			best = cpu->id;
			best_load = load;
		}
	}
	return best;
}

/*
 * @t is on no list, not running, and READY: it leaves for another CPU, or this one.
 * Under the lock of the run queue that @t->cpu names: who holds that and finds
 * itself named may rely on @t being there, or on no list.
 */
static void send(struct thread *t)
{
	WRITE_ONCE(t->cpu, choose_cpu(t));
}

/* ... and arrives. No lock held. */
static void place(struct thread *t)
{
	struct runq *rq = lock_runq_of(t);

	enqueue(rq, t);
	/* A busy CPU comes to it when the slice ends: see switch_to_next(). */
	if (is_idle(rq->running))
		kick(t->cpu);
	spin_unlock(&rq->lock);
}

void sched_add(struct thread *t)
{
	unsigned long flags = arch_irq_save();

	send(t); /* nobody else knows it yet */
	place(t);
	arch_irq_restore(flags);
}

bool thread_wake(struct thread *t)
{
	unsigned long flags = arch_irq_save();
	struct runq *rq = lock_runq_of(t);
	bool wake = t->state == THREAD_BLOCKED;
	bool running = rq->running == t;

	if (wake)
		t->state = THREAD_READY;
	if (wake && !running)
		send(t);
	spin_unlock(&rq->lock);
	/* Still running: it will find itself ready when it calls schedule(). */
	if (wake && !running)
		place(t);
	arch_irq_restore(flags);
	return wake;
}

void thread_prepare_block(void)
{
	unsigned long flags = arch_irq_save();
	struct runq *rq = lock_runq_of(current);

	current->state = THREAD_BLOCKED;
	spin_unlock(&rq->lock);
	arch_irq_restore(flags);
}

void thread_cancel_block(void)
{
	unsigned long flags = arch_irq_save();
	struct runq *rq = lock_runq_of(current);

	current->state = THREAD_READY;
	spin_unlock(&rq->lock);
	arch_irq_restore(flags);
}

/* First thing on the new thread's side: frees the lock, tidies up the old. */
static void switch_finish(void)
{
	struct runq *rq = &this_cpu_ref(runqs);
	struct thread *prev = rq->prev;
	bool moves = rq->prev_moves;
	bool dead = prev->state == THREAD_DEAD;

	rq->prev_moves = false;
	if (moves)
		send(prev);
	spin_unlock(&rq->lock);
	if (dead)
		thread_gone(prev);
	else if (moves)
		place(prev);
}

void sched_thread_started(void)
{
	switch_finish();
}

/* Puts the leaving thread where its state says. The run queue is locked. */
static void put_prev(struct runq *rq, struct thread *prev)
{
	prev->run_ns += clock_ns() - prev->started_ns;
	if (is_idle(prev) || prev->state != THREAD_READY)
		return;
	if (prev->affinity & BIT(prev->cpu))
		enqueue(rq, prev);
	else
		rq->prev_moves = true;
}

static struct thread *pick_next(struct runq *rq)
{
	struct thread *next;

	if (list_empty(&rq->ready))
		return &idle_threads[smp_processor_id()];
	next = list_first_entry(&rq->ready, struct thread, queue);
	dequeue(rq, next);
	return next;
}

/* Interrupts off. Returns when @prev, the caller, has a CPU again. */
static void switch_to_next(void)
{
	struct runq *rq = &this_cpu_ref(runqs);
	struct thread *prev = current, *next;

	spin_lock(&rq->lock);
	prev->need_resched = false;
	put_prev(rq, prev);
	next = pick_next(rq);
	next->started_ns = clock_ns();
	/* The tick goes on only where there is somebody to preempt. */
	timers_set_slice(is_idle(next) ? ~0ULL : next->started_ns + SLICE_NS);
	if (next == prev) {
		spin_unlock(&rq->lock);
		return;
	}
	next->switches++;
	rq->running = next;
	rq->prev = prev;
	arch_context_switch(&prev->ctx, &next->ctx);
	/* Another CPU, perhaps: nothing from above but prev is valid here. */
	switch_finish();
}

void schedule(void)
{
	unsigned long flags = arch_irq_save();

	ASSERT(current->preempt_count == 0);
	if (unlikely(current->ret.tight))
		ret_stack_grow();
	current->voluntary++;
	switch_to_next();
	arch_irq_restore(flags);
}

void thread_yield(void)
{
	schedule();
}

/*
 * The running thread loses its CPU at an instruction it did not choose. If it is
 * between thread_prepare_block() and schedule() it must not vanish from all
 * lists: it becomes ready, and looks at its condition once more than needed.
 */
static void preempt(unsigned long pc)
{
	struct thread *t = current;

	t->preempted = true;
	t->preempted_pc = pc;
	t->state = THREAD_READY;
	switch_to_next();
	t->preempted = false;
}

void sched_irq_exit(const struct pt_regs *regs)
{
	if (!regs_irqs_enabled(regs))
		return;
	if (unlikely(current->ret.tight) && current->preempt_count == 0)
		ret_stack_grow();
	while (current->need_resched && current->preempt_count == 0)
		preempt(instruction_pointer(regs));
}

void preempt_schedule(void)
{
	unsigned long flags;

	/* With interrupts off the next interrupt's exit does it. */
	if (arch_irqs_disabled())
		return;
	flags = arch_irq_save();
	if (current->need_resched && current->preempt_count == 0)
		preempt((unsigned long)__builtin_return_address(0));
	arch_irq_restore(flags);
}

/*
 * Somebody waits here although a CPU sleeps that may run it: its affinity was
 * widened, or two were placed on one idle CPU at once. That CPU will steal().
 */
static void wake_a_thief(struct runq *rq)
{
	struct thread *t;

	spin_lock(&rq->lock);
	list_for_each_entry(t, &rq->ready, queue) {
		for_each_cpu(cpu) {
			if (!(t->affinity & BIT(cpu->id)) ||
			    !READ_ONCE(cpu->online) ||
			    !is_idle(
				    READ_ONCE(per_cpu(runqs, cpu->id).running)))
				continue;
			kick(cpu->id);
			spin_unlock(&rq->lock);
			return;
		}
	}
	spin_unlock(&rq->lock);
}

void sched_tick(void)
{
	struct runq *rq = &this_cpu_ref(runqs);
	u64 now = clock_ns();

	if (is_idle(current) || now < current->started_ns + SLICE_NS)
		return;
	if (READ_ONCE(rq->nr_ready) > 0) {
		current->need_resched = true;
		wake_a_thief(rq);
	}
	/*
	 * Also where somebody waits: if preemption is off now and goes on with
	 * interrupts off, only another interrupt can see that it is wanted.
	 */
	timers_set_slice(now + SLICE_NS);
}

void sched_ipi(void)
{
	current->need_resched = true;
}

enum thread_whereabouts sched_whereabouts(struct thread *t, unsigned long *pc)
{
	unsigned long flags = arch_irq_save();
	struct runq *rq = lock_runq_of(t);
	enum thread_whereabouts where = THREAD_OFF;

	/* t->preempted changes only while @t runs, so not under this lock. */
	if (rq->running == t) {
		where = THREAD_ON_CPU;
	} else if (t->preempted) {
		where = THREAD_PREEMPTED;
		*pc = t->preempted_pc;
	}
	spin_unlock(&rq->lock);
	arch_irq_restore(flags);
	return where;
}

/*
 * One try: true if @t obeys its affinity now. While it is between run queues it
 * may be under way to a CPU that was chosen by the old mask: that is not known
 * before it has arrived. One that waits will be placed by the new mask.
 */
static bool affinity_enforce(struct thread *t, u32 mask)
{
	unsigned long flags = arch_irq_save();
	struct runq *rq = lock_runq_of(t);
	bool queued = !list_empty(&t->queue);
	bool running = rq->running == t;
	bool obeys;

	t->affinity = mask;
	if (running || queued)
		obeys = mask & BIT(t->cpu);
	else
		obeys = t->state != THREAD_READY;
	if (!obeys && running) {
		kick(t->cpu); /* put_prev() sees the new mask */
	} else if (!obeys && queued) {
		dequeue(rq, t);
		send(t);
	}
	spin_unlock(&rq->lock);
	if (!obeys && queued)
		place(t);
	arch_irq_restore(flags);
	return obeys;
}

int thread_set_affinity(struct thread *t, u32 mask)
{
	u32 online = 0;

	for_each_cpu(cpu)
		online |= READ_ONCE(cpu->online) ? BIT(cpu->id) : 0;
	if (!(mask & online))
		return -EINVAL;
	while (!affinity_enforce(t, mask))
		thread_yield();
	return 0;
}

/* Takes a thread that waits on another CPU and may run here. */
static void steal(void)
{
	struct cpu *me = this_cpu();

	for_each_cpu(cpu) {
		struct runq *rq = &per_cpu(runqs, cpu->id);
		struct thread *t;

		if (cpu == me || READ_ONCE(rq->nr_ready) == 0)
			continue;
		spin_lock(&rq->lock);
		list_for_each_entry(t, &rq->ready, queue) {
			if (!(t->affinity & BIT(me->id)))
				continue;
			dequeue(rq, t);
			WRITE_ONCE(t->cpu, me->id);
			spin_unlock(&rq->lock);
			rq = &this_cpu_ref(runqs);
			spin_lock(&rq->lock);
			enqueue(rq, t);
			spin_unlock(&rq->lock);
			return;
		}
		spin_unlock(&rq->lock);
	}
}

void sched_init_cpu(struct cpu *cpu)
{
	struct runq *rq = &per_cpu(runqs, cpu->id);
	struct thread *idle = &idle_threads[cpu->id];

	spin_lock_init(&rq->lock, "runq", RANK_RUNQ);
	INIT_LIST_HEAD(&rq->ready);
	rq->running = idle;
	idle->id = -(int)cpu->id;
	idle->cpu = cpu->id;
	idle->affinity = BIT(cpu->id);
	INIT_LIST_HEAD(&idle->queue);
	thread_add_idle(idle);
}

void sched_init(void)
{
	current->stack_top = (unsigned long)boot_stack_top;
	sched_init_cpu(this_cpu());
	WRITE_ONCE(this_cpu()->online, true);
}

void sched_idle(void)
{
	struct runq *rq = &per_cpu(runqs, smp_processor_id());

	for (;;) {
		arch_irq_disable();
		if (READ_ONCE(rq->nr_ready) == 0)
			steal();
		if (READ_ONCE(rq->nr_ready) > 0) {
			current->voluntary++;
			switch_to_next();
		} else {
			arch_cpu_idle(); /* returns with interrupts on */
		}
	}
}
