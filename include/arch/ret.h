/* SPDX-License-Identifier: MIT */
/*
 * Hijacking a return address. Contract of arch/<A>/ret.S and <asm/ret.h>.
 *
 *	at the entry	*arch_ret_address() is where the function will return to,
 *			until it is made ret_landing
 *	at the return	ret_body saves a struct pt_regs with interrupts
 *			off, does in the usual case what ret_return() does in
 *			all, and goes on at the true address. In the usual
 *			case the frame is as of direct detours, and stored as
 *			they do (<arch/detour.h>)
 *
 * On x86_64 the return address is the word at the stack pointer, on ppc64 the link
 * register (of the local entry). A frame is known by the stack pointer at its
 * entry, which on x86_64 is also the address of its return address.
 *
 * ret_landing is one instruction amidst breakpoints: a function that computes
 * with its return address, instead of just using it, ends in one of those.
 * None of this may be probed.
 */
#ifndef SONDE_ARCH_RET_H
#define SONDE_ARCH_RET_H

#include <lib/compiler.h>
#include <arch/regs.h>

extern const char ret_landing[];
/* The breakpoints lie between these. */
extern const char ret_trampoline[], ret_pad_end[];
/* What calls in between return to; a struct pt_regs is above, as for trap(). */
extern const char ret_body[], ret_body_end[];

static __always_inline bool ret_is_in_body(unsigned long pc)
{
	return pc >= (unsigned long)ret_body &&
	       pc < (unsigned long)ret_body_end;
}

static inline unsigned long *arch_ret_address(struct pt_regs *regs);
/* After a return: what the stack pointer was at the entry. */
static inline unsigned long arch_ret_frame(const struct pt_regs *regs);
/* Is such a frame one of ret_body? Else it is a detour's. */
static inline bool arch_ret_made(const struct pt_regs *frame);
/* ARCH_RET_POPS is 1 if it may have been lower: functions that pop arguments. */

#include <asm/ret.h>

#endif
