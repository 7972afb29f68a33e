/* SPDX-License-Identifier: MIT */
/*
 * Inlines of <arch/ret.h>.
 */
#ifndef SONDE_PPC64_ASM_RET_H
#define SONDE_PPC64_ASM_RET_H

#define ARCH_RET_POPS 0

static __always_inline unsigned long *arch_ret_address(struct pt_regs *regs)
{
	return &regs->link;
}

static __always_inline unsigned long arch_ret_frame(const struct pt_regs *regs)
{
	return regs->gpr[1];
}

/* In the header below it: the frame that returns; in a detour an address in it. */
static __always_inline bool arch_ret_made(const struct pt_regs *frame)
{
	const unsigned long *header =
		(const unsigned long *)((const char *)frame - FRAME_REGS);

	return header[FRAME_TOC / 8] == (unsigned long)(frame + 1);
}

#endif
