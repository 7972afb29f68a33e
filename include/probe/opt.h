/* SPDX-License-Identifier: MIT */
/*
 * The optimiser: makes jumps of breakpoints. A site begins with a breakpoint,
 * which is always right; a thread in the background turns it into a jump to a
 * detour, if that is possible, and whatever changes there turns it back first.
 *
 * Calls are for threads, and may wait; -EDEADLK from a handler or with
 * interrupts off.
 */
#ifndef SONDE_PROBE_OPT_H
#define SONDE_PROBE_OPT_H

#include <arch/jump.h>

struct kprobe;
struct site;

/* Boot, when there are threads: starts the one in the background. -ENOMEM. */
int __must_check opt_init(void);

enum opt_mode {
	OPT_OFF,   /* no jumps but by opt_sync() */
	OPT_ON,	   /* in the background */
	OPT_EAGER, /* before whoever changes something returns: for tests */
};

/* OPT_OFF takes all jumps back before it returns. */
int opt_set(enum opt_mode mode);
enum opt_mode opt_mode(void);
/* "off", "on", "eager"; -EINVAL for anything else. */
int __must_check opt_parse(const char *name);
const char *opt_mode_name(enum opt_mode mode);
/*
 * Returns when there is nothing left to do, on or off. What waits for who stays
 * where its jump would be is tried once more.
 */
int opt_sync(void);
/*
 * The one strategy that may be used, JUMP_NONE for any. Jumps that stand stay.
 * opt_wish_parse(): by name, "any" or "off" too; -EINVAL.
 */
void opt_wish(enum jump_strategy wish);
int __must_check opt_wish_parse(const char *name);
const char *opt_wish_name(void);

struct opt_stats {
	unsigned jumps; /* that stand */
	unsigned by_strategy[JUMP_STRATEGIES];
};
void opt_stats_get(struct opt_stats *stats);

/*
 * The jump that stands at a registered probe, or JUMP_NONE. Under the probe mutex:
 * kprobe_for_each().
 */
enum jump_strategy kprobe_jump(const struct kprobe *p);
const char *jump_strategy_name(enum jump_strategy s);

/* The engine's, under probe_mutex: */
/* @s may have become possible. */
void opt_again(struct site *s);
/* ... may become possible by itself: somebody stays where its jump would be. */
void opt_later(struct site *s);
/* Are the jumps of a change of @n sites to be part of it? */
bool opt_is_due(unsigned n);
/* Finds @s, which changes, a jump, or a reason why it has none. */
void opt_plan(struct site *s);
/*
 * What would a jump at @s, which need not be published, be now? NULL and *strategy,
 * or why there is none. Nothing is left of it.
 */
const char *opt_try(struct site *s, enum jump_strategy *strategy);
/* The end of a change. */
void opt_changed(void);
/* May there be jumps? */
bool opt_has_worked(void);

#endif
