/* SPDX-License-Identifier: MIT */
/*
 * Waiting until nothing old is in use any more.
 *
 * quiesce_cpus()  returns when every CPU has been at a safe point since the call:
 *	interrupts on, outside of any trap or probe handler. Whatever was visible
 *	to a handler only before the call is unused then.
 * quiesce_tasks() returns when, in addition, every thread that had been preempted
 *	at an arbitrary instruction has since left its CPU by its own will, ended,
 *	or is the caller. No thread's pc or return address then lies in code that
 *	was unreachable at the call, provided such code never sleeps.
 * quiesce_tasks_in() is the same for code that @old knows; it ends however much
 *	the threads run other code outside of text. @old: any context, no locks.
 *
 * Threads only. Both may be called by several at once.
 */
#ifndef SONDE_KERNEL_QUIESCE_H
#define SONDE_KERNEL_QUIESCE_H

#include <lib/compiler.h>

void quiesce_cpus(void);
void quiesce_tasks(void);
void quiesce_tasks_in(bool (*old)(unsigned long pc));
/* Asks only so often, a millisecond apart. False: somebody is there still. */
bool __must_check quiesce_tasks_try(bool (*old)(unsigned long pc),
				    unsigned tries);

#endif
