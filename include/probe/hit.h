/* SPDX-License-Identifier: MIT */
/*
 * The hit path's doors, called by kernel/trap.c only. Any context, interrupts
 * off; no locks, no allocation; true means the trap is dealt with.
 */
#ifndef SONDE_PROBE_HIT_H
#define SONDE_PROBE_HIT_H

#include <arch/trap.h>

struct pt_regs;

/* A breakpoint at @pc: the site's handlers run, and its instruction does. */
bool probe_hit_break(struct pt_regs *regs, unsigned long pc);
/* No site's breakpoint: the one behind a copy that was stepped? */
bool probe_hit_overran(struct pt_regs *regs, struct trap *t);
/* A step trap: the end of the step that this CPU began last. */
bool probe_hit_step(struct pt_regs *regs, struct trap *t);
/*
 * A fault in the copy or relocated form of an instruction: @regs and @t become
 * what the original would have given, and the search goes on.
 */
bool probe_hit_fault(struct pt_regs *regs, struct trap *t);
/*
 * A fault that nobody can repair: if a handler is running, its own fault handler
 * is asked, and without its help the handler is abandoned.
 */
bool probe_hit_handler_fault(struct pt_regs *regs, struct trap *t);

/*
 * For probe/watch.c: which call of a handler @cpu_id is in, or 0. A number that
 * stays means that one call has not returned.
 */
u64 probe_hit_turn(unsigned cpu_id);
/* In an NMI: abandons the handler if this CPU is still in call @turn. */
bool probe_hit_overdue(struct pt_regs *regs, u64 turn);

/*
 * Around what an NMI runs: a fault there is not the fault of a handler that the
 * NMI interrupted. Enter returns what exit needs. No-probe.
 */
unsigned probe_hit_nmi_enter(void);
void probe_hit_nmi_exit(unsigned before);

/* For reports: "\n  in handler of probe ...", or "". */
const char *probe_hit_describe(void);

/* True while this CPU runs a handler: what waits must refuse. */
bool probe_hit_in_handler(void);

#endif
