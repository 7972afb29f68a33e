/* SPDX-License-Identifier: MIT */
/*
 * What the cases about memory share: work on all CPUs, and all of memory taken.
 */
#ifndef SONDE_TESTS_CASES_MEMORY_H
#define SONDE_TESTS_CASES_MEMORY_H

#include <kernel/frames.h>
#include <kernel/percpu.h>
#include <kernel/thread.h>
#include <arch/mmu.h>
#include <tests/random.h>
#include <tests/test.h>

/* Red zones and patterns are there to be tested. */
#ifdef SONDE_DEBUG
#define DEBUG_BUILD 1
#else
#define DEBUG_BUILD 0
#endif

/*
 * Runs @fn in one thread per CPU, each on its own, with the number of the thread
 * as argument, and waits for all.
 */
static inline void on_all_cpus(void (*fn)(void *number))
{
	struct thread *threads[MAX_CPUS];

	for (unsigned i = 0; i < cpu_count; i++) {
		threads[i] = thread_create_on("case", BIT(i), fn,
					      (void *)(unsigned long)i);
		if (!threads[i])
			FAIL("no thread for cpu %u", i);
	}
	for (unsigned i = 0; i < cpu_count; i++)
		if (threads[i])
			thread_join(threads[i]);
}

/* All free frames, linked through their own first words. */
struct hoard {
	struct hoard *next;
	unsigned order;
};

/* Largest first, so that they are few. */
static inline struct hoard *hoard_take(void)
{
	struct hoard *all = NULL;

	for (int order = FRAME_ORDER_MAX; order >= 0; order--) {
		phys_t pa;

		while ((pa = frame_alloc(order))) {
			struct hoard *h = phys_to_virt(pa);

			*h = (struct hoard){ all, order };
			all = h;
		}
	}
	return all;
}

static inline void hoard_free(struct hoard *all)
{
	while (all) {
		struct hoard *h = all;

		all = h->next;
		frame_free(virt_to_phys(h), h->order);
	}
}

#endif
