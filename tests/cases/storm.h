/* SPDX-License-Identifier: MIT */
/* What the suites of storms share. */
#ifndef SONDE_TESTS_CASES_STORM_H
#define SONDE_TESTS_CASES_STORM_H

#include <probe/kprobe.h>

/* How long they blow: storm=SECONDS, or as long as everybody has time for. */
u64 storm_ns(void);

/* The functions that t_storm.c probes. */
long storm_mix(long a, long b);
long storm_outer(long a);

/* Their calls, from all CPUs; in a @rain also from NMIs and timers. */
void storm_calls_begin(bool rain);
/* Checks what they returned, and that lasting probes saw all of them. */
void storm_calls_end(void);

/* Handlers; in a rain they get NMIs. */
int storm_pre(struct kprobe *p, struct pt_regs *regs);
void storm_post(struct kprobe *p, struct pt_regs *regs, unsigned long flags);

#endif
