// SPDX-License-Identifier: MIT
/*
 * Wait queues and what is made of them. A waiter stands on the queue from before
 * it looks at its condition until after it was true, so a wake-up in between is
 * never lost: thread_wake() then finds it blocked, or running and not yet
 * switched away, and makes it ready either way.
 */
#include <kernel/panic.h>
#include <kernel/wait.h>
#include <probe/hit.h>

void wait_queue_init(struct wait_queue *q)
{
	spin_lock_init(&q->lock, "wait", RANK_WAIT);
	INIT_LIST_HEAD(&q->waiters);
}

void wait_prepare(struct wait_queue *q, struct waiter *w)
{
	unsigned long flags;

	if (!w->thread) {
		w->thread = current;
		flags = spin_lock_irqsave(&q->lock);
		list_add_tail(&w->link, &q->waiters);
		spin_unlock_irqrestore(&q->lock, flags);
	}
	thread_prepare_block();
}

void wait_finish(struct wait_queue *q, struct waiter *w)
{
	unsigned long flags = spin_lock_irqsave(&q->lock);

	list_del(&w->link);
	spin_unlock_irqrestore(&q->lock, flags);
	thread_cancel_block();
}

static void wake_all_locked(struct wait_queue *q)
{
	struct waiter *w;

	list_for_each_entry(w, &q->waiters, link)
		thread_wake(w->thread);
}

void wake_up(struct wait_queue *q)
{
	unsigned long flags = spin_lock_irqsave(&q->lock);

	wake_all_locked(q);
	spin_unlock_irqrestore(&q->lock, flags);
}

void mutex_init(struct mutex *m, const char *name)
{
	*m = (struct mutex){ .name = name };
	wait_queue_init(&m->queue);
}

bool mutex_is_held(const struct mutex *m)
{
	return READ_ONCE(m->owner) == current;
}

bool mutex_trylock(struct mutex *m)
{
	struct thread *nobody = NULL;

	probe_hit_keep_out(m->name, __builtin_return_address(0));
	/* Pairs with the release in mutex_unlock(). */
	return __atomic_compare_exchange_n(&m->owner, &nobody, current, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* By mutex_unlock(), with whose release this pairs. */
static bool is_given(const struct mutex *m)
{
	return load_acquire(&m->owner) == current;
}

void mutex_lock(struct mutex *m)
{
	probe_hit_keep_out(m->name, __builtin_return_address(0));
	if (mutex_is_held(m))
		panic("mutex %s taken twice by %s", m->name, current->name);
	if (!mutex_trylock(m))
		wait_event(&m->queue, is_given(m) || mutex_trylock(m));
}

/*
 * Who waits longest is given it. If it were free until they run, who frees it and
 * takes it again, without a pause, would be faster each time. They leave the queue
 * before they can free it, so nobody is given it twice.
 */
void mutex_unlock(struct mutex *m)
{
	struct list_head *waiters = &m->queue.waiters;
	unsigned long flags;
	struct thread *next = NULL;

	if (!mutex_is_held(m))
		panic("mutex %s freed by %s, which does not hold it", m->name,
		      current->name);
	flags = spin_lock_irqsave(&m->queue.lock);
	if (!list_empty(waiters))
		next = list_first_entry(waiters, struct waiter, link)->thread;
	/* Pairs with the acquire in mutex_trylock() and is_given(). */
	store_release(&m->owner, next);
	if (next)
		thread_wake(next);
	spin_unlock_irqrestore(&m->queue.lock, flags);
}

void wait_pause(u64 ns)
{
	static struct wait_queue nobody_wakes = WAIT_QUEUE(nobody_wakes);

	wait_event_timeout(&nobody_wakes, false, ns);
}

void completion_init(struct completion *c)
{
	c->done = 0;
	wait_queue_init(&c->queue);
}

static bool take(struct completion *c)
{
	unsigned n = READ_ONCE(c->done);

	/* Pairs with the release in complete(). */
	return n > 0 &&
	       __atomic_compare_exchange_n(&c->done, &n, n - 1, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/*
 * All under the queue's lock: a waiter that sees it done takes the lock once more
 * before it goes, so @c may live on its stack.
 */
void complete(struct completion *c)
{
	unsigned long flags = spin_lock_irqsave(&c->queue.lock);

	/* Pairs with the acquire in take(). */
	__atomic_fetch_add(&c->done, 1, __ATOMIC_RELEASE);
	wake_all_locked(&c->queue);
	spin_unlock_irqrestore(&c->queue.lock, flags);
}

void complete_wait(struct completion *c)
{
	wait_event(&c->queue, take(c));
}

int complete_wait_timeout(struct completion *c, u64 ns)
{
	return wait_event_timeout(&c->queue, take(c), ns) ? 0 : -ETIMEDOUT;
}
