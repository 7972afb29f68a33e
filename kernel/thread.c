// SPDX-License-Identifier: MIT
/*
 * Threads: birth, end, joining. A thread ends by switching away with state
 * DEAD; only when the switch is complete (thread_gone()) may its stack be
 * freed, by who joins it or, if detached, by the reaper.
 */
#include <kernel/heap.h>
#include <kernel/lock.h>
#include <kernel/panic.h>
#include <kernel/percpu.h>
#include <kernel/thread.h>
#include <kernel/vm.h>
#include <kernel/wait.h>
#include <lib/printf.h>
#include <lib/text.h>
#include "sched.h"

static struct spinlock threads_lock = SPINLOCK("threads", RANK_THREADS);
static LIST_HEAD(threads); /* by age */
static unsigned nr_threads;
static int next_id = 1;

/* Who waits in thread_join() for any thread, and the reaper. */
static struct wait_queue exits = WAIT_QUEUE(exits);

static void threads_add(struct thread *t)
{
	unsigned long flags = spin_lock_irqsave(&threads_lock);

	if (t->id == 0) {
		t->id = next_id++;
		nr_threads++;
	}
	list_add_tail(&t->all, &threads);
	spin_unlock_irqrestore(&threads_lock, flags);
}

void thread_add_idle(struct thread *t)
{
	unsigned long flags;

	snprintf(t->name, sizeof(t->name), "idle/%u", t->cpu);
	flags = spin_lock_irqsave(&threads_lock);
	list_add_tail(&t->all, &threads);
	spin_unlock_irqrestore(&threads_lock, flags);
}

struct thread *thread_create_on(const char *name, u32 affinity,
				void (*fn)(void *arg), void *arg)
{
	struct thread *t = kzalloc(sizeof(*t));

	if (!t)
		return NULL;
	t->stack = vm_alloc(THREAD_STACK_SIZE / PAGE_SIZE, VM_READ | VM_WRITE);
	if (!t->stack)
		goto out_free;
	if (ret_stack_create(&t->ret) < 0)
		goto out_free_stack;
	t->stack_top = (unsigned long)t->stack + THREAD_STACK_SIZE;
	t->state = THREAD_READY;
	t->affinity = affinity;
	t->fn = fn;
	t->arg = arg;
	INIT_LIST_HEAD(&t->queue);
	strscpy(t->name, name, sizeof(t->name));
	arch_context_init(&t->ctx, (void *)t->stack_top);
	threads_add(t);
	sched_add(t);
	return t;

out_free_stack:
	vm_free(t->stack);
out_free:
	kfree(t);
	return NULL;
}

struct thread *thread_create(const char *name, void (*fn)(void *arg), void *arg)
{
	return thread_create_on(name, ~0u, fn, arg);
}

void thread_entry(void)
{
	sched_thread_started();
	arch_irq_enable();
	current->fn(current->arg);
	thread_exit();
}

void thread_exit(void)
{
	arch_irq_disable();
	ASSERT(current->preempt_count == 0);
	current->state = THREAD_DEAD;
	schedule();
	panic("thread %s came back from its end", current->name);
}

void thread_gone(struct thread *t)
{
	ret_thread_gone(t);
	/* Pairs with the acquire in thread_join() and the reaper. */
	store_release(&t->gone, true);
	/* @t may be freed from here on. */
	wake_up(&exits);
}

static void thread_free(struct thread *t)
{
	unsigned long flags = spin_lock_irqsave(&threads_lock);

	list_del(&t->all);
	nr_threads--;
	spin_unlock_irqrestore(&threads_lock, flags);
	ret_stack_free(&t->ret);
	vm_free(t->stack);
	kfree(t);
}

void thread_join(struct thread *t)
{
	ASSERT(t != current && !t->detached);
	wait_event(&exits, load_acquire(&t->gone));
	thread_free(t);
}

static struct thread *find_orphan(void)
{
	unsigned long flags = spin_lock_irqsave(&threads_lock);
	struct thread *t, *found = NULL;

	list_for_each_entry(t, &threads, all) {
		if (t->detached && load_acquire(&t->gone)) {
			found = t;
			break;
		}
	}
	spin_unlock_irqrestore(&threads_lock, flags);
	return found;
}

/* Frees detached threads. */
static void reap(void *arg __unused)
{
	for (;;) {
		struct thread *t;

		wait_event(&exits, (t = find_orphan()) != NULL);
		thread_free(t);
	}
}

void thread_init(void)
{
	if (!thread_create("reaper", reap, NULL))
		panic("no memory for the reaper thread");
}

void thread_detach(struct thread *t)
{
	WRITE_ONCE(t->detached, true);
	wake_up(&exits); /* it may have ended already */
}

void thread_sleep(u64 ns)
{
	struct wake_timer w;

	wake_timer_start(&w, ns);
	for (;;) {
		thread_prepare_block();
		if (READ_ONCE(w.fired))
			break;
		schedule();
	}
	thread_cancel_block();
	wake_timer_stop(&w);
}

void thread_for_each(bool (*fn)(struct thread *t, void *arg), void *arg)
{
	unsigned long flags = spin_lock_irqsave(&threads_lock);
	struct thread *t;

	list_for_each_entry(t, &threads, all) {
		if (!fn(t, arg))
			break;
	}
	spin_unlock_irqrestore(&threads_lock, flags);
}

unsigned thread_count(void)
{
	return READ_ONCE(nr_threads);
}
