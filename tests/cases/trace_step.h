/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own code, single-stepped: for a trap_tracer (<kernel/trap.h>).
 */
#ifndef SONDE_TESTS_CASES_TRACE_STEP_H
#define SONDE_TESTS_CASES_TRACE_STEP_H

#include <lib/compiler.h>

struct pt_regs;

/* The caller is stepped from here on. */
void trace_step_begin(void);
/*
 * One more step, or none. What the next instruction would not do under a step as
 * it does else, and what would end the stepping, is seen to. False where no trap
 * may come at all: there is no step then, but the code itself goes on with them.
 */
bool trace_step_on(struct pt_regs *regs);
void trace_step_off(struct pt_regs *regs);

#endif
