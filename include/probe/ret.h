/* SPDX-License-Identifier: MIT */
/*
 * Return probes as the rest of the kernel sees them: each thread has a shadow
 * stack of the calls whose return is being waited for.
 */
#ifndef SONDE_PROBE_RET_H
#define SONDE_PROBE_RET_H

/* Offsets of what arch/<A>/ret.S touches; asserted in probe/ret.c. */
#define THREAD_PREEMPT 8  /* struct thread: preempt_count */
#define THREAD_RET_TOP 16 /* ret.top */
#define RI_OWNER       0  /* struct kretprobe_instance */
#define RI_RET_ADDR    8
#define RI_SP	       16
#define RI_BELOW       24
#define OWNER_KP       0 /* struct ret_owner */
#define OWNER_CALL     8
#define OWNER_RETURNED 16

#ifndef __ASSEMBLY__
#include <lib/compiler.h>

struct cpu;
struct hit;
struct kprobe;
struct kretprobe_instance;
struct pt_regs;
struct thread;
struct trap;

/*
 *	base			  top	     free     soft	 end
 *	| bottom | instance | ... | instance |		       |
 *
 * The one at the bottom is no call's, and above every stack pointer. Written by
 * the thread itself and by what interrupts it, which has always finished before
 * the thread goes on.
 */
struct ret_stack {
	struct kretprobe_instance *top;
	struct kretprobe_instance *free; /* where the next one goes */
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

/*
 * From arch/<A>/ret.S, interrupts off: @regs are of a return. Sets their pc.
 * ret_run() does so for what is left of frame h->frame.
 */
void ret_return(struct pt_regs *regs);
void ret_run(struct cpu *cpu, struct hit *h);
/*
 * In the usual case, which has no level: the probe whose handler is being called
 * with the frame @h->regs; and that handler is to be abandoned: now @h is one
 * that can be taken up.
 */
struct kprobe *const *ret_turn(void);
void ret_abandoned(struct hit *h);
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

#endif /* __ASSEMBLY__ */

#endif
