/* SPDX-License-Identifier: MIT */
/*
 * Commands about the kernel as a whole: threads, CPUs, memory, counters, time,
 * and the self-tests.
 */
#include "monitor.h"
#include <arch/cpu.h>
#include <arch/trap.h>
#include <kernel/frames.h>
#include <kernel/heap.h>
#include <kernel/irq.h>
#include <kernel/log.h>
#include <kernel/panic.h>
#include <kernel/percpu.h>
#include <kernel/stop.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <kernel/vm.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <lib/text.h>
#include <probe/opt.h>
#include <probe/patch.h>
#include <probe/plan.h>
#include <probe/watch.h>
#include <tests/test.h>

/* ps ----------------------------------------------------------------------- */

struct ps_row {
	int id;
	unsigned cpu;
	u32 affinity;
	const char *state;
	u64 switches;
	u64 run_ns;
	char name[THREAD_NAME_MAX];
};

struct ps {
	struct ps_row *rows;
	unsigned n, max;
};

static const char *state_name(const struct thread *t,
			      enum thread_whereabouts where)
{
	if (where == THREAD_ON_CPU)
		return "running";
	switch (t->state) {
	case THREAD_READY:
		return where == THREAD_PREEMPTED ? "preempted" : "ready";
	case THREAD_BLOCKED:
		return "blocked";
	case THREAD_DEAD:
		return "dead";
	}
	return "?";
}

/* Copies only: the list's lock is held, and printing is slow. */
static bool ps_add(struct thread *t, void *arg)
{
	struct ps *ps = arg;
	struct ps_row *row = &ps->rows[ps->n++];

	enum thread_whereabouts where;
	unsigned long pc;

	where = sched_whereabouts(t, &pc);
	row->id = t->id;
	row->cpu = t->cpu;
	row->affinity = t->affinity;
	row->state = state_name(t, where);
	row->switches = t->switches;
	row->run_ns = t->run_ns;
	if (where == THREAD_ON_CPU)
		row->run_ns += clock_ns() - t->started_ns;
	strscpy(row->name, t->name, sizeof(row->name));
	return ps->n < ps->max;
}

static int cmd_ps(const struct monitor_call *call __unused)
{
	/* Some more than there are: others may be made meanwhile. */
	struct ps ps = { .max = thread_count() + MAX_CPUS + 8 };

	ps.rows = kcalloc(ps.max, sizeof(*ps.rows));
	if (!ps.rows)
		return monitor_fail(-ENOMEM, "no memory for the list");
	thread_for_each(ps_add, &ps);
	monitor_print("%5s  %-16s %-10s %4s  %5s %10s %12s\n", "ID", "NAME",
		      "STATE", "CPU", "MASK", "SWITCHES", "RUN ms");
	for (unsigned i = 0; i < ps.n; i++) {
		struct ps_row *row = &ps.rows[i];
		u64 us = row->run_ns / NSEC_PER_USEC;

		monitor_print("%5d  %-16s %-10s %4u  %5x %10llu %8llu.%03llu\n",
			      row->id, row->name, row->state, row->cpu,
			      row->affinity & ((1u << cpu_count) - 1),
			      row->switches, us / 1000, us % 1000);
	}
	kfree(ps.rows);
	return 0;
}
MONITOR_COMMAND("ps", "", "threads", cmd_ps);

/* cpus --------------------------------------------------------------------- */

static int cmd_cpus(const struct monitor_call *call __unused)
{
	monitor_print("%s; %s\n", arch_cpu_name(), arch_cpu_features());
	monitor_print("%3s  %5s  %-7s %10s %10s %10s %10s %8s\n", "CPU",
		      "HW-ID", "STATE", "TIMER", "IPI", "CONSOLE", "BREAK",
		      "STEP");
	for_each_cpu(c)
		monitor_print("%3u  %5u  %-7s %10llu %10llu %10llu %10llu"
			      " %8llu\n",
			      c->id, c->hw_id, c->online ? "online" : "offline",
			      irq_count(c->id, IRQ_TIMER),
			      irq_count(c->id, IRQ_IPI),
			      irq_count(c->id, IRQ_CONSOLE),
			      c->traps[TRAP_BREAKPOINT], c->traps[TRAP_STEP]);
	return 0;
}
MONITOR_COMMAND("cpus", "", "CPUs, their interrupts and traps", cmd_cpus);

/* mem ---------------------------------------------------------------------- */

static int cmd_mem(const struct monitor_call *call __unused)
{
	size_t total = frames_total(), free = frames_free();

	monitor_print("frames  %8zu KiB, %zu KiB free\n", total * 4, free * 4);
	monitor_print("  free blocks by order:");
	for (unsigned order = 0; order <= FRAME_ORDER_MAX; order++)
		monitor_print(" %zu", frames_free_blocks(order));
	monitor_print("\nheap    %8zu bytes in %zu objects\n",
		      heap_bytes_used(), heap_objects_used());
	monitor_print("mapped  %8zu KiB\n", vm_pages_used() * 4);
	monitor_print("stacks  %8u KiB of %u threads\n",
		      thread_count() * (THREAD_STACK_SIZE / 1024),
		      thread_count());
	return 0;
}
MONITOR_COMMAND("mem", "", "frames, heap, mappings, stacks", cmd_mem);

/* stats, patch ------------------------------------------------------------- */

