/* SPDX-License-Identifier: MIT */
/*
 * Return probes as the rest of the kernel sees them: each thread has a shadow
 * stack of the calls whose return is being waited for.
 */
#ifndef SONDE_PROBE_RET_H
#define SONDE_PROBE_RET_H

#include <lib/compiler.h>

struct kretprobe_instance;
struct pt_regs;
struct thread;
struct trap;

/*
 *	base			    top		   soft	   end
 *	| bottom | instance | instance | instance | free	|
 *
 * The one at the bottom is no call's, and above every stack pointer. Written by
 * the thread itself and by what interrupts it, which has always finished before
 * the thread goes on.
 */
struct ret_stack {
	struct kretprobe_instance *top;
	char *base, *soft, *end;
	bool tight; /* ret_stack_grow() should be called */
};

/* Boot, once, after heap_init(): shadow stacks of the idle threads. -ENOMEM. */
int __must_check ret_init(void);

/* A thread's life: 0 or -ENOMEM; off its CPU for good; its memory goes. */
int __must_check ret_stack_create(struct ret_stack *s);
void ret_thread_gone(struct thread *t);
void ret_stack_free(struct ret_stack *s);

/*
 * Makes the running thread's shadow stack larger, if there is memory. Where
 * threads may be preempted; may allocate.
 */
void ret_stack_grow(void);

/*
 * Where the call in @t whose return address lies at (ppc64: whose stack pointer
 * at entry was) @sp really returns to; 0 if it is not a probed one. Fault-safe,
 * any context; exact if @t does not run, or is the running thread.
 */
unsigned long ret_caller(const struct thread *t, unsigned long sp);

/* From arch/<A>/ret.S, at a return; interrupts off. Sets the pc of @regs. */
void ret_return(struct pt_regs *regs);
/*
 * A breakpoint: next to where functions return to? Then a function has changed
 * its return address.
 */
bool ret_hit_beside(struct pt_regs *regs, struct trap *t);

/*
 * How many probes were unregistered of which calls are still under way. Frees
 * what those of which none is have left. Threads only.
 */
unsigned ret_orphans(void);

#endif
