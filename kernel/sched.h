/* SPDX-License-Identifier: MIT */
/*
 * Between sched.c, which knows run queues, and thread.c, which knows lives.
 */
#ifndef SONDE_KERNEL_SCHED_H
#define SONDE_KERNEL_SCHED_H

struct thread;

/* A new thread, state READY, on no list: may run from here on. */
void sched_add(struct thread *t);
/* On a new thread's own stack, interrupts off: ends the switch to it. */
void sched_thread_started(void);

/* @t left its CPU for the last time; interrupts off, no locks held. */
void thread_gone(struct thread *t);
/* Puts an idle thread on the list of all. */
void thread_add_idle(struct thread *t);

#endif
