// SPDX-License-Identifier: MIT
/*
 * stop_machine(): the others are called into a loop that follows the leader
 * through states with interrupts off; each state is left only when all CPUs have
 * reached it. On reaching one, a CPU serialises, to fetch what was written to text.
 *
 *	IDLE	 nothing happens
 *	GATHER	 the others arrive by IPI, interrupts off from then on. All have
 *		 arrived: the leader runs the function
 *	SYNC	 stop_sync(), and the end of the function: NMIs that came to the
 *	AGAIN	 others before are over. The two take turns
 *	LEAVE	 all may go
 *
 * The leader keeps interrupts off from GATHER on too, so the function runs with
 * no other code on any CPU in between, NMIs excepted. That cannot deadlock: who
 * waits for another CPU elsewhere does so with interrupts on (smp.c), and no
 * spinlock is ever held by a CPU that can be stopped.
 */
#include <arch/cpu.h>
#include <kernel/log.h>
#include <kernel/main.h>
#include <kernel/panic.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/stop.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <kernel/wait.h>
#include <probe/watch.h>

enum stop_state { STOP_IDLE, STOP_GATHER, STOP_SYNC, STOP_AGAIN, STOP_LEAVE };

static const char *const state_names[] = { "idle", "gather", "sync", "again",
					   "leave" };

static struct mutex stop_mutex = MUTEX(stop_mutex);
static enum stop_state state;	       /* written by the leader */
static unsigned acks;		       /* CPUs that reached state */
static enum stop_state seen[MAX_CPUS]; /* for the hang report */
static struct stop_stats stats;
static u64 waits;

static void hang_print(unsigned cpu_id, const char *where)
{
	pr_warn("stop_machine: cpu %u does not reach state %s", cpu_id, where);
}

void (*stop_hang_report)(unsigned cpu_id, const char *state) = hang_print;
u64 stop_hang_ns = 5 * NSEC_PER_SEC;

/* This CPU has reached @s. */
static __always_inline void ack(enum stop_state s)
{
	WRITE_ONCE(seen[smp_processor_id()], s);
	/* Pairs with the acquire in advance(). */
	__atomic_fetch_add(&acks, 1, __ATOMIC_RELEASE);
}

/*
 * The others' side; interrupts are off in an IPI. No-probe: what they run must not
 * be what is written. But should a handler of the leader hang, only they can tell;
 * they are out of that again before the next state.
 */
static __noprobe void follow(void)
{
	enum stop_state done = STOP_IDLE;

	__atomic_fetch_add(&waits, 1, __ATOMIC_RELAXED);
	while (done != STOP_LEAVE) {
		/* Pairs with the release in advance(). */
		enum stop_state s = load_acquire(&state);

		if (s == done) {
			cpu_relax();
			probe_watch_poll();
			continue;
		}
		arch_cpu_serialize();
		done = s;
		ack(s);
	}
}

static void report_missing(enum stop_state s)
{
	for_each_cpu(cpu) {
		if (READ_ONCE(cpu->online) && cpu != this_cpu() &&
		    READ_ONCE(seen[cpu->id]) != s)
			stop_hang_report(cpu->id, state_names[s]);
	}
}

/* The leader: announces @s and waits until the others have reached it. */
static void advance(enum stop_state s)
{
	u64 report = clock_ns() + stop_hang_ns;

	WRITE_ONCE(acks, 0);
	store_release(&state, s);
	/* Pairs with the release in ack(). */
	while (load_acquire(&acks) < smp_online() - 1) {
		cpu_relax();
		probe_watch_poll(); /* a handler may be what hangs */
		if (clock_ns() < report)
			continue;
		report_missing(s);
		report = clock_ns() + stop_hang_ns;
	}
}

void stop_sync(void)
{
	arch_cpu_serialize();
	if (!system_is_booting())
		advance(state == STOP_SYNC ? STOP_AGAIN : STOP_SYNC);
}

struct stop_request {
	struct thread *leader;
	int (*fn)(void *arg);
	void *arg;
	int result;
};

static void lead(struct stop_request *req)
{
	u64 start = clock_ns();

	advance(STOP_GATHER);
	req->result = req->fn(req->arg);
	stop_sync();
	stats.calls++;
	stats.last_ns = clock_ns() - start;
	stats.longest_ns = max(stats.longest_ns, stats.last_ns);
	advance(STOP_LEAVE);
	/* All others are out of follow() or will not look at state again. */
	WRITE_ONCE(state, STOP_IDLE);
}

/* Runs on every CPU, interrupts off. */
static void take_part(void *arg)
{
	struct stop_request *req = arg;

	if (current == req->leader)
		lead(req);
	else
		follow();
}

int stop_machine(int (*fn)(void *arg), void *arg)
{
	struct stop_request req = { .leader = current, .fn = fn, .arg = arg };

	/* All of the machine is this CPU then. */
	if (system_is_booting())
		return fn(arg);
	if (arch_irqs_disabled() || mutex_is_held(&stop_mutex))
		return -EDEADLK;
	mutex_lock(&stop_mutex);
	smp_call_all(take_part, &req);
	mutex_unlock(&stop_mutex);
	return req.result;
}

void stop_stats_get(struct stop_stats *s)
{
	mutex_lock(&stop_mutex);
	*s = stats;
	s->waits = READ_ONCE(waits);
	mutex_unlock(&stop_mutex);
}
