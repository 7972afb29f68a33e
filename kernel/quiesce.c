// SPDX-License-Identifier: MIT
/*
 * Waiting until nothing old is in use any more: what makes it safe to free a
 * site, a slot or a probe array without the hit path taking a lock.
 *
 * quiesce_cpus(): an IPI is taken only with interrupts on. Traps, probe handlers
 * and NMIs run with interrupts off, so a CPU that answered one sent after the
 * call is out of every handler that had begun before it.
 *
 * quiesce_tasks(): a thread may have been preempted by an interrupt at any
 * instruction, one of a slot included, and be continued much later. Code in
 * slots and detours never sleeps and is never preempted inside a call it makes
 * (they run handlers with interrupts off), so where such a thread is, is exactly
 * the pc at which it was interrupted: no stack need be searched. A thread has
 * passed a safe point if, after the call,
 *
 *	it left its CPU by its own will, or
 *	it was interrupted in plain text of the image, or
 *	it ended.
 *
 * For threads that run, an IPI to every CPU is such an interruption. What can
 * then still be open is a thread whose pc lay outside of plain text; it is asked
 * again until it has moved on. A thread that is not scheduled keeps its pc, so
 * the wait gives CPU time away.
 *
 * Where traps are frequent an IPI nearly always finds the pc in some slot: it
 * waits in the trap for interrupts to be on, and they are from the slot's first
 * instruction on. quiesce_tasks_in() therefore names the code that is old; to be
 * anywhere else is a safe point.
 */
#include <arch/regs.h>
#include <kernel/irq.h>
#include <kernel/percpu.h>
#include <kernel/quiesce.h>
#include <kernel/smp.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <kernel/wait.h>

extern const char __text_start[], __text_end[];

/* Serialises quiesce_tasks(): one generation at a time. */
static struct mutex tasks_mutex = MUTEX(tasks_mutex);
static u64 generation;
static bool (*is_old)(unsigned long pc);

static void nothing(void *arg __unused)
{
	arch_cpu_serialize();
}

void quiesce_cpus(void)
{
	smp_call_all(nothing, NULL);
}

static bool is_outside(unsigned long pc)
{
	return pc < (unsigned long)__text_start ||
	       pc >= (unsigned long)__text_end;
}

/* On every CPU: the running thread was interrupted here. */
static void sample(void *arg)
{
	const struct pt_regs *regs = irq_regs();
	struct thread *t = current;

	/* The caller itself is in quiesce_tasks(), hence in no slot. */
	if (t == arg || !regs || !is_old(instruction_pointer(regs)))
		WRITE_ONCE(t->quiesce_seen, generation);
}

static bool passed(struct thread *t)
{
	unsigned long pc;

	if (READ_ONCE(t->quiesce_seen) == generation || load_acquire(&t->gone))
		return true;
	switch (sched_whereabouts(t, &pc)) {
	case THREAD_OFF:
		return true;
	case THREAD_PREEMPTED:
		return !is_old(pc);
	default:
		return false;
	}
}

static bool find_open(struct thread *t, void *arg)
{
	bool *open = arg;

	if (passed(t))
		WRITE_ONCE(t->quiesce_seen, generation);
	else
		*open = true;
	return true;
}

bool quiesce_tasks_try(bool (*old)(unsigned long pc), unsigned tries)
{
	bool open;

	mutex_lock(&tasks_mutex);
	is_old = old;
	generation++;
	for (;;) {
		smp_call_all(sample, current);
		open = false;
		thread_for_each(find_open, &open);
		if (!open || --tries == 0)
			break;
		wait_pause(NSEC_PER_MSEC);
	}
	mutex_unlock(&tasks_mutex);
	return !open;
}

void quiesce_tasks_in(bool (*old)(unsigned long pc))
{
	while (!quiesce_tasks_try(old, ~0u))
		;
}

void quiesce_tasks(void)
{
	quiesce_tasks_in(is_outside);
}
