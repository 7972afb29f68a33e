/* SPDX-License-Identifier: MIT */
/* Handlers for all cases: some do nothing, some must be abandoned. */
#ifndef SONDE_TESTS_CASES_HANDLERS_H
#define SONDE_TESTS_CASES_HANDLERS_H

#include <arch/cpu.h>
#include <probe/kprobe.h>

static inline int good_pre(struct kprobe *p __unused,
			   struct pt_regs *regs __unused)
{
	return 0;
}

static inline void good_post(struct kprobe *p __unused,
			     struct pt_regs *regs __unused,
			     unsigned long flags __unused)
{
}

/* NULL, unless a case says otherwise; the compiler does not know. */
static volatile unsigned long bad_address __unused;

static inline int null_pre(struct kprobe *p __unused,
			   struct pt_regs *regs __unused)
{
	return *(volatile int *)bad_address;
}

static inline void null_post(struct kprobe *p __unused,
			     struct pt_regs *regs __unused,
			     unsigned long flags __unused)
{
	*(volatile int *)bad_address = 1;
}

/* A pause takes an emulator that counts instructions far longer than others do. */
static inline int loop_pre(struct kprobe *p __unused,
			   struct pt_regs *regs __unused)
{
	for (;;)
		barrier();
	return 0;
}

#endif
