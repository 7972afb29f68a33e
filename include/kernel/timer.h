/* SPDX-License-Identifier: MIT */
/*
 * Timers: a heap per CPU, one hardware one-shot behind it.
 */
#ifndef SONDE_KERNEL_TIMER_H
#define SONDE_KERNEL_TIMER_H

#include <lib/compiler.h>
#include <lib/rbtree.h>
#include <arch/timer.h>

#define NSEC_PER_USEC 1000ULL
#define NSEC_PER_MSEC 1000000ULL
#define NSEC_PER_SEC  1000000000ULL

static inline u64 clock_ns(void)
{
	return arch_clock_ns();
}

struct timer {
	struct rb_node node;
	u64 deadline; /* clock_ns */
	u64 period;   /* 0: once */
	void (*fn)(struct timer *t);
	void *arg;
	int cpu;	/* whose tree it is in, -1: none */
	unsigned fired; /* how often */
};

void timer_init(struct timer *t, void (*fn)(struct timer *t), void *arg);
/*
 * @fn runs in interrupt context on this CPU at or after @deadline; with a
 * @period again and again. Starting an active timer moves it.
 */
void timer_start(struct timer *t, u64 deadline, u64 period);
/* Afterwards @fn does not run and is not running. True if it was active. */
bool timer_stop(struct timer *t);

/* A timer that wakes the thread that started it. */
struct thread;
struct wake_timer {
	struct timer timer;
	struct thread *thread;
	bool fired;
};
void wake_timer_start(struct wake_timer *w, u64 ns);
void wake_timer_stop(struct wake_timer *w);

/* Per CPU set-up; irq_handle(IRQ_TIMER). */
void timers_init_cpu(void);
void timers_run(void);
/* Timers that are waiting on all CPUs. */
unsigned timers_active(void);

/* Asks for an interrupt at @deadline besides those of timers: the slice end. */
void timers_set_slice(u64 deadline);

#endif
