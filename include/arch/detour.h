/* SPDX-License-Identifier: MIT */
/*
 * Detours: the code that a jump in text leads to. Contract of arch/<A>/emit.c
 * and detour.S, which has the pieces.
 *
 *	entry		save a struct pt_regs, interrupts off
 *	direct		call the handlers, one after the other
 *	  or general	call probe_hit_detour()
 *	leave		restore
 *	displaced	the relocated instructions		<- displaced
 *			jump behind the originals
 *
 * Interrupts are only on while the pc is in the detour itself, never in code
 * that it calls and that would come back to it: so a thread that was preempted in
 * a detour is one whose pc is there (kernel/quiesce.c).
 *
 * A direct detour calls up to ARCH_DETOUR_CALLS handlers itself, through their
 * probes' call. It makes no level (probe/level.h) but stores its stack pointer
 * where the number of levels is, if that is 0, and 0 behind the last handler. If
 * it was not 0, or if a direct detour's hit has to be abandoned or is hit inside
 * of, probe/hit.c goes on: arch_detour_frame() and arch_detour_call() tell it
 * what there is. Whatever goes on there ends in a return from a trap, to
 * displaced or elsewhere.
 *
 * The frame of a direct detour also says how deep preemption had been disabled.
 */
#ifndef SONDE_ARCH_DETOUR_H
#define SONDE_ARCH_DETOUR_H

/* For generated code; asserted in probe/arm.c. */
#define KPROBE_NHIT    64
#define KPROBE_CALL    88
#define THREAD_PREEMPT 8

#ifndef __ASSEMBLY__
#include <lib/compiler.h>

struct insn;
struct kprobe;
struct pt_regs;

/* Handlers that a direct detour can call. */
#define ARCH_DETOUR_CALLS 8

struct detour_code {
	unsigned long pc;   /* of the site */
	unsigned long back; /* where to jump to in the end */
	const void *detour; /* what probe_hit_detour() is told */
	/* Direct: the probes to call. */
	struct kprobe *const *probes;
	unsigned n; /* 0: a general one */
	/* General: the displaced code does not jump back but calls */
	bool post; /* probe_hit_detour_post() */
	const struct insn *insns;
	unsigned n_insns;
	unsigned long *at; /* gets the address of each, or NULL */
	/* What arch_detour_emit() tells, as addresses: */
	unsigned long entry, displaced, displaced_end;
	unsigned long calls; /* the first one; the machine's */
};

/*
 * Writes the detour as it will run at @at to @buf. Returns its length; -ENOSPC if
 * @size is too small; or what arch_insn_relocate() or arch_emit_jump() say. Pure.
 */
int __must_check arch_detour_emit(struct detour_code *d, unsigned long at,
				  u8 *buf, size_t size);

/*
 * The frame of a direct detour, from what it stored as number of levels. For
 * this and what follows: any context, no-probe.
 */
static inline struct pt_regs *arch_detour_frame(unsigned long stored);
/* Is @regs' context inside of a call that the detour makes? */
static inline bool arch_detour_calls(const struct pt_regs *frame,
				     const struct pt_regs *regs);
/* If so: an address in the detour, and the number, from 0, of the call. */
unsigned long arch_detour_pc(const struct pt_regs *frame);
unsigned arch_detour_call(const struct detour_code *d,
			  const struct pt_regs *frame);
/* current->preempt_count when it began. */
static inline unsigned arch_detour_preempt(const struct pt_regs *frame);

/* Also ARCH_DETOUR_MAX: bytes, for one instruction. */
#include <asm/detour.h>

#endif /* __ASSEMBLY__ */
#endif
