/* SPDX-License-Identifier: MIT */
/*
 * See <arch/detour.h> and detour.S. The frame of a detour is one as a trap leaves
 * it (frame.h). A direct detour keeps there:
 *
 *	FRAME_TOC	where in the detour the handlers' return address leads
 *	trap		preempt_count
 *	pad		the CPU's number of turns before the first call
 */
#ifndef SONDE_ASM_DETOUR_H
#define SONDE_ASM_DETOUR_H

/*
 * A direct detour's data stands in front of its entry, where the shared code
 * finds it by the return address that it has: that of DETOUR_ENTRY bytes later.
 *
 *	probe n-1 ... probe 0, pc, struct detour, entry
 */
#define DETOUR_ENTRY	32
#define DETOUR_SELF	(-8 - DETOUR_ENTRY)
#define DETOUR_PC	(-16 - DETOUR_ENTRY)
#define DETOUR_PROBE(i) (-24 - 8 * (i)-DETOUR_ENTRY)

#ifndef __ASSEMBLY__
#include <arch/regs.h>

#define ARCH_DETOUR_MAX 256

extern const u8 detour_start[], detour_end[];

static __always_inline struct pt_regs *arch_detour_frame(unsigned long stored)
{
	return (struct pt_regs *)(stored + FRAME_REGS);
}

static __always_inline bool arch_detour_calls(
	const struct pt_regs *frame __unused, const struct pt_regs *regs)
{
	return regs->nip < (unsigned long)detour_start ||
	       regs->nip >= (unsigned long)detour_end;
}

static __always_inline unsigned arch_detour_preempt(const struct pt_regs *frame)
{
	return (unsigned)frame->trap;
}
#endif

#endif
