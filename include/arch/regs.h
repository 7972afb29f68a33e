/* SPDX-License-Identifier: MIT */
/*
 * The saved registers of an interrupted context. Contract of arch/<A>/frame.h
 * and <asm/regs.h>.
 *
 * Every trap, interrupt and NMI saves a full struct pt_regs on the stack before
 * any C runs, and restores all of it afterwards: a handler that writes a field
 * changes the register. Field names are Linux's (x86: ip sp ax di ..., ppc: nip
 * link gpr[] msr ctr xer ccr). Code that must not know the machine uses these
 * accessors. All may be used in any context.
 */
#ifndef SONDE_ARCH_REGS_H
#define SONDE_ARCH_REGS_H

#include <lib/compiler.h>
#include <frame.h> /* struct pt_regs */

/* Name, offset in struct pt_regs: what reports and `probe` output print. */
struct reg_desc {
	const char *name;
	unsigned short offset;
};
extern const struct reg_desc arch_reg_descs[];
extern const unsigned arch_reg_desc_count;

static inline unsigned long instruction_pointer(const struct pt_regs *regs);
static inline void instruction_pointer_set(struct pt_regs *regs,
					   unsigned long pc);
static inline unsigned long kernel_stack_pointer(const struct pt_regs *regs);
/* The frame from which arch_unwind() starts: rbp / r1. */
static inline unsigned long frame_pointer(const struct pt_regs *regs);
static inline unsigned long regs_return_value(const struct pt_regs *regs);
static inline void regs_return_value_set(struct pt_regs *regs, unsigned long v);

/* Sets argument @n, which must be one that is passed in a register. */
static inline void regs_argument_set(struct pt_regs *regs, unsigned n,
				     unsigned long v);

/*
 * Argument @n (from 0) of the function at whose first instruction (ppc64: local
 * entry) @regs were taken: integers and pointers only. Arguments on the stack
 * are read fault-safely; 0 if that faults.
 */
unsigned long regs_get_kernel_argument(const struct pt_regs *regs, unsigned n);
#define ARCH_REG_ARGS_MAX 16

static inline bool regs_irqs_enabled(const struct pt_regs *regs);
static inline void regs_irqs_set(struct pt_regs *regs, bool on);
static inline bool user_mode(const struct pt_regs *regs);
/* Is the program being single-stepped? */
static inline bool regs_traced(const struct pt_regs *regs);

/*
 * Of what vectors.S calls probe_hit_break() for: where the breakpoint is, if it
 * is one.
 */
static inline unsigned long regs_break_pc(const struct pt_regs *regs);
/* Makes @regs those of just before that breakpoint. */
static inline void regs_break_undo(struct pt_regs *regs);

/*
 * Calls @fn with the register arguments of @regs, which were taken at a
 * function's entry, and with ARCH_CALL_STACK_WORDS words of @stack where the
 * others are passed. The callee may change them: they are copies. context.S.
 */
void arch_call_as(void *fn, const struct pt_regs *regs, const u64 *stack,
		  unsigned words);

/*
 * Kernel code with interrupts on, about which nothing else is special: no register
 * is 0 or near the stack pointer. The same each time.
 */
static inline void arch_regs_plain(struct pt_regs *regs);

/* Registers of the caller itself, enough to unwind from here. */
void arch_regs_capture(struct pt_regs *regs);

/*
 * Return addresses, innermost first. Starts at @regs' pc and walks frames of @t
 * with fault-safe reads only, so that a broken stack ends the trace and nothing
 * else. Calls @fn for each pc until it returns false. On ppc64 the link
 * register is reported where the innermost function has not saved it yet. Where
 * a return probe has changed a return address, the true one is reported.
 */
struct thread;
void arch_unwind(const struct thread *t, const struct pt_regs *regs,
		 bool (*fn)(unsigned long pc, void *arg), void *arg);

#include <asm/regs.h>

#endif
