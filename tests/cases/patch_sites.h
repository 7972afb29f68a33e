/* SPDX-License-Identifier: MIT */
/*
 * What the cases about patching share: patch_area is a function made of many
 * sites; site i returns the value in its instruction. A round gives the first
 * few sites, or all, new values; whoever calls one meanwhile, in any context,
 * must get the value of before or of after.
 */
#ifndef SONDE_TESTS_CASES_PATCH_SITES_H
#define SONDE_TESTS_CASES_PATCH_SITES_H

#include <probe/patch.h>
#include <tests/cases/patch_area.h>

struct patch_rounds {
	unsigned sites; /* how many */
	unsigned len;	/* of each, how many bytes are written */
	enum patch_mode mode;
	/* What else is done by who runs into a site that is half written. */
	void (*in_trap)(struct pt_regs *regs);
	/* Round r is published as begun, then as done. */
	unsigned begun, done;
	struct text_patch list[PATCH_SITES];
};
extern struct patch_rounds patch_rounds;

/* What @site returns after @round. */
unsigned patch_value(unsigned round, unsigned site);
unsigned patch_call(unsigned site);
/* Fills the list, for @round. */
void patch_prepare(unsigned round);
/* Makes it so; a failure of the case if that cannot be. */
void patch_round(unsigned round);
/* Calls @site: true if it is as it was left last, or as it is to be next. */
bool patch_look(unsigned site);
/* As compiled: all return 0. */
void patch_restore(void);

#endif
