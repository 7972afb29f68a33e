/* SPDX-License-Identifier: MIT */
/*
 * Work for the kernel while everything is probed: threads that allocate, migrate
 * to every CPU and sleep, and have something to show for it.
 */
#ifndef SONDE_TESTS_CASES_WORK_H
#define SONDE_TESTS_CASES_WORK_H

#include <kernel/heap.h>
#include <kernel/percpu.h>
#include <lib/string.h>
#include <tests/cases/threads.h>

static inline void work(void *arg)
{
	unsigned *sum = arg;

	for (unsigned i = 0; i < 10; i++) {
		u8 *p = kmalloc(20 * i + 1);

		if (p)
			memset(p, (int)i, 20 * i + 1);
		*sum += p ? p[20 * i] : 0;
		kfree(p);
		EXPECT_EQ(thread_set_affinity(current, BIT(i % cpu_count)), 0);
		thread_sleep(NSEC_PER_USEC);
	}
}

static inline void work_everywhere(void)
{
	struct thread *threads[4];
	unsigned sums[ARRAY_SIZE(threads)] = { 0 };

	for (unsigned i = 0; i < ARRAY_SIZE(threads); i++)
		threads[i] = thread_create("everywhere", work, &sums[i]);
	for (unsigned i = 0; i < ARRAY_SIZE(threads); i++) {
		join(threads[i]);
		EXPECT_EQ(sums[i], 45);
	}
}

#endif
