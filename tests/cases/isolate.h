/* SPDX-License-Identifier: MIT */
/* What the suites of hostile handlers share; t_isolate.c has it. */
#ifndef SONDE_TESTS_CASES_ISOLATE_H
#define SONDE_TESTS_CASES_ISOLATE_H

#include <probe/watch.h>
#include <tests/cases/budget.h>
#include <tests/cases/handlers.h>
#include <tests/test.h>

/* @a * 10 + @b. */
long isolate_target(long a, long b);

/*
 * @bad between two good probes on one address: all calls return what they
 * should, the good ones count every call, the bad one is disabled by the first.
 */
void isolate_check(struct kprobe *bad, enum kprobe_verdict verdict);

/* Calls what bad_function is: NULL, unless a case says otherwise. */
static void (*volatile bad_function)(void) __unused;

static inline int jump_pre(struct kprobe *p __unused,
			   struct pt_regs *regs __unused)
{
	bad_function();
	return 0;
}

#endif
