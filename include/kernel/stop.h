/* SPDX-License-Identifier: MIT */
/*
 * stop_machine(): runs one function while every other CPU stands still with
 * interrupts off. NMIs still arrive.
 */
#ifndef SONDE_KERNEL_STOP_H
#define SONDE_KERNEL_STOP_H

#include <lib/compiler.h>

/*
 * Runs @fn(@arg) on this CPU, interrupts off, all others spinning. Returns its
 * value; -EDEADLK if called with interrupts off or from a handler. @fn takes no
 * lock that another CPU may hold. Every CPU serialises before it goes on.
 * A CPU that does not come is reported after 5 seconds, and again.
 */
int __must_check stop_machine(int (*fn)(void *arg), void *arg);

/*
 * From @fn: returns when every CPU has serialised since the call. NMIs that had
 * come to those that stand still are over then, and their looks for handlers that
 * hang (probe_watch_poll()), too.
 */
void stop_sync(void);

struct stop_stats {
	u64 calls;
	u64 longest_ns; /* from the first CPU stopped to all released */
	u64 last_ns;	/* the same for the last call */
	u64 waits;	/* of other CPUs for the caller: one each per call */
};
void stop_stats_get(struct stop_stats *s);

/* For tests of the hang report: called instead of printing. */
extern void (*stop_hang_report)(unsigned cpu_id, const char *state);
extern u64 stop_hang_ns;

#endif
