/* SPDX-License-Identifier: MIT */
/*
 * See <arch/detour.h> and detour.S. Below the frame of a direct detour:
 *
 *	bp ->	struct pt_regs
 *		preempt_count
 *	sp ->	(8 bytes, or none: C is called on an aligned stack)
 *		return address of a handler
 */
#ifndef SONDE_ASM_DETOUR_H
#define SONDE_ASM_DETOUR_H

#include <arch/regs.h>

#define ARCH_DETOUR_MAX 768

static __always_inline struct pt_regs *arch_detour_frame(unsigned long stored)
{
	return (struct pt_regs *)stored;
}

static __always_inline unsigned long x86_detour_sp(const struct pt_regs *frame)
{
	return ALIGN_DOWN((unsigned long)frame - 8, 16);
}

static __always_inline bool arch_detour_calls(const struct pt_regs *frame,
					      const struct pt_regs *regs)
{
	return regs->sp != x86_detour_sp(frame);
}

static __always_inline unsigned arch_detour_preempt(const struct pt_regs *frame)
{
	return (unsigned)((const unsigned long *)frame)[-1];
}

#endif
