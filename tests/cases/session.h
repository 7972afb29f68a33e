/* SPDX-License-Identifier: MIT */
/* What the suites of sessions share; t_session.c has it. */
#ifndef SONDE_TESTS_CASES_SESSION_H
#define SONDE_TESTS_CASES_SESSION_H

#include <kernel/percpu.h>
#include <kernel/thread.h>
#include <probe/session.h>
#include <tests/cases/handlers.h>
#include <tests/test.h>

/* @a * 10 + @b, and @a + 3. */
long session_target(long a, long b);
long session_other(long a);

static inline struct probe_session *open(const char *name, unsigned probes,
					 size_t memory)
{
	struct session_limits limits = { .probes = probes, .memory = memory };
	struct probe_session *s = NULL;

	EXPECT_EQ(session_open(name, &limits, &s), 0);
	return s;
}

/* Until it is called again. */
static inline const struct session_stats *stats_of(struct probe_session *s)
{
	static struct session_stats stats;

	EXPECT_EQ(session_stats_get(s, &stats), 0);
	return &stats;
}

#define probe_of(s, handler)                               \
	((struct kprobe){ .symbol_name = "session_target", \
			  .pre_handler = (handler),        \
			  .session = (s) })

/* Threads that call both from all CPUs, and check what they return. */
struct load {
	struct thread *threads[MAX_CPUS];
	unsigned long calls[MAX_CPUS];
};
void load_start(struct load *l);
/* How many calls of each there were. */
unsigned long load_end(struct load *l);

#endif
