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
		/* Pairs with the release in fire(). */
		int cpu = load_acquire(&t->cpu);

		if (cpu < 0)
			return -1;
		spin_lock(&per_cpu(bases, cpu).lock);
		if (t->cpu == cpu)
			return cpu;
		spin_unlock(&per_cpu(bases, cpu).lock);
	}
}

/* Out of whatever tree it is in; false if it was in none. */
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

/* Claims a timer that is in no tree: several CPUs may start it at once. */
static bool claim(struct timer *t, int cpu)
{
	int none = -1;

	return __atomic_compare_exchange_n(&t->cpu, &none, cpu, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void timer_start(struct timer *t, u64 deadline, u64 period)
{
	unsigned long flags = arch_irq_save();
	struct timer_base *base = &this_cpu_ref(bases);

	remove(t);
	spin_lock(&base->lock);
	while (!claim(t, (int)smp_processor_id())) {
		spin_unlock(&base->lock);
		remove(t);
		spin_lock(&base->lock);
	}
	t->deadline = deadline;
	t->period = period;
	insert(base, t);
	if (first(base) == t)
		program(base);
	spin_unlock(&base->lock);
	arch_irq_restore(flags);
}

/* Another CPU whose interrupt is calling @t's function; -1: none, or we are. */
static int running_elsewhere(const struct timer *t)
{
	int found = -1;

	for_each_cpu(cpu) {
		/* Pairs with the releases in fire(). */
		if (load_acquire(&per_cpu(bases, cpu->id).running) != t)
			continue;
		if (cpu == this_cpu())
			return -1;
		found = (int)cpu->id;
	}
	return found;
}

/*
 * One try. Looking at trees and at running functions is not one step: between
 * the two a function may end that started @t again, or @t may fire. Unless it
 * fired meanwhile, a function that was seen not to run stays so, and then
 * nothing of @t's can put it back into a tree.
 */
static bool stopped(struct timer *t, bool *active)
{
	unsigned long flags = arch_irq_save();
	/* Pairs with the release in fire(). */
	unsigned fired = load_acquire(&t->fired);
	bool done;

	*active |= remove(t);
	done = running_elsewhere(t) < 0 && load_acquire(&t->cpu) < 0 &&
	       READ_ONCE(t->fired) == fired;
	arch_irq_restore(flags);
	return done;
}

bool timer_stop(struct timer *t)
{
	bool active = false;

	while (!stopped(t, &active))
		cpu_relax();
	return active;
}

/*
 * Calls @t's function without the lock; it may start, stop or free @t. That it
 * runs is visible before that @t is in no tree, so whoever does not find it in
 * one finds it running.
 */
static void fire(struct timer_base *base, struct timer *t, u64 now)
{
	erase(base, t);
	store_release(&base->running, t);
	WRITE_ONCE(t->fired, t->fired + 1);
	if (t->period) {
		/* Missed periods are skipped, not made up for. */
		t->deadline += t->period;
		if (t->deadline <= now)
			t->deadline = now + t->period;
		insert(base, t);
	} else {
		/* Pairs with the acquire in stopped(). */
		store_release(&t->cpu, -1);
	}
	spin_unlock(&base->lock);
	t->fn(t);
	spin_lock(&base->lock);
	/* Pairs with the acquire in running_elsewhere(). */
	store_release(&base->running, NULL);
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
