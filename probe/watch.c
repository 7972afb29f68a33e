// SPDX-License-Identifier: MIT
/*
 * Handlers that do not return. A handler runs with interrupts off, so its own
 * CPU cannot notice; the timer interrupts of the others do, and so do CPUs that
 * wait for others with interrupts off (kernel/stop.c). Each looks at
 * all CPUs now and then; where the same call of a handler is still under way
 * after the budget, it sends an NMI, in which the handler is abandoned
 * (probe/abandon.c). When the handlers of all CPUs hang, nobody is left to tell
 * but a timer that comes as an NMI (<arch/timer.h>): the boot CPU looks at all CPUs
 * then, itself included. Not every machine has one.
 *
 * A hit itself pays one increment for this: no clock is read there.
 */
#include <arch/cpu.h>
#include <arch/timer.h>
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
u64 probe_watch_budget;

/* The boot CPU's in NMIs; and has there ever been a timer for them? */
static struct watcher nmi_watcher;
static bool has_nmi_timer;

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
	} else if (now - w->since >= probe_budget()) {
		/* Pairs with the acquire in probe_watch_nmi(). */
		store_release(&per_cpu(overdue, cpu->id), turn);
		/* It looks at itself in an NMI, and asks itself next. */
		if (cpu != this_cpu())
			smp_nmi_send(cpu);
		w->since = now;
	}
}

static void poll(struct watcher *w, const struct cpu *but)
{
	u64 now;

	if (probe_budget() == 0)
		return;
	now = clock_ns();
	if (now < w->next)
		return;
	w->next = now + probe_budget() / LOOKS;
	for_each_cpu(cpu) {
		if (cpu != but && READ_ONCE(cpu->online))
			look_at(&w->cpus[cpu->id], cpu, now);
	}
}

void probe_watch_look(void)
{
	poll(&this_cpu_ref(watchers), this_cpu());
}

bool probe_watch_nmi_poll(void)
{
	if (!READ_ONCE(has_nmi_timer) || smp_processor_id() != 0)
		return false;
	poll(&nmi_watcher, NULL);
	return true;
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
	timer_start(t, clock_ns() + probe_budget() / LOOKS,
		    probe_budget() / LOOKS);
}

/* From the first one on: one may be late. */
static bool nmi_timer_start(u64 ns)
{
	bool had = has_nmi_timer;

	WRITE_ONCE(has_nmi_timer, true);
	if (arch_nmi_timer_set(ns / LOOKS) == 0)
		return true;
	WRITE_ONCE(has_nmi_timer, had);
	return false;
}

bool probe_budget_is_sure(void)
{
	return probe_budget() && READ_ONCE(has_nmi_timer);
}

int probe_budget_set(u64 ns)
{
	mutex_lock(&watch_mutex);
	if (!nmi_timer_start(ns) && ns != 0 && smp_online() < 2) {
		mutex_unlock(&watch_mutex);
		return -ENODEV;
	}
	for_each_cpu(cpu) {
		if (probe_budget() != 0)
			timer_stop(&per_cpu(watchers, cpu->id).timer);
	}
	WRITE_ONCE(probe_watch_budget, ns);
	if (ns != 0)
		smp_call_all(watch_here, NULL);
	mutex_unlock(&watch_mutex);
	return 0;
}
