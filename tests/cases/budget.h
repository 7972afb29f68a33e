/* SPDX-License-Identifier: MIT */
/* Handlers that do not return: only where somebody would notice. */
#ifndef SONDE_TESTS_BUDGET_H
#define SONDE_TESTS_BUDGET_H

#include <kernel/timer.h>
#include <probe/watch.h>

static inline bool somebody_notices(void)
{
	u64 budget = probe_budget();

	return probe_budget_set(NSEC_PER_SEC) == 0 &&
	       probe_budget_set(budget) == 0;
}

#endif
