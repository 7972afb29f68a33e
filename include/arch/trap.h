/* SPDX-License-Identifier: MIT */
/*
 * What happened. Contract of arch/<A>/trap.c and vectors.S.
 *
 * vectors.S saves a struct pt_regs and calls trap() of kernel/trap.c with
 * interrupts off. trap() asks arch_trap_decode() what happened, and decides
 * with one table for both machines whose it is. On the way out vectors.S
 * restores all registers from the frame.
 *
 * Stacks: everything runs on the stack it interrupted, except NMI, double fault
 * and machine check (x86: IST), system reset and machine check (ppc64), and any
 * trap whose stack pointer is not in a mapped stack: those have stacks of their
 * own, so that a report is always possible. A breakpoint never switches stacks,
 * so that breakpoints nest.
 */
#ifndef SONDE_ARCH_TRAP_H
#define SONDE_ARCH_TRAP_H

#include <lib/compiler.h>
#include <lib/errno.h>

struct pt_regs;

enum trap_kind {
	TRAP_BREAKPOINT, /* int3 / unconditional trap word */
	TRAP_STEP,	 /* single step: TF / MSR[SE] */
	TRAP_WATCH,	 /* hardware breakpoint or watchpoint */
	TRAP_ILLEGAL,	 /* no such instruction, ud2 */
	TRAP_PRIVILEGED, /* not allowed here, #GP without address */
	TRAP_TRAP,	 /* conditional trap words, int n */
	TRAP_MEMORY,	 /* page fault, data or instruction storage */
	TRAP_ALIGNMENT,
	TRAP_FLOAT,	   /* unit disabled or exception */
	TRAP_ARITHMETIC,   /* divide error, overflow */
	TRAP_INTERRUPT,	   /* device, timer, inter-processor */
	TRAP_NMI,	   /* NMI / system reset */
	TRAP_DOUBLE_FAULT, /* also: no usable stack (ppc64) */
	TRAP_MACHINE_CHECK,
	TRAP_SYSCALL,
	TRAP_UNKNOWN,
	TRAP_KIND_COUNT
};

enum trap_flag {
	TRAP_WRITE = BIT(0),
	TRAP_EXEC = BIT(1),
	TRAP_PROTECTION = BIT(2), /* mapped, but not for this access */
	TRAP_REAL_MODE =
		BIT(3), /* ppc64: translation was off; pc is physical */
	TRAP_ALSO_STEP = BIT(4), /* WATCH that is a completed step as well */
};

struct trap {
	enum trap_kind kind;
	unsigned flags;	    /* enum trap_flag */
	unsigned vector;    /* the machine's number */
	unsigned long code; /* error code / SRR1 or DSISR */
	unsigned long addr; /* TRAP_MEMORY: address accessed */
	unsigned long pc;   /* of the instruction: for TRAP_BREAKPOINT the */
			    /* address of the breakpoint itself */
	const char *name;   /* "page fault", "program check (trap)" */
};

/*
 * Fills @t from the frame, and acknowledges what would be lost otherwise (DR6).
 * Any context; no locks; no-probe.
 */
void arch_trap_decode(struct pt_regs *regs, struct trap *t);

/*
 * @regs: of a trap inside of what trap() called for @outer, a breakpoint's frame.
 * Makes the return from that trap drop everything in between, call @fn(@outer),
 * and go back to what @outer says. No-probe.
 */
void arch_trap_restart(struct pt_regs *regs, struct pt_regs *outer,
		       void (*fn)(struct pt_regs *outer));

/* Installs all vectors. Boot CPU, once; arch_cpu_init() loads them per CPU. */
void arch_trap_init(void);

/* Called by vectors.S for everything. kernel/trap.c; interrupts off. */
void trap(struct pt_regs *regs);

/*
 * TRAP_INTERRUPT: asks the controller what it is, calls irq_handle() of
 * kernel/irq.c for each cause, ends the interrupt. Interrupts off.
 */
void arch_irq_dispatch(struct pt_regs *regs, const struct trap *t);
/* Instead: it comes again, as soon as interrupts are on. */
void arch_irq_postpone(const struct trap *t);

/*
 * Makes the machine reset itself: x86_64 by a triple fault. -EOPNOTSUPP where
 * nothing like it exists. For tests of the runner.
 */
int arch_trap_break_everything(void);

/* Test hooks: one self-made trap each; -EOPNOTSUPP if the machine has none. */
struct trap_sample {
	const char *name;
	enum trap_kind kind; /* as arch_trap_decode() must tell it */
	void (*raise)(void); /* returns behind the trap after the fix-up */
};
extern const struct trap_sample arch_trap_samples[];
extern const unsigned arch_trap_sample_count;

#endif
