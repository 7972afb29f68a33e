/* SPDX-License-Identifier: MIT */
/* Instructions that run elsewhere only with care: step_area.S, t_step.c. */
#ifndef SONDE_TESTS_STEP_H
#define SONDE_TESTS_STEP_H

#include <probe/opt.h>
#include <probe/plan.h>

/*
 * A function with such an instruction at @at, which it runs @hits times; 0: once
 * or more, since it tries again what an interrupt has spoiled.
 */
struct step_case {
	const char *name;
	unsigned long (*fn)(unsigned long arg);
	unsigned long at;
	unsigned long arg;
	unsigned long hits;
};
extern const struct step_case step_cases[], step_cases_end[];

/* How probed instructions can be made to run. */
struct step_way {
	const char *name;
	enum probe_plan plan;
	enum opt_mode opt;
};
enum {
	STEP_WAY_STEPPED,
	STEP_WAY_SLOT,
	STEP_WAY_EMULATED,
	STEP_WAY_JUMP,
	STEP_WAYS
};
extern const struct step_way step_ways[STEP_WAYS];
/* Probes that are registered from now on run so; NULL: as they like. */
void step_way_set(const struct step_way *way);

/* Does it the same with a probe on it, of every kind? */
void step_check(const struct step_case *c, bool irqs);
/* Of the machine: what of its state is not to be left otherwise. */
unsigned long step_state(void);

#endif
