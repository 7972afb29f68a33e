// SPDX-License-Identifier: MIT
/*
 * Shadow stacks: where they come from, how they grow, reading those of others.
 *
 * A thread has one from its birth. A hit cannot make it larger, so one that
 * finds it more than half full says so, and the thread itself moves to a larger
 * one the next time it might be preempted.
 */
#include <arch/cpu.h>
#include <arch/ret.h>
#include <kernel/extable.h>
#include <kernel/heap.h>
#include <kernel/percpu.h>
#include <kernel/thread.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/ret.h>
#include "owner.h"

/* About 60 calls at first; more than fit on a thread's stack at last. */
#define STACK_FIRST 2000
#define STACK_MAX   (64 * 1024)

/* Every shadow stack begins with one like this. */
static const struct kretprobe_instance bottom = {
	.sp = ~0ul,
};

static void set_limits(struct ret_stack *s, size_t size)
{
	s->end = s->base + size;
	s->soft = size * 2 <= STACK_MAX ? s->base + size / 2 : s->end;
	s->tight = false;
}

int ret_stack_create(struct ret_stack *s)
{
	s->base = kmalloc(STACK_FIRST);
	if (!s->base)
		return -ENOMEM;
	memcpy(s->base, &bottom, sizeof(bottom));
	s->top = (struct kretprobe_instance *)s->base;
	s->free = s->top + 1;
	set_limits(s, STACK_FIRST);
	return 0;
}

void ret_stack_free(struct ret_stack *s)
{
	kfree(s->base);
}

int ret_init(void)
{
	int err = 0;

	for (unsigned i = 0; i < MAX_CPUS; i++) {
		struct ret_stack *s = &sched_idle_thread(i)->ret;

		/* For who looks at all of them. */
		s->top = (struct kretprobe_instance *)&bottom;
		if (!err && i < cpu_count)
			err = ret_stack_create(s);
	}
	return err;
}

static void *moved(const void *p, const struct ret_stack *s, char *base)
{
	return base + ((const char *)p - s->base);
}

/*
 * An NMI may use it at any time, but has always left it as it was. The new one is
 * larger: what compares a place in one with the limit of the other finds room, or
 * none, but never room that is not there.
 */
void ret_stack_grow(void)
{
	struct ret_stack *s = &current->ret;
	size_t size = (size_t)(s->end - s->base) * 2;
	struct kretprobe_instance *ri;
	char *base, *old;
	unsigned long flags;

	s->tight = false;
	if (size > STACK_MAX)
		return;
	base = kmalloc(size);
	if (!base)
		return; /* it is tight again at the next call */
	flags = arch_irq_save();
	memcpy(base, s->base, (size_t)((char *)s->free - s->base));
	for (ri = moved(s->top, s, base); ri->below; ri = ri->below)
		ri->below = moved(ri->below, s, base);
	WRITE_ONCE(s->top, moved(s->top, s, base));
	WRITE_ONCE(s->free, moved(s->free, s, base));
	old = s->base;
	s->base = base;
	set_limits(s, size);
	arch_irq_restore(flags);
	kfree(old);
}

unsigned long ret_caller(const struct thread *t, unsigned long sp)
{
	const struct kretprobe_instance *at = READ_ONCE(t->ret.top);
	struct kretprobe_instance ri;

	for (; at && peek(&ri, at, sizeof(ri)) == 0 && ri.below;
	     at = ri.below) {
		if (ri.sp == sp)
			return ri.ret_addr;
	}
	return 0;
}
