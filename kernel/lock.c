// SPDX-License-Identifier: MIT
/*
 * Spinlocks with rank checks. Locks are only ever held with interrupts off, so
 * what a CPU holds is a stack: traps that interrupt it (NMI, probe handlers) take
 * no locks. A handler that tries is abandoned. docs/locks.md lists all locks.
 *
 * Whoever asks while the lock is free gets it. Tickets would be fair, but where
 * there are more virtual CPUs than real ones each release waits until the host
 * runs the one CPU whose turn it is: eight CPUs on two took a hundred times longer.
 */
#include <kernel/lock.h>
#include <kernel/panic.h>
#include <kernel/percpu.h>
#include <probe/hit.h>

#define HELD_MAX 16 /* more than there are ranks */

struct held {
	const struct spinlock *locks[HELD_MAX];
	unsigned depth;
};

static DEFINE_PER_CPU(struct held, held);
STATIC_ASSERT(HELD_MAX > RANK_COUNT);

static void violation_panic(const char *what, const struct spinlock *l)
{
	panic("lock %s (rank %u): %s", l->name, l->rank, what);
}

void (*lock_violation)(const char *what,
		       const struct spinlock *l) = violation_panic;

void spin_lock_init(struct spinlock *l, const char *name, enum lock_rank rank)
{
	*l = (struct spinlock)SPINLOCK(name, rank);
}

#ifdef SONDE_DEBUG
/* Before waiting, so that a deadlock is reported instead of entered. */
static void check_take(const struct spinlock *l, bool nested)
{
	struct held *h = &this_cpu_ref(held);
	unsigned highest = 0;

	if (!arch_irqs_disabled())
		lock_violation("taken with interrupts on", l);
	if (l->cpu == (int)smp_processor_id())
		lock_violation("taken twice by one CPU", l);
	/* Not always the last one: spin_trylock() may take any. */
	for (unsigned i = 0; i < h->depth; i++)
		highest = max(highest, (unsigned)h->locks[i]->rank);
	if (highest > l->rank || (highest == l->rank && !nested))
		lock_violation("taken after a lock of a higher rank", l);
}

static void note_taken(struct spinlock *l)
{
	struct held *h = &this_cpu_ref(held);

	ASSERT(h->depth < HELD_MAX);
	WRITE_ONCE(l->cpu, (int)smp_processor_id());
	h->locks[h->depth++] = l;
}

static void note_free(struct spinlock *l)
{
	struct held *h = &this_cpu_ref(held);
	unsigned i = h->depth;

	if (l->cpu != (int)smp_processor_id()) {
		lock_violation("freed by a CPU that does not hold it", l);
		return;
	}
	WRITE_ONCE(l->cpu, -1);
	/* Usually the top; any order of unlocking is allowed. */
	while (i > 0 && h->locks[i - 1] != l)
		i--;
	for (; i > 0 && i < h->depth; i++)
		h->locks[i - 1] = h->locks[i];
	h->depth--;
}
#else
static void check_take(const struct spinlock *l __unused, bool nested __unused)
{
}

static void note_taken(struct spinlock *l)
{
	WRITE_ONCE(l->cpu, (int)smp_processor_id());
}

static void note_free(struct spinlock *l)
{
	WRITE_ONCE(l->cpu, -1);
}
#endif

static void take(struct spinlock *l)
{
	/* Pairs with the release in spin_unlock(). */
	while (__atomic_exchange_n(&l->taken, 1, __ATOMIC_ACQUIRE))
		while (READ_ONCE(l->taken))
			cpu_relax();
	note_taken(l);
}

/* Not for handlers: if one were abandoned, who would free it? */
#define KEEP_OUT(l) probe_hit_keep_out((l)->name, __builtin_return_address(0))

void spin_lock(struct spinlock *l)
{
	KEEP_OUT(l);
	check_take(l, false);
	take(l);
}

void spin_lock_nested(struct spinlock *l)
{
	KEEP_OUT(l);
	check_take(l, true);
	take(l);
}

int spin_trylock(struct spinlock *l)
{
	KEEP_OUT(l);
	if (READ_ONCE(l->taken) ||
	    __atomic_exchange_n(&l->taken, 1, __ATOMIC_ACQUIRE))
		return -EBUSY;
	note_taken(l);
	return 0;
}

void spin_unlock(struct spinlock *l)
{
	note_free(l);
	/* Pairs with the acquire in take() and spin_trylock(). */
	store_release(&l->taken, 0);
}

unsigned long spin_lock_irqsave(struct spinlock *l)
{
	unsigned long flags;

	KEEP_OUT(l);
	flags = arch_irq_save();
	spin_lock(l);
	return flags;
}

void spin_unlock_irqrestore(struct spinlock *l, unsigned long flags)
{
	spin_unlock(l);
	arch_irq_restore(flags);
}

unsigned locks_held(void)
{
	unsigned long flags = arch_irq_save();
	struct held *h = &this_cpu_ref(held);
	unsigned ranks = 0;

	for (unsigned i = 0; i < h->depth; i++)
		ranks |= BIT(h->locks[i]->rank);
	arch_irq_restore(flags);
	return ranks;
}
