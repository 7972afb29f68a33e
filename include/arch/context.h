/* SPDX-License-Identifier: MIT */
/*
 * Switching between kernel threads. Contract of arch/<A>/context.S.
 */
#ifndef SONDE_ARCH_CONTEXT_H
#define SONDE_ARCH_CONTEXT_H

#include <lib/compiler.h>

struct pt_regs;

/* Callee-saved registers are on the stack; this is all that is left. */
struct arch_context {
	unsigned long sp;
};

/*
 * Saves the callee-saved state to @prev, continues @next. Interrupts off;
 * returns when somebody switches back to @prev, perhaps on another CPU. They are
 * the first members of their threads: the stack and the running thread change
 * together, so that what a return probe notes is always the stack's.
 */
void arch_context_switch(struct arch_context *prev, struct arch_context *next);

/*
 * Prepares @ctx so that the first switch to it calls thread_entry() of
 * kernel/thread.c on the stack that ends at @stack_top (16-byte aligned), with
 * interrupts off. Backtraces end there.
 */
void arch_context_init(struct arch_context *ctx, void *stack_top);

/* Makes @regs say where a thread that is switched out will continue. */
void arch_context_regs(const struct arch_context *ctx, struct pt_regs *regs);

#endif
