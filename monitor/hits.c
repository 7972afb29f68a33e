/* SPDX-License-Identifier: MIT */
/*
 * What monitor probes saw, from the handler to the screen.
 *
 * A handler may not take a lock, so it may not print and may not wake anybody. It
 * writes a record to a ring of its own CPU. A thread looks at the rings fifty
 * times a second and prints. Interrupts are off in handlers and a hit inside a
 * handler calls nobody, so each ring has one writer; hits_mutex makes one reader.
 *
 *	ring of one CPU:   [ ][ ][h][h][h][ ][ ][ ]
 *			         ^tail    ^head
 *			    reader frees   writer publishes
 *
 * How many hits are shown in a second is bounded, per probe and for all, and the
 * bounds are looked at first: a probe that is hit a million times costs little and does not
 * push the records of another one out. The hits of the thread that prints are
 * counted and not shown, or each would cause the next.
 */
#include "monitor.h"
#include <kernel/heap.h>
#include <kernel/main.h>
#include <kernel/panic.h>
#include <kernel/percpu.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <kernel/wait.h>
#include <lib/errno.h>
#include <lib/string.h>

#define HIT_ARGS    6
#define HIT_CALLERS 8
#define RING_HITS   32 /* a power of two: head and tail wrap around */

struct hit {
	u64 time;
	unsigned cpu;
	int thread;
	char thread_name[THREAD_NAME_MAX];
	int probe;
	bool full;
	bool returns;
	unsigned callers;
	unsigned long pc;
	unsigned long arg[HIT_ARGS]; /* or the return value, and nothing */
	unsigned long caller[HIT_CALLERS];
	struct pt_regs regs;
};

struct hit_ring {
	unsigned head; /* hits ever written */
	unsigned tail; /* hits ever read */
	struct hit hits[RING_HITS];
};

static struct hit_ring *rings[MAX_CPUS];
static struct thread *show_thread;
static int budget; /* hits of all probes that will be shown this second */

/* The writer --------------------------------------------------------------- */

static bool add_caller(unsigned long pc, void *arg)
{
	struct hit *hit = arg;

	if (hit->callers == 0 && pc == hit->pc)
		return true; /* the probed place itself */
	hit->caller[hit->callers++] = pc;
	return hit->callers < HIT_CALLERS;
}

static void fill(struct hit *hit, const struct monitor_probe *p,
		 const struct pt_regs *regs)
{
	hit->time = clock_ns();
	hit->cpu = smp_processor_id();
	hit->thread = current->id;
	memcpy(hit->thread_name, current->name, sizeof(hit->thread_name));
	hit->probe = p->id;
	hit->full = p->full;
	hit->returns = p->returns;
	hit->pc = p->returns ? p->rp.kp.addr : instruction_pointer(regs);
	hit->arg[0] = regs_return_value(regs);
	for (unsigned i = 0; !p->returns && i < HIT_ARGS; i++)
		hit->arg[i] = regs_get_kernel_argument(regs, i);
	hit->callers = 0;
	arch_unwind(current, regs, add_caller, hit);
	hit->regs = *regs;
}

/* Takes one off *@left if it is not used up. */
static bool spend(int *left)
{
	return READ_ONCE(*left) > 0 &&
	       __atomic_fetch_sub(left, 1, __ATOMIC_RELAXED) > 0;
}

int hit_record(struct kprobe *kp, struct pt_regs *regs)
{
	struct monitor_probe *p = container_of(kp, struct monitor_probe, rp.kp);
	struct hit_ring *ring = rings[smp_processor_id()];

	if (current == show_thread || !spend(&p->budget) || !spend(&budget) ||
	    /* Pairs with the release in hits_show(): the record is free. */
	    ring->head - load_acquire(&ring->tail) == RING_HITS) {
		__atomic_fetch_add(&p->not_shown, 1, __ATOMIC_RELAXED);
		return 0;
	}
	fill(&ring->hits[ring->head % RING_HITS], p, regs);
	/* Pairs with the acquire in oldest(). */
	store_release(&ring->head, ring->head + 1);
	return 0;
}

int hit_record_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return hit_record(&get_kretprobe(ri)->kp, regs);
}

/* The reader --------------------------------------------------------------- */

static struct mutex hits_mutex = MUTEX(hits_mutex);

static bool is_entry(unsigned long pc)
{
	struct symbol sym;

	return symtab_lookup(pc, &sym) == 0 && pc == symbol_entry(&sym);
}

void registers_print(const struct pt_regs *regs)
{
	for (unsigned i = 0; i < arch_reg_desc_count; i++) {
		const struct reg_desc *r = &arch_reg_descs[i];
		unsigned long v;

		memcpy(&v, (const char *)regs + r->offset, sizeof(v));
		monitor_print(
			"%s%6s %016lx%s", i % 4 ? " " : "    ", r->name, v,
			i % 4 == 3 || i + 1 == arch_reg_desc_count ? "\n" : "");
	}
}

