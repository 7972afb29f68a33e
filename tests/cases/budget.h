/* SPDX-License-Identifier: MIT */
/* Handlers that do not return: only where somebody would notice. */
#ifndef SONDE_TESTS_BUDGET_H
#define SONDE_TESTS_BUDGET_H

#include <kernel/timer.h>
#include <probe/watch.h>

/*
 * So short that cases need not wait, and so long that a handler which does return
 * has not used it up, should a busy host keep its CPU for a while just then.
 */
#define CASE_BUDGET_NS (100 * NSEC_PER_MSEC)

static inline bool somebody_notices(void)
{
	u64 budget = probe_budget();

	return probe_budget_set(NSEC_PER_SEC) == 0 &&
	       probe_budget_set(budget) == 0;
}

#endif
