/* SPDX-License-Identifier: MIT */
/*
 * The hit path's doors, for vectors.S and kernel/trap.c only. Any context,
 * interrupts off; no locks, no allocation; true means the trap is dealt with.
 */
#ifndef SONDE_PROBE_HIT_H
#define SONDE_PROBE_HIT_H

#include <arch/trap.h>

struct cpu;
struct detour;
struct hit;
struct pt_regs;

/*
 * vectors.S: a breakpoint. If there is a site, its handlers run and its
 * instruction will; else it is for trap() to find out whose it is.
 */
void probe_hit_break(struct pt_regs *regs);
/* From a general detour, or a direct one of which the hit is nested. */
void probe_hit_detour(struct pt_regs *regs, const struct detour *d);
/* ... and behind the displaced instruction. */
void probe_hit_detour_post(struct pt_regs *regs, const struct detour *d);
/* No site's breakpoint: the one behind a copy that was stepped? */
bool probe_hit_overran(struct pt_regs *regs, struct trap *t);
/* A step trap: the end of the step that this CPU began last. */
bool probe_hit_step(struct pt_regs *regs, struct trap *t);
/*
 * A fault in the copy or relocated form of an instruction: @regs and @t become
 * what the original would have given, and the search goes on.
 */
bool probe_hit_fault(struct pt_regs *regs, struct trap *t);
/* A data watchpoint traps behind the access: behind the original, in @t. */
void probe_hit_watched(struct trap *t);
/*
 * A fault that nobody can repair: if a handler is running, its own fault handler
 * is asked, and without its help the handler is abandoned.
 */
bool probe_hit_handler_fault(struct pt_regs *regs, struct trap *t);

/*
 * A hit has interrupts off. Should a handler have enabled them, they are off again
 * when the first one comes, which waits for the end of the hit like all others.
 */
bool probe_hit_interrupted(struct pt_regs *regs, struct trap *t);

/*
 * For probe/watch.c: which call of a handler @cpu is in, or 0. A number that
 * stays means that one call has not returned.
 */
u64 probe_hit_turn(const struct cpu *cpu);
/* In an NMI: abandons the handler if this CPU is still in call @turn. */
bool probe_hit_overdue(struct pt_regs *regs, u64 turn);

/*
 * Around what an NMI runs: a fault there is not the fault of a handler that the
 * NMI interrupted. Enter returns what exit needs. No-probe.
 */
bool probe_hit_nmi_enter(void);
void probe_hit_nmi_exit(bool before);

/* The levels of @cpu_id, for its struct cpu: see probe/level.h. */
struct hit *probe_hit_levels(unsigned cpu_id);

/* For reports: "\n  in handler of probe ...", or "". */
const char *probe_hit_describe(const struct pt_regs *regs);

/*
 * For what takes locks, or waits: a handler that comes here, from @pc, is abandoned
 * before it has the lock. To everybody else this does nothing.
 */
void probe_hit_keep_out(const char *lock, const void *pc);

/* True while this CPU runs a handler: what waits must refuse. */
bool probe_hit_in_handler(void);

#endif
