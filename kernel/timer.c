// SPDX-License-Identifier: MIT
/*
 * Timers: per CPU a tree by deadline and one hardware one-shot, which is set to
 * the earliest of the first timer and the end of the running time slice.
 *
 * A timer lives in the tree of the CPU that started it and fires there. Only
 * that CPU programs its hardware, so stopping one from elsewhere leaves at most
 * an interrupt that finds nothing to do.
 */
#include <kernel/lock.h>
#include <kernel/panic.h>
#include <kernel/percpu.h>
#include <kernel/thread.h>
#include <kernel/timer.h>

#define NEVER (~0ULL)

struct timer_base {
	struct spinlock lock;
	struct rb_root tree;
	struct timer *running; /* whose function is being called */
	u64 slice;	       /* end of the time slice, or NEVER */
	unsigned active;
};
static DEFINE_PER_CPU(struct timer_base, bases);

void timers_init_cpu(void)
{
	struct timer_base *base = &this_cpu_ref(bases);

	spin_lock_init(&base->lock, "timers", RANK_TIMER);
	base->slice = NEVER;
}

/* Equal deadlines stay in the order of their starting. */
static bool earlier(const struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct timer, node)->deadline <
	       rb_entry(b, struct timer, node)->deadline;
}

static void insert(struct timer_base *base, struct timer *t)
{
	rb_add(&base->tree, &t->node, earlier);
	base->active++;
}

static void erase(struct timer_base *base, struct timer *t)
{
	rb_erase(&base->tree, &t->node);
	base->active--;
}

static struct timer *first(struct timer_base *base)
{
	struct rb_node *n = rb_first(&base->tree);

	return n ? rb_entry(n, struct timer, node) : NULL;
}

/* This CPU's base only. */
static void program(struct timer_base *base)
{
	struct timer *t = first(base);

	arch_timer_arm(min(t ? t->deadline : NEVER, base->slice));
}

void timer_init(struct timer *t, void (*fn)(struct timer *t), void *arg)
{
	*t = (struct timer){ .fn = fn, .arg = arg, .cpu = -1 };
}

/* Locks the base that @t is in; -1 if it is in none, with nothing locked. */
static int lock_base_of(struct timer *t)
{
	for (;;) {
		int cpu = READ_ONCE(t->cpu);

		if (cpu < 0)
			return -1;
		spin_lock(&per_cpu(bases, cpu).lock);
		if (t->cpu == cpu)
			return cpu;
		spin_unlock(&per_cpu(bases, cpu).lock);
	}
}

static bool remove(struct timer *t)
{
	int cpu = lock_base_of(t);

	if (cpu < 0)
		return false;
	erase(&per_cpu(bases, cpu), t);
	WRITE_ONCE(t->cpu, -1);
	spin_unlock(&per_cpu(bases, cpu).lock);
	return true;
}

void timer_start(struct timer *t, u64 deadline, u64 period)
{
	unsigned long flags = arch_irq_save();
	struct timer_base *base = &this_cpu_ref(bases);

	remove(t);
	spin_lock(&base->lock);
	t->deadline = deadline;
	t->period = period;
	WRITE_ONCE(t->cpu, (int)smp_processor_id());
	insert(base, t);
	if (first(base) == t)
		program(base);
	spin_unlock(&base->lock);
	arch_irq_restore(flags);
}

/* The CPU whose interrupt is calling @t's function, or -1. */
static int running_on(const struct timer *t)
{
	for_each_cpu(cpu) {
		if (READ_ONCE(per_cpu(bases, cpu->id).running) == t)
			return (int)cpu->id;
	}
	return -1;
}

bool timer_stop(struct timer *t)
{
	bool active = false;

	for (;;) {
		unsigned long flags = arch_irq_save();
		int cpu;

		active |= remove(t);
		cpu = running_on(t);
		/* From its own function: it ends after us, and that is fine. */
		if (cpu == (int)smp_processor_id())
			cpu = -1;
		arch_irq_restore(flags);
		if (cpu < 0)
			return active;
		/* A periodic one may be put back by timers_run(): look again. */
		cpu_relax();
	}
}

/* Calls @t's function without the lock; it may start, stop or free @t. */
static void fire(struct timer_base *base, struct timer *t, u64 now)
{
	erase(base, t);
	WRITE_ONCE(t->cpu, -1);
	if (t->period) {
		/* Missed periods are skipped, not made up for. */
		t->deadline += t->period;
		if (t->deadline <= now)
			t->deadline = now + t->period;
		WRITE_ONCE(t->cpu, (int)smp_processor_id());
		insert(base, t);
	}
	WRITE_ONCE(base->running, t);
	spin_unlock(&base->lock);
	t->fn(t);
	spin_lock(&base->lock);
	WRITE_ONCE(base->running, NULL);
}

void timers_run(void)
{
	struct timer_base *base = &this_cpu_ref(bases);
	u64 now = clock_ns();
	struct timer *t;

	spin_lock(&base->lock);
	while ((t = first(base)) && t->deadline <= now)
		fire(base, t, now);
	if (base->slice <= now)
		base->slice = NEVER; /* sched_tick() sets the next one */
	program(base);
	spin_unlock(&base->lock);
}

void timers_set_slice(u64 deadline)
{
	struct timer_base *base = &this_cpu_ref(bases);

	spin_lock(&base->lock);
	base->slice = deadline;
	program(base);
	spin_unlock(&base->lock);
}

unsigned timers_active(void)
{
	unsigned n = 0;

	for_each_cpu(cpu)
		n += READ_ONCE(per_cpu(bases, cpu->id).active);
	return n;
}

static void wake_timer_fn(struct timer *t)
{
	struct wake_timer *w = container_of(t, struct wake_timer, timer);

	WRITE_ONCE(w->fired, true);
	thread_wake(w->thread);
}

void wake_timer_start(struct wake_timer *w, u64 ns)
{
	timer_init(&w->timer, wake_timer_fn, NULL);
	w->thread = current;
	w->fired = false;
	timer_start(&w->timer, clock_ns() + ns, 0);
}

void wake_timer_stop(struct wake_timer *w)
{
	timer_stop(&w->timer);
}
