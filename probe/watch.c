// SPDX-License-Identifier: MIT
/*
 * Handlers that do not return. A handler runs with interrupts off, so its own
 * CPU cannot notice; the timer interrupts of two others do. Each looks at all
 * CPUs now and then; where the same call of a handler is still under way after
 * the budget, it sends an NMI, in which the handler is abandoned (probe/hit.c).
 *
 * A hit itself pays one increment for this: no clock is read there.
 */
#include <arch/cpu.h>
#include <kernel/console.h>
#include <kernel/lock.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/timer.h>
#include <kernel/wait.h>
#include <lib/errno.h>
#include <probe/hit.h>
#include <probe/watch.h>

#define LOOKS 4 /* per budget */

/* What one watcher knows of one CPU. */
struct watched {
	u64 turn;  /* the call that was under way at the last look */
	u64 since; /* first seen then */
};

struct watcher {
	struct timer timer;
	struct watched cpus[MAX_CPUS];
};

static struct watcher watchers[2];
static struct mutex watch_mutex = MUTEX(watch_mutex);
static u64 budget;

/* The call that each CPU is asked to abandon; 0: none. */
static DEFINE_PER_CPU(u64, overdue);

__noprobe bool probe_watch_nmi(struct pt_regs *regs)
{
	u64 *turn = &this_cpu_ref(overdue);
	u64 asked = __atomic_exchange_n(turn, 0, __ATOMIC_ACQUIRE);

	if (!asked)
		return false;
	/* It may hold a lock, against all rules: then at the next look. */
	if (locks_held() == 0 && !console_is_mine())
		probe_hit_overdue(regs, asked);
	return true;
}

static void look_at(struct watched *w, struct cpu *cpu, u64 now)
{
	u64 turn = probe_hit_turn(cpu->id);

	if (turn != w->turn || turn == 0) {
		*w = (struct watched){ .turn = turn, .since = now };
	} else if (now - w->since >= READ_ONCE(budget)) {
		/* Pairs with the acquire in probe_watch_nmi(). */
		store_release(&per_cpu(overdue, cpu->id), turn);
		smp_nmi_send(cpu);
	}
}

static void look(struct timer *t)
{
	struct watcher *w = container_of(t, struct watcher, timer);
	u64 now = clock_ns();

	for_each_cpu(cpu) {
		if (cpu != this_cpu() && READ_ONCE(cpu->online))
			look_at(&w->cpus[cpu->id], cpu, now);
	}
}

/* On every CPU: the first two watch, or stop watching. */
static void watch_here(void *arg __unused)
{
	unsigned id = smp_processor_id();

	if (id >= ARRAY_SIZE(watchers) || budget == 0)
		return;
	timer_init(&watchers[id].timer, look, NULL);
	timer_start(&watchers[id].timer, clock_ns() + budget / LOOKS,
		    budget / LOOKS);
}

int probe_budget_set(u64 ns)
{
	if (ns != 0 && smp_online() < 2)
		return -ENODEV;
	mutex_lock(&watch_mutex);
	for (unsigned i = 0; i < ARRAY_SIZE(watchers) && budget != 0; i++)
		timer_stop(&watchers[i].timer);
	budget = ns;
	smp_call_all(watch_here, NULL);
	mutex_unlock(&watch_mutex);
	return 0;
}

u64 probe_budget(void)
{
	return READ_ONCE(budget);
}
