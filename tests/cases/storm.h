/* SPDX-License-Identifier: MIT */
/* What the suites of storms share. */
#ifndef SONDE_TESTS_CASES_STORM_H
#define SONDE_TESTS_CASES_STORM_H

#include <lib/compiler.h>

/* How long they blow: storm=SECONDS, or as long as everybody has time for. */
u64 storm_ns(void);

#endif
