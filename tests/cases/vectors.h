/* SPDX-License-Identifier: MIT */
/* What the cases about vectors.S of both machines share. */
#ifndef SONDE_TESTS_CASES_VECTORS_H
#define SONDE_TESTS_CASES_VECTORS_H

#include <arch/cpu.h>
#include <kernel/percpu.h>
#include <kernel/thread.h>
#include <probe/kprobe.h>
#include <tests/test.h>

static inline bool is_aligned(const struct pt_regs *regs)
{
	return IS_ALIGNED((unsigned long)regs, 16);
}

static inline bool on_nmi_stack(const void *p)
{
	unsigned long top = arch_this_cpu()->nmi_sp;

	return (unsigned long)p < top &&
	       (unsigned long)p >= top - TRAP_STACK_SIZE;
}

#endif
