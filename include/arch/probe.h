/* SPDX-License-Identifier: MIT */
/*
 * Running the displaced instruction of a breakpoint probe. Contract of
 * arch/<A>/probe.c and <asm/probe.h>.
 *
 * There are two ways, and a slot has code for both:
 *
 *	step	a copy, so prepared that stepping it and then
 *		arch_probe_step_end() have the effect of the original
 *	slot	the relocated form (reloc.c) and a jump back: needs no second
 *		trap, but nobody learns when it has run
 *
 *	text:  ... [BREAK]  ...		slot:  [copy][BREAK] [relocated][jump]
 *		     |  1 trap		         ^  | 2 step trap	   |
 *		     +---------------------------+  +--> behind the   <----+
 *							 original
 */
#ifndef SONDE_ARCH_PROBE_H
#define SONDE_ARCH_PROBE_H

#include <lib/compiler.h>
#include <arch/insn.h>

struct pt_regs;

/* What a step must remember until its end. One per nesting level and CPU. */
struct arch_step {
	unsigned long pc;    /* of the original instruction */
	unsigned long slot;  /* of the copy */
	unsigned long flags; /* saved interrupt, trace state */
};

#include <asm/probe.h> /* ARCH_STEP_SIZE, ARCH_SLOT_SIZE */

/*
 * Writes the copy of @insn (decoded at its own address) that will be stepped at
 * @slot_va to @buf[ARCH_STEP_SIZE]. -EOPNOTSUPP if the machine cannot step it,
 * -ERANGE if an operand is out of reach from the slot. Pure.
 */
int __must_check arch_probe_prepare(const struct insn *insn,
				    unsigned long slot_va, u8 *buf);

/*
 * Makes @regs step the copy at @slot: interrupts off, trace on. Interrupts off;
 * any context; no-probe.
 */
void arch_probe_step_begin(struct arch_step *step, const struct insn *insn,
			   unsigned long slot, struct pt_regs *regs);

/*
 * After the step trap: is this the end of @step (the pc is where a step of
 * @insn can leave it)? If so repairs pc, pushed or linked return address,
 * flags image, and restores interrupt and trace state as the instruction would
 * have left them; returns true. A REP string instruction that is not finished
 * is continued: false with *again set.
 */
bool arch_probe_step_end(const struct arch_step *step, const struct insn *insn,
			 struct pt_regs *regs, bool *again);

/* Was the program being single-stepped itself when @step began? */
bool arch_probe_step_traced(const struct arch_step *step);

/*
 * The copy faulted: makes @regs look as if the original had, so that fix-ups
 * and reports name the original.
 */
void arch_probe_step_abort(const struct arch_step *step,
			   const struct insn *insn, struct pt_regs *regs);

#endif
