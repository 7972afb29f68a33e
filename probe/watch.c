// SPDX-License-Identifier: MIT
/*
 * Handlers that do not return. A handler runs with interrupts off, so its own
 * CPU cannot notice; the timer interrupts of the others do, and so does a CPU
 * that waits for the others with interrupts off (kernel/stop.c). Each looks at
 * all CPUs now and then; where the same call of a handler is still under way
 * after the budget, it sends an NMI, in which the handler is abandoned
 * (probe/hit.c). Only when the handlers of all CPUs hang is nobody left to tell.
 *
 * A hit itself pays one increment for this: no clock is read there.
 */
#include <arch/cpu.h>
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
	u64 next; /* when to look again */
	struct watched cpus[MAX_CPUS];
};

static DEFINE_PER_CPU(struct watcher, watchers);
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
	probe_hit_overdue(regs, asked);
	return true;
}

static void look_at(struct watched *w, struct cpu *cpu, u64 now)
{
	u64 turn = probe_hit_turn(cpu);

	if (turn != w->turn || turn == 0) {
		*w = (struct watched){ .turn = turn, .since = now };
	} else if (now - w->since >= READ_ONCE(budget)) {
		/* Pairs with the acquire in probe_watch_nmi(). */
		store_release(&per_cpu(overdue, cpu->id), turn);
		smp_nmi_send(cpu);
		w->since = now;
	}
}

void probe_watch_poll(void)
{
	struct watcher *w = &this_cpu_ref(watchers);
	u64 now;

	if (READ_ONCE(budget) == 0)
		return;
	now = clock_ns();
	if (now < w->next)
		return;
	w->next = now + budget / LOOKS;
	for_each_cpu(cpu) {
		if (cpu != this_cpu() && READ_ONCE(cpu->online))
			look_at(&w->cpus[cpu->id], cpu, now);
	}
}

static void look(struct timer *t __unused)
{
	probe_watch_poll();
}

static void watch_here(void *arg __unused)
{
	struct timer *t = &this_cpu_ref(watchers).timer;

	this_cpu_ref(watchers).next = 0;
	timer_init(t, look, NULL);
	timer_start(t, clock_ns() + budget / LOOKS, budget / LOOKS);
}

int probe_budget_set(u64 ns)
{
	if (ns != 0 && smp_online() < 2)
		return -ENODEV;
	mutex_lock(&watch_mutex);
	for_each_cpu(cpu) {
		if (budget != 0)
			timer_stop(&per_cpu(watchers, cpu->id).timer);
	}
	WRITE_ONCE(budget, ns);
	if (ns != 0)
		smp_call_all(watch_here, NULL);
	mutex_unlock(&watch_mutex);
	return 0;
}

u64 probe_budget(void)
{
	return READ_ONCE(budget);
}
