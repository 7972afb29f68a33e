/* SPDX-License-Identifier: MIT */
/*
 * The only writer of text. Two ways, chosen by `patch=` or per call:
 *
 * PATCH_BREAK	breakpoint on the first byte, all CPUs synchronised; the other
 *		bytes, synchronised; the first byte, synchronised. No CPU stands
 *		still for longer than one interrupt.
 * PATCH_STOP	one write while all other CPUs stand still.
 *
 * Either way a CPU that runs the bytes meanwhile executes the old or the new
 * instruction, never a mixture, and after text_patch() returned only the new.
 */
#ifndef SONDE_PROBE_PATCH_H
#define SONDE_PROBE_PATCH_H

#include <lib/compiler.h>
#include <arch/text.h>

enum patch_mode { PATCH_BREAK, PATCH_STOP };

struct text_patch {
	unsigned long addr;
	u8 len; /* 1..ARCH_PATCH_MAX; old and new are one instruction each, or */
		/* nobody can be between their boundaries */
	u8 bytes[ARCH_PATCH_MAX];
};

/* The default mode: from the command line, changed by tests and the monitor. */
enum patch_mode patch_mode(void);
void patch_mode_set(enum patch_mode mode);

/*
 * Applies @n patches as one batch, with one round of synchronisation for all.
 * Addresses must be distinct and ascending. Threads only; serialised inside.
 * -EINVAL	order, length, or not kernel text or slot area
 * Nothing was changed then.
 */
int __must_check text_patch(const struct text_patch *patches, unsigned n);
int __must_check text_patch_mode(const struct text_patch *patches, unsigned n,
				 enum patch_mode mode);

/*
 * trap(): a breakpoint at @pc that no probe owns. True: run the instruction at
 * @pc again, because it is being patched, was just patched, or (bounded, told in
 * the statistics) because the CPU still runs a stale translation. No-probe.
 */
struct pt_regs;
bool patch_hit_break(unsigned long pc, struct pt_regs *regs);

struct patch_stats {
	u64 patches;	   /* single changes */
	u64 batches;	   /* rounds */
	u64 retries;	   /* traps on a patch under way */
	u64 stale_healed;  /* traps with no breakpoint in memory */
};
void patch_stats_get(struct patch_stats *s);

#endif
