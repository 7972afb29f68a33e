/* SPDX-License-Identifier: MIT */
/*
 * Inside the engine: which jump can stand in the place of an instruction.
 *
 *		text				window		near area
 *	own	[e9 dddddddd xx]---------------------------------> detour
 *	pun	[e9 dd][next instruction]------> stub: jmp ------> detour
 *	branch	[ b target ]-------------------------------------> detour
 *	region	[e9 dddddddd] over whole instructions -----------> detour
 *
 * A jump changes bytes [addr, addr + len) and consists of [addr, addr + reach).
 * What is behind the instruction is somebody else's: whoever is going to change
 * one of the bytes [addr + own, addr + footprint) takes this jump out first.
 *
 * All under probe_mutex.
 */
#ifndef SONDE_PROBE_JUMP_H
#define SONDE_PROBE_JUMP_H

#include <arch/insn.h>
#include <arch/jump.h>
#include "window.h"

struct region;

/* Not to be copied while planned. */
struct jump {
	unsigned long addr;
	struct stub stub; /* where it leads, if not to the detour itself */
	u8 strategy;	  /* enum jump_strategy */
	u8 own;		  /* bytes of the instruction */
	u8 displaced;	  /* of all that the detour has to do: a region */
	u8 reach;	  /* that the jump consists of */
	u8 len;		  /* of them that change */
	u8 footprint;	  /* reach or displaced, whichever is more */
	u8 bytes[ARCH_JUMP_TEXT]; /* @reach of them */
	u8 old[ARCH_JUMP_TEXT];	  /* @len: the original text */
};

/*
 * Finds a jump from @insn to @detour and reserves what it needs. @text: the
 * ARCH_JUMP_TEXT bytes from insn->pc on as they will stand while the jump does.
 * @wish: the only strategy that may be taken, or JUMP_NONE.
 * -ENOSPC with *why: it has to stay on its breakpoint, or be a region's.
 */
int __must_check jump_plan(struct jump *j, const struct insn *insn,
			   unsigned long detour, const u8 *text,
			   enum jump_strategy wish, const char **why);
/*
 * The jump over all instructions of @r, which region_check() has found. -ENOSPC:
 * it does not reach. It may be written only when nobody is at a boundary inside,
 * or can get there: arm.c.
 */
int __must_check jump_plan_region(struct jump *j, const struct region *r,
				  unsigned long detour, const u8 *text);
/*
 * Gives back what it needed. The text is restored, and nobody is in the stub any
 * more: quiesce_tasks_in() with window_contains(). Then, when there are no more
 * to drop, window_trim().
 */
void jump_drop(struct jump *j);

#endif
