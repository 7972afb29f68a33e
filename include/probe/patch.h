/* SPDX-License-Identifier: MIT */
/*
 * The only writer of text. Two ways, chosen by `patch=` or per call:
 *
 * PATCH_BREAK	breakpoint on the first byte, all CPUs synchronised; the other
 *		bytes, synchronised; the first byte, synchronised. No CPU stands
 *		still for longer than one interrupt.
 * PATCH_STOP	the same while all other CPUs stand still.
 *
 * Either way a CPU that runs the bytes meanwhile executes the old or the new
 * instruction, never a mixture, and after text_patch() returned only the new.
 */
#ifndef SONDE_PROBE_PATCH_H
#define SONDE_PROBE_PATCH_H

#include <lib/compiler.h>
#include <arch/text.h>

enum patch_mode { PATCH_BREAK, PATCH_STOP };

struct pt_regs;

/*
 * One change. Old and new bytes are one instruction each, or nobody can be at a
 * boundary inside of them.
 *
 * Longer ones than ARCH_TEXT_ATOM stand behind a breakpoint for a while. A CPU that
 * hits it must not wait (it may be the one that patches, or have interrupts off),
 * so @resume has to do for it, by changing @regs, what the new instruction does.
 * In stop mode it may be NULL where neither an NMI nor the writing CPU comes by.
 */
struct text_patch {
	unsigned long addr;
	void (*resume)(const struct text_patch *p, struct pt_regs *regs);
	u8 len; /* 1..ARCH_PATCH_MAX, a multiple of ARCH_BREAK_SIZE */
	u8 bytes[ARCH_PATCH_MAX];
	/*
	 * A jump that stands, or will, may be read from bytes of other patches of
	 * the batch, too: from so many in all, or 0.
	 */
	u8 old_reach, new_reach;
	struct text_patch *next; /* patch.c's */
};

/* The default mode: from the command line, changed by tests and the monitor. */
enum patch_mode patch_mode(void);
void patch_mode_set(enum patch_mode mode);
/* "break", "stop": sets the default; -EINVAL for anything else. */
int __must_check patch_mode_parse(const char *name);
const char *patch_mode_name(enum patch_mode mode);

/*
 * Applies @n patches as one batch, with one round of synchronisation for all.
 * Addresses must be distinct and ascending. Threads only; serialised inside.
 * -EINVAL	order, length, alignment, not kernel text, or no resume()
 * Nothing was changed then.
 */
int __must_check text_patch(struct text_patch *patches, unsigned n);
int __must_check text_patch_mode(struct text_patch *patches, unsigned n,
				 enum patch_mode mode);

/*
 * trap(): a breakpoint at @pc that no probe owns. True: run the instruction at
 * @pc again, because it is being patched, was just patched, or (bounded, told in
 * the statistics) because the CPU still runs a stale translation. No-probe.
 */
bool patch_hit_break(unsigned long pc, struct pt_regs *regs);

struct patch_stats {
	u64 patches;	  /* single changes */
	u64 batches;	  /* rounds */
	u64 retries;	  /* traps on a patch under way */
	u64 stale_healed; /* traps with no breakpoint in memory */
};
void patch_stats_get(struct patch_stats *s);
/*
 * The longest time in ns that CPUs were held since the last call: by break mode
 * the one that writes, by stop mode all.
 */
u64 patch_longest_hold(void);

#endif