static void print_hit(const struct hit *hit)
{
	u64 us = hit->time / NSEC_PER_USEC;
	char where[80], args[HIT_ARGS * 20 + 16];
	size_t n = 0;

	args[0] = '\0';
	if (hit->returns) {
		scnprintf(args, sizeof(args), " returns 0x%lx", hit->arg[0]);
	} else if (is_entry(hit->pc)) {
		n += scnprintf(args, sizeof(args), "  args");
		for (unsigned i = 0; i < HIT_ARGS; i++)
			n += scnprintf(args + n, sizeof(args) - n, " 0x%lx",
				       hit->arg[i]);
	}
	symtab_text(hit->pc, where, sizeof(where));
	monitor_print("[%3llu.%06llu] cpu%u %s/%d  probe %d %s%s\n",
		      us / 1000000, us % 1000000, hit->cpu,
		      hit->thread_name[0] ? hit->thread_name : "boot",
		      hit->thread, hit->probe, where, args);
	if (hit->full)
		registers_print(&hit->regs);
	for (unsigned i = 0; i < hit->callers; i++) {
		symtab_return_text(hit->caller[i], where, sizeof(where));
		monitor_print("    <- %s\n", where);
	}
}

/* The ring whose next record is the oldest of all; NULL if all are empty. */
static struct hit_ring *oldest(void)
{
	struct hit_ring *found = NULL;
	u64 time = 0;

	for_each_cpu(c) {
		struct hit_ring *ring = rings[c->id];
		const struct hit *hit;

		/* Pairs with the release in hit_record(). */
		if (!ring || load_acquire(&ring->head) == ring->tail)
			continue;
		hit = &ring->hits[ring->tail % RING_HITS];
		if (!found || hit->time < time) {
			found = ring;
			time = hit->time;
		}
	}
	return found;
}

void hits_show(void)
{
	struct hit_ring *ring;
	bool any = false;

	mutex_lock(&hits_mutex);
	while ((ring = oldest())) {
		if (!any)
			terminal_interrupt_begin();
		any = true;
		print_hit(&ring->hits[ring->tail % RING_HITS]);
		/* Pairs with the acquire in hit_record(). */
		store_release(&ring->tail, ring->tail + 1);
	}
	if (any)
		terminal_interrupt_end();
	mutex_unlock(&hits_mutex);
}

/* The thread --------------------------------------------------------------- */

#define SHOW_EVERY	 (20 * NSEC_PER_MSEC)
#define SHOWN_PER_SECOND 40 /* of all probes */

static void refill(void)
{
	__atomic_store_n(&budget, SHOWN_PER_SECOND, __ATOMIC_RELAXED);
	probes_refill();
}

static struct wait_queue show_queue = WAIT_QUEUE(show_queue);
static bool show_stop;
static unsigned open_count; /* commands run in one thread: no lock */

/* Sleeps on a queue, not in thread_sleep(), for the reason of wait_pause(). */
static void show_loop(void *arg __unused)
{
	u64 refilled = clock_ns();

	while (!wait_event_timeout(&show_queue, READ_ONCE(show_stop),
				   SHOW_EVERY)) {
		hits_show();
		if (clock_ns() - refilled < NSEC_PER_SEC)
			continue;
		refilled = clock_ns();
		refill();
	}
}

/* Probes of the command line come before threads do. */
int hits_start(void)
{
	if (open_count == 0 || show_thread || system_is_booting())
		return 0;
	show_stop = false;
	show_thread = thread_create("monitor-hits", show_loop, NULL);
	return show_thread ? 0 : -ENOMEM;
}

static void rings_free(void)
{
	for_each_cpu(c) {
		kfree(rings[c->id]);
		rings[c->id] = NULL;
	}
}

static int rings_make(void)
{
	for_each_cpu(c) {
		rings[c->id] = kzalloc(sizeof(struct hit_ring));
		if (!rings[c->id])
			return -ENOMEM;
	}
	budget = SHOWN_PER_SECOND;
	return 0;
}

int hits_open(void)
{
	int err = open_count++ ? 0 : rings_make();

	if (!err)
		err = hits_start();
	if (!err)
		return 0;
	if (--open_count == 0)
		rings_free();
	return err;
}

/* The caller has unregistered its probe: no handler of it runs any more. */
void hits_close(void)
{
	ASSERT(open_count > 0);
	if (--open_count)
		return;
	if (show_thread) {
		WRITE_ONCE(show_stop, true);
		wake_up(&show_queue);
		thread_join(show_thread);
		show_thread = NULL;
	}
	hits_show();
	rings_free();
}
