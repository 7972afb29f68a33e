/* SPDX-License-Identifier: MIT */
/*
 * Inside the engine: detours and the jumps to them. <arch/detour.h> is about
 * their code.
 */
#ifndef SONDE_PROBE_DETOUR_H
#define SONDE_PROBE_DETOUR_H

#include <arch/detour.h>
#include "jump.h"
#include "region.h"
#include "site.h"

/*
 * Immutable once a jump leads to it. One that is replaced stays until nobody is in
 * it any more.
 */
struct detour {
	struct site *site;
	/* Direct: the set whose probes it calls, all of them. */
	const struct probe_set *set;
	struct detour_code code;
	struct region *region; /* NULL: it displaces one instruction */
	struct exec exec;
	struct jump jump;
	struct detour *next; /* among those that leave */
};

/*
 * build.c: makes @s->coming_detour, of a jump over its instruction, or of one over
 * several. NULL, or a reason why there is none. Under probe_mutex.
 */
const char *detour_build(struct site *s, enum jump_strategy wish);
const char *detour_build_region(struct site *s);

/* arm.c: one that no jump leads to, and nobody is in. */
void detour_free(struct detour *d);

/* Of a direct detour that is calling a handler. Any context; no-probe. */
static __always_inline const struct detour *detour_of(
	const struct pt_regs *frame)
{
	return exec_at(arch_detour_pc(frame))->detour;
}

#endif
