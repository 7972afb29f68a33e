/* SPDX-License-Identifier: MIT */
/*
 * The time budget of handlers: one that has not returned after it is abandoned.
 */
#ifndef SONDE_PROBE_WATCH_H
#define SONDE_PROBE_WATCH_H

#include <lib/compiler.h>

struct pt_regs;

/*
 * Sets the budget of every single handler call in ns; 0: none. -ENODEV with only
 * one CPU and no timer that comes as an NMI: nobody could tell. Threads only.
 */
int __must_check probe_budget_set(u64 ns);
extern u64 probe_watch_budget;
static __always_inline u64 probe_budget(void)
{
	return READ_ONCE(probe_watch_budget);
}

/* Is it kept also when the handlers of all CPUs hang at once? */
bool probe_budget_is_sure(void);

/*
 * Looks at the other CPUs if it is time to. Interrupts off: timers call it, and
 * loops that wait for other CPUs, which run nothing that has probes if there is no
 * budget.
 */
void probe_watch_look(void);
static __always_inline void probe_watch_poll(void)
{
	if (probe_budget() != 0)
		probe_watch_look();
}

/*
 * trap(): an NMI, at first between probe_hit_nmi_enter() and _exit(): is it the
 * timer's? Looks at all CPUs if it is time to.
 */
bool probe_watch_nmi_poll(void);
/* ... and then, outside of them. True if it was for a handler of this CPU. No-probe. */
bool probe_watch_nmi(struct pt_regs *regs);

#endif
