/* SPDX-License-Identifier: MIT */
/*
 * Waiting: wait queues, mutexes, completions. Threads only, except
 * that wake_up() and complete() may come from interrupts.
 */
#ifndef SONDE_KERNEL_WAIT_H
#define SONDE_KERNEL_WAIT_H

#include <kernel/lock.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <lib/list.h>

struct wait_queue {
	struct spinlock lock;
	struct list_head waiters;
};

struct waiter {
	struct thread *thread;
	struct list_head link;
};

#define WAIT_QUEUE(q)                                  \
	{                                              \
		.lock = SPINLOCK("wait", RANK_WAIT),   \
		.waiters = LIST_HEAD_INIT((q).waiters) \
	}
void wait_queue_init(struct wait_queue *q);

/* Puts current on @q, state blocked. Then: condition, schedule(), finish. */
void wait_prepare(struct wait_queue *q, struct waiter *w);
void wait_finish(struct wait_queue *q, struct waiter *w);
void wake_up(struct wait_queue *q); /* all waiters */

/* Sleeps until @cond; evaluated again after each wake-up of @q. */
#define wait_event(q, cond)                               \
	do {                                              \
		struct waiter wait_event_w = { NULL };    \
		for (;;) {                                \
			wait_prepare((q), &wait_event_w); \
			if (cond)                         \
				break;                    \
			schedule();                       \
		}                                         \
		wait_finish((q), &wait_event_w);          \
	} while (0)

/* The same, at most @ns: the value of @cond at the end. */
#define wait_event_timeout(q, cond, ns)                          \
	({                                                       \
		struct waiter wait_event_w = { NULL };           \
		struct wake_timer wait_event_t;                  \
		bool wait_event_ok;                              \
		wake_timer_start(&wait_event_t, (ns));           \
		for (;;) {                                       \
			wait_prepare((q), &wait_event_w);        \
			wait_event_ok = (cond);                  \
			if (wait_event_ok || wait_event_t.fired) \
				break;                           \
			schedule();                              \
		}                                                \
		wait_finish((q), &wait_event_w);                 \
		wake_timer_stop(&wait_event_t);                  \
		wait_event_ok;                                   \
	})

/*
 * At least @ns, as thread_sleep(), for the kernel's own threads and its waits in
 * passing: thread_sleep() is what people probe first, and those are to see only
 * the calls they know of.
 */
void wait_pause(u64 ns);

struct mutex {
	struct thread *owner;
	struct wait_queue queue;
	const char *name;
};

#define MUTEX(m)                                           \
	{                                                  \
		.queue = WAIT_QUEUE((m).queue), .name = #m \
	}
void mutex_init(struct mutex *m, const char *name);
/*
 * Those who wait get it in their order, so nobody does so for ever. Not recursive:
 * taking it twice panics with its name.
 */
void mutex_lock(struct mutex *m);
bool __must_check mutex_trylock(struct mutex *m);
void mutex_unlock(struct mutex *m);
bool mutex_is_held(const struct mutex *m); /* by current */

struct completion {
	unsigned done;
	struct wait_queue queue;
};

void completion_init(struct completion *c);
void complete(struct completion *c);
void complete_wait(struct completion *c);
/* -ETIMEDOUT after @ns. */
int __must_check complete_wait_timeout(struct completion *c, u64 ns);

#endif
