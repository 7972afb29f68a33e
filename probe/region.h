/* SPDX-License-Identifier: MIT */
/*
 * Inside the engine: a jump that takes the place of several instructions, of
 * which the first is probed.
 */
#ifndef SONDE_PROBE_REGION_H
#define SONDE_PROBE_REGION_H

#include <arch/insn.h>
#include <arch/jump.h>
#include <arch/text.h>

struct detour;

/* As many as a jump can touch. The last may be the longest there is. */
#define REGION_INSNS ARCH_JUMP_SIZE
#define REGION_MAX   (ARCH_JUMP_SIZE - 1 + ARCH_PATCH_MAX)

struct region {
	unsigned n;
	struct insn insns[REGION_INSNS];
	unsigned long at[REGION_INSNS]; /* where the detour does each */
};

static inline unsigned region_size(const struct region *r)
{
	const struct insn *last = &r->insns[r->n - 1];

	return (unsigned)(last->pc + last->len - r->insns[0].pc);
}

/* Once, at boot. */
int __must_check region_init(void);

/*
 * The instruction at @addr, which may be probed, and as many behind it as a jump
 * needs: NULL and *r filled, or a reason why not. Under probe_mutex.
 */
const char *region_check(unsigned long addr, struct region *r);
/* The first of these reasons, or NULL: is there a probe where the jump would be? */
const char *region_obstacle(unsigned long addr);

/* In hits and faults; any context, no-probe: */
/* Where in text the instruction is that @d was doing at @pc. */
unsigned long region_original(const struct detour *d, unsigned long pc);
/* Where what @pc names in text is to be run: if inside of a region, in its detour. */
unsigned long region_actual(unsigned long pc);

#endif