static int cmd_stats(const struct monitor_call *call __unused)
{
	struct patch_stats patch;
	struct stop_stats stop;

	patch_stats_get(&patch);
	stop_stats_get(&stop);
	monitor_print("patch   %llu changes in %llu batches, mode %s\n",
		      patch.patches, patch.batches,
		      patch_mode_name(patch_mode()));
	monitor_print("        %llu traps on a change under way,"
		      " %llu stale translations healed\n",
		      patch.retries, patch.stale_healed);
	monitor_print("stop    %llu times, the longest %llu us\n", stop.calls,
		      stop.longest_ns / NSEC_PER_USEC);
	monitor_print("timers  %u active\n", timers_active());
	return 0;
}
MONITOR_COMMAND("stats", "", "how often text was patched, CPUs stopped",
		cmd_stats);

static int cmd_patch(const struct monitor_call *call)
{
	if (!call->argc) {
		monitor_print("%s\n", patch_mode_name(patch_mode()));
		return 0;
	}
	if (patch_mode_parse(call->argv[0]))
		return monitor_usage(call, "'%s' is no way to patch",
				     call->argv[0]);
	return 0;
}
MONITOR_COMMAND("patch", "[break|stop]", "how text is changed", cmd_patch);

static void print_jumps(void)
{
	struct opt_stats stats;

	opt_stats_get(&stats);
	monitor_print("optimize is %s; jumps that stand: %u",
		      opt_mode_name(opt_mode()), stats.jumps);
	for (unsigned i = JUMP_NONE + 1; i < JUMP_STRATEGIES; i++) {
		if (stats.by_strategy[i])
			monitor_print(", %u %s", stats.by_strategy[i],
				      jump_strategy_name(i));
	}
	monitor_print("\n");
}

static int cmd_optimize(const struct monitor_call *call)
{
	const char *what = call->argc > 0 ? call->argv[0] : "";
	int error = 0;

	if (!strcmp(what, "sync"))
		error = opt_sync();
	else if (*what)
		error = opt_parse(what);
	if (error == -EINVAL)
		return monitor_usage(call, "'%s' is none of these", what);
	print_jumps();
	return error;
}
MONITOR_COMMAND("optimize", "[on|off|eager|sync]",
		"breakpoints become jumps: in the background, at once, now",
		cmd_optimize);

static int cmd_plan(const struct monitor_call *call)
{
	if (!call->argc) {
		monitor_print("%s\n", probe_plan_name(probe_plan()));
		return 0;
	}
	if (probe_plan_parse(call->argv[0]))
		return monitor_usage(call, "'%s' is no plan", call->argv[0]);
	return 0;
}
MONITOR_COMMAND("plan", "[auto|emulate|slot|step]",
		"how new probes run what they displace", cmd_plan);

/* Time --------------------------------------------------------------------- */

static int cmd_uptime(const struct monitor_call *call __unused)
{
	u64 ms = clock_ns() / NSEC_PER_MSEC;

	monitor_print("%llu.%03llu seconds\n", ms / 1000, ms % 1000);
	return 0;
}
MONITOR_COMMAND("uptime", "", "time since boot", cmd_uptime);

#define SLEEP_MAX_MS 3600000
#define SLEEP_DEAF   (200 * NSEC_PER_MSEC)

static int cmd_sleep(const struct monitor_call *call)
{
	u64 ms, ns;

	if (parse_u64(call->argv[0], 0, &ms, NULL) || ms > SLEEP_MAX_MS)
		return monitor_usage(call,
				     "'%s' is no number of milliseconds up to"
				     " %d",
				     call->argv[0], SLEEP_MAX_MS);
	/* People like to probe thread_sleep(); so short a wait needs no ^C. */
	ns = ms * NSEC_PER_MSEC;
	thread_sleep(min(ns, SLEEP_DEAF));
	if (ns > SLEEP_DEAF && terminal_wait(ns - SLEEP_DEAF))
		return monitor_fail(-EINTR, "interrupted");
	return 0;
}
MONITOR_COMMAND("sleep", "MS", "wait so many milliseconds, or for Ctrl-C",
		cmd_sleep);

/* test, panic -------------------------------------------------------------- */

static int cmd_test(const struct monitor_call *call)
{
	u64 budget = probe_budget();
	int failed;

	/* Cases count timers, and take what time they like: as after boot. */
	if (probe_budget_set(0))
		return monitor_fail(-EIO, "the time budget stays");
	/* Ends between two cases: one that was cut short would leave something. */
	failed = tests_run(call->argc ? call->argv[0] : "",
			   monitor_interrupted);
	if (probe_budget_set(budget))
		pr_warn("there is no time budget any more");
	if (failed == -EINTR)
		return monitor_fail(failed, "interrupted");
	if (failed == -ENOENT)
		return monitor_fail(failed, "no test matches '%s'",
				    call->argv[0]);
	if (failed)
		return monitor_fail(-EIO, "%d failed", failed);
	return 0;
}
MONITOR_COMMAND("test", "[GLOB]",
		"run self-tests, as suite or suite.name; Ctrl-C ends it",
		cmd_test);

static int cmd_panic(const struct monitor_call *call __unused)
{
	panic("asked for on the console");
}
MONITOR_COMMAND("panic", "", "end with a report of all CPUs", cmd_panic);
