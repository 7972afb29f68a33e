/* SPDX-License-Identifier: MIT */
/*
 * Kernel threads and the scheduler. Fully preemptive: a thread can lose its CPU
 * at any instruction at which interrupts are on and its preempt_count is 0, and
 * go on on any other CPU that its affinity allows.
 *
 * Round robin per CPU with time slices; idle CPUs steal. Each CPU's idle thread
 * is what its boot code became.
 */
#ifndef SONDE_KERNEL_THREAD_H
#define SONDE_KERNEL_THREAD_H

#include <lib/compiler.h>
#include <lib/list.h>
#include <arch/context.h>
#include <arch/cpu.h>
#include <probe/ret.h>

#define THREAD_STACK_SIZE (16 * 1024)
#define THREAD_NAME_MAX	  24

enum thread_state {
	THREAD_READY,	/* on a run queue, or running */
	THREAD_BLOCKED, /* waits for thread_wake() */
	THREAD_DEAD	/* ran to its end; waits for thread_join() */
};

struct waiter; /* kernel/wait.c */

struct thread {
	struct arch_context ctx; /* first; valid while not running */
	unsigned preempt_count;	 /* preemption is off while > 0 */
	bool need_resched;	 /* the tick or a wake-up wants the CPU */
	bool preempted;		 /* last left its CPU involuntarily */
	struct ret_stack ret;	 /* calls whose return is probed */
	enum thread_state state;
	unsigned cpu;		/* runs or last ran there */
	u32 affinity;		/* bit per CPU */
	u64 slice_end;		/* clock_ns at which the time slice is over */
	u64 voluntary;		/* switches by its own will: quiesce_tasks() */
	u64 switches;		/* times it got a CPU */
	u64 run_ns;		/* CPU time, up to the last switch */
	u64 started_ns;		/* got the CPU then */
	struct list_head queue; /* run queue */
	struct list_head all;	/* list of all threads */
	int id;			/* > 0, never used twice; idle: -cpu */
	char name[THREAD_NAME_MAX];
	void *stack; /* lowest address; NULL: boot stack */
	unsigned long stack_top;
	void (*fn)(void *arg);
	void *arg;
	bool gone; /* off its CPU for good: thread_join() may free it */
	bool detached;
	unsigned long preempted_pc; /* where, if preempted by an interrupt */
	u64 quiesce_seen;	    /* kernel/quiesce.c */
	char probe_reason[192];	    /* kprobe_reason() */
};

#define current arch_current()

/* Turns preemption of the running thread off and on; nests. Any context. */
static inline void preempt_disable(void)
{
	current->preempt_count++;
	barrier();
}

void preempt_schedule(void);

static inline void preempt_enable(void)
{
	struct thread *t = current;

	barrier();
	if (--t->preempt_count == 0 && unlikely(t->need_resched))
		preempt_schedule();
}

/* Without looking whether somebody wants the CPU: traps, hit path. */
static inline void preempt_enable_no_resched(void)
{
	barrier();
	current->preempt_count--;
}

/*
 * Makes a thread that runs @fn(@arg) on any CPU and starts it. NULL when out of
 * memory. Must be joined, or detached with thread_detach(). Threads only.
 */
struct thread *thread_create(const char *name, void (*fn)(void *arg),
			     void *arg) __must_check;
/* The same, allowed on the CPUs of @affinity only from its first instruction. */
struct thread *thread_create_on(const char *name, u32 affinity,
				void (*fn)(void *arg), void *arg) __must_check;
/* Waits for the end of @t and frees it. */
void thread_join(struct thread *t);
/* @t frees itself at its end; the caller must not use @t any more. */
void thread_detach(struct thread *t);
/* Ends the running thread. */
__noreturn void thread_exit(void);

/* -EINVAL if no online CPU is in @mask. Returns when @t obeys. Threads only. */
int __must_check thread_set_affinity(struct thread *t, u32 mask);

/* Gives the CPU to the next ready thread. Threads only. */
void thread_yield(void);
/* At least @ns. Threads only. */
void thread_sleep(u64 ns);

/*
 * Blocking by hand: set the state to THREAD_BLOCKED, look at the condition once
 * more, schedule(). thread_wake() from any context except NMI and handlers makes
 * it ready; a wake-up between the two is not lost. It returns whether the thread
 * was blocked. wait.h is easier.
 */
void thread_prepare_block(void);
void thread_cancel_block(void);
void schedule(void);
bool thread_wake(struct thread *t);

/* Calls @fn for each thread, idle threads too, until it returns false. */
void thread_for_each(bool (*fn)(struct thread *t, void *arg), void *arg);
/* Number of threads that exist, idle threads not counted. */
unsigned thread_count(void);

/* Where @t is: on a CPU; off it by preemption at *pc; off it otherwise. */
enum thread_whereabouts { THREAD_ON_CPU, THREAD_PREEMPTED, THREAD_OFF };
enum thread_whereabouts sched_whereabouts(struct thread *t, unsigned long *pc);

/* First thread: starts the one that frees detached threads. */
void thread_init(void);
/* Boot: makes what runs now the idle thread of CPU 0. */
void sched_init(void);
/* The end of boot code on every CPU: becomes the idle loop. */
__noreturn void sched_idle(void);
/* Other CPUs, before their first interrupt. */
void sched_init_cpu(struct cpu *cpu);

/* From irq_handle(): the tick ends the slice / somebody put work here. */
void sched_tick(void);
void sched_ipi(void);
/* trap(), on the way out with interrupts off: switch if wanted and allowed. */
struct pt_regs;
void sched_irq_exit(const struct pt_regs *regs);
/* The idle thread of CPU @cpu_id. */
struct thread *sched_idle_thread(unsigned cpu_id);

/* First C code of a new thread; called by arch code with interrupts off. */
__noreturn void thread_entry(void);

#endif
