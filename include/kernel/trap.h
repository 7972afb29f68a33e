/* SPDX-License-Identifier: MIT */
/*
 * One trap policy for both machines: kernel/trap.c.
 */
#ifndef SONDE_KERNEL_TRAP_H
#define SONDE_KERNEL_TRAP_H

#include <arch/trap.h>

/*
 * The last trap that an exception-table entry repaired on this CPU: tests raise
 * traps and look here what they were.
 */
const struct trap *trap_last_repaired(void);

/*
 * For who single-steps the kernel itself: is called for every step trap that is
 * not a probe's, in its context, and says whether it knows of it.
 */
extern bool (*trap_tracer)(struct pt_regs *regs);

/* "breakpoint", "step", ...: by enum trap_kind. */
const char *trap_kind_name(enum trap_kind kind);

#endif
