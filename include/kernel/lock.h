/* SPDX-License-Identifier: MIT */
/*
 * Spinlocks. A spinlock is only ever held with interrupts off: take it with the
 * _irqsave form, or with the plain form where interrupts are off already. That
 * keeps preemption and interrupt handlers out; one rule for all locks.
 *
 * A lock has a rank. A CPU may only take a lock of a higher rank than all it
 * holds; debug builds check that, and that a lock is not taken twice and is
 * freed by who holds it. docs/locks.md is the list.
 *
 * Never in probe handlers or on the hit path: those take no locks at all.
 */
#ifndef SONDE_KERNEL_LOCK_H
#define SONDE_KERNEL_LOCK_H

#include <lib/compiler.h>
#include <lib/errno.h>

/* Low ranks are taken first. docs/locks.md says what each protects. */
enum lock_rank {
	RANK_NONE,
	RANK_WAIT,    /* wait queues, mutexes, completions */
	RANK_THREADS, /* list of all threads */
	RANK_RUNQ,    /* run queues; never two at once */
	RANK_TIMER,   /* per-CPU timer trees */
	RANK_VM,      /* kernel page tables, vmap area */
	RANK_HEAP,
	RANK_FRAMES,
	RANK_CALL, /* cross-CPU call slots */
	RANK_LEAF, /* takes nothing further */
	RANK_COUNT
};

struct spinlock {
	u32 taken; /* 1 while somebody holds it */
	const char *name;
	u8 rank;
	int cpu; /* holder, -1 if free */
};

#define SPINLOCK(lock_name, lock_rank)                              \
	{                                                           \
		.name = (lock_name), .rank = (lock_rank), .cpu = -1 \
	}
void spin_lock_init(struct spinlock *l, const char *name, enum lock_rank rank);

void spin_lock(struct spinlock *l);
void spin_unlock(struct spinlock *l);
unsigned long __must_check spin_lock_irqsave(struct spinlock *l);
void spin_unlock_irqrestore(struct spinlock *l, unsigned long flags);

/* For two locks of one rank: the second of a pair, in address order. */
void spin_lock_nested(struct spinlock *l);
/* 0, or -EBUSY at once. No rank check: nobody waits. Interrupts off. */
int __must_check spin_trylock(struct spinlock *l);

/* Ranks held by this CPU, for reports; bit per rank. */
unsigned locks_held(void);

/* What a broken lock rule calls; tests replace it. Default: panic. */
extern void (*lock_violation)(const char *what, const struct spinlock *l);

#endif
