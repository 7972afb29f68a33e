/* SPDX-License-Identifier: MIT */
/*
 * What the cases about threads and CPUs share: threads that are made and joined
 * without ado, and waiting that ends when something is broken.
 */
#ifndef SONDE_TESTS_CASES_THREADS_H
#define SONDE_TESTS_CASES_THREADS_H

#include <kernel/percpu.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <tests/cases/memory.h>
#include <tests/test.h>

/* No case expects speed: behind this limit something hangs for good. */
#define HANG_NS (60 * NSEC_PER_SEC)

/* Spins until @cond; false, and a failure, if it hangs. Any context. */
#define SPIN_FOR(cond)                                                 \
	({                                                             \
		u64 spin_limit = clock_ns() + HANG_NS;                 \
		bool spin_ok;                                          \
		while (!(spin_ok = (cond)) && clock_ns() < spin_limit) \
			cpu_relax();                                   \
		if (!spin_ok)                                          \
			FAIL("it never came true: %s", #cond);         \
		spin_ok;                                               \
	})

/* The same for threads: gives the CPU away. */
#define WAIT_FOR(cond)                                                 \
	({                                                             \
		u64 wait_limit = clock_ns() + HANG_NS;                 \
		bool wait_ok;                                          \
		while (!(wait_ok = (cond)) && clock_ns() < wait_limit) \
			thread_sleep(50 * NSEC_PER_USEC);              \
		if (!wait_ok)                                          \
			FAIL("it never came true: %s", #cond);         \
		wait_ok;                                               \
	})

static inline struct thread *start_on(unsigned cpu, void (*fn)(void *arg),
				      void *arg)
{
	struct thread *t = thread_create_on("case", BIT(cpu), fn, arg);

	if (!t)
		FAIL("no thread for cpu %u", cpu);
	return t;
}

static inline void join(struct thread *t)
{
	if (t)
		thread_join(t);
}

/* The case's own thread, from here on. */
static inline void stay_on(unsigned cpu)
{
	if (thread_set_affinity(current, BIT(cpu)) < 0)
		FAIL("cannot go to cpu %u", cpu);
}

static inline void stay_anywhere(void)
{
	if (thread_set_affinity(current, ~0u) < 0)
		FAIL("affinity cannot be undone");
}

/* A thread that runs until *arg is true. */
static inline void spin_until(void *arg)
{
	while (!load_acquire((bool *)arg))
		cpu_relax();
}

static inline unsigned last_cpu(void)
{
	return cpu_count - 1;
}

#endif
