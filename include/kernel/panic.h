/* SPDX-License-Identifier: MIT */
/*
 * The end: cause, registers, code bytes, backtraces of all CPUs, then out of
 * QEMU with a failing status. ASSERT is for the kernel's own invariants, kept in
 * all builds; never for input.
 */
#ifndef SONDE_KERNEL_PANIC_H
#define SONDE_KERNEL_PANIC_H

#include <lib/compiler.h>

struct pt_regs;

/* @regs: what to report; NULL for the caller's own. Any context. */
__noreturn void panic_regs(const struct pt_regs *regs, const char *fmt, ...)
	__printf(2, 3);
#define panic(fmt, ...) panic_regs(NULL, fmt, ##__VA_ARGS__)

/* Prints all of @regs by name, four to a line; code bytes around the pc. */
void regs_print(const struct pt_regs *regs);
/* Symbolised backtrace from @regs. */
struct thread;
void backtrace_print(const struct thread *t, const struct pt_regs *regs);

#define ASSERT(c)                                                      \
	do {                                                           \
		if (unlikely(!(c)))                                    \
			panic("%s:%d: assertion failed: %s", __FILE__, \
			      __LINE__, #c);                           \
	} while (0)

/*
 * NMI while a CPU panics: prints nothing, parks. True if a panic is under way
 * and this CPU was stopped for it (does not return then).
 */
void panic_nmi(struct pt_regs *regs);

#endif
