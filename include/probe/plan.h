/* SPDX-License-Identifier: MIT */
/*
 * How the displaced instruction of a breakpoint runs. Chosen for each site when
 * it is made, by what its instruction can do; or forced, by `plan=`, for tests
 * and for teaching.
 *
 * AUTO		SLOT, but EMULATE where a post-handler wants to know the end; STEP
 *		where there is nothing better
 * EMULATE	the engine does what the instruction would: one trap
 * SLOT		a relocated copy runs and jumps back: one trap, but nobody learns
 *		when it is done, so with a post-handler it is stepped
 * STEP		a copy is single-stepped: two traps
 */
#ifndef SONDE_PROBE_PLAN_H
#define SONDE_PROBE_PLAN_H

#include <lib/compiler.h>

enum probe_plan { PLAN_AUTO, PLAN_EMULATE, PLAN_SLOT, PLAN_STEP };

/*
 * The plan of sites that are made from now on. Where the forced one is
 * impossible, registration is refused with -EOPNOTSUPP.
 */
void probe_plan_set(enum probe_plan plan);
enum probe_plan probe_plan(void);
const char *probe_plan_name(enum probe_plan plan);
/* The same by name; -EINVAL for what is none. */
int __must_check probe_plan_parse(const char *name);

struct kprobe;
/* The plan of a registered probe. Under the probe mutex: kprobe_for_each(). */
enum probe_plan kprobe_plan(const struct kprobe *p);

#endif
