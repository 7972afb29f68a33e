/* SPDX-License-Identifier: MIT */
/*
 * The first thing a newcomer sees: one probe from placing to removing, on a
 * function that the running kernel calls anyway. Uses nothing but the public
 * calls of probe/kprobe.h, so it can be read as an example of them.
 */
#include "monitor.h"
#include <arch/text.h>
#include <kernel/extable.h>
#include <kernel/percpu.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <kernel/wait.h>
#include <lib/errno.h>
#include <lib/string.h>

#define BYTES	    8 /* shown of the probed function */
#define CALLERS_MAX 8
#define BEAT_NS	    (50 * NSEC_PER_MSEC)
#define PATIENCE_NS (30 * NSEC_PER_SEC)

/* The handler -------------------------------------------------------------- */

static struct {
	bool taken;
	unsigned cpu;
	const struct thread *thread;
	u64 time;
	struct pt_regs regs;
	unsigned callers;
	unsigned long caller[CALLERS_MAX];
} hit;
static const struct thread *expected; /* whose hit is shown */

static bool add_caller(unsigned long pc, void *arg __unused)
{
	if (hit.callers == 0 && pc == instruction_pointer(&hit.regs))
		return true;
	hit.caller[hit.callers++] = pc;
	return hit.callers < CALLERS_MAX;
}

/* No locks, no waking, no printing: it only writes down what it sees. */
static int first_hit(struct kprobe *p __unused, struct pt_regs *regs)
{
	if (hit.taken || current != expected)
		return 0;
	hit.cpu = smp_processor_id();
	hit.thread = current;
	hit.time = clock_ns();
	hit.regs = *regs;
	arch_unwind(current, regs, add_caller, NULL);
	store_release(&hit.taken, true); /* pairs with heartbeat() */
	return 0;
}

/* The thread that is watched ----------------------------------------------- */

static struct wait_queue beat_queue = WAIT_QUEUE(beat_queue);
static bool beat_stop;

/* Sleeps and wakes whoever waits for the hit, which the handler may not do. */
static void heartbeat(void *arg __unused)
{
	while (!READ_ONCE(beat_stop)) {
		thread_sleep(BEAT_NS);
		wake_up(&beat_queue);
	}
}

/* Telling ------------------------------------------------------------------ */

static void print_hex(const u8 *bytes, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		monitor_print(" %02x", bytes[i]);
}

static void print_text(const char *what, unsigned long addr)
{
	u8 bytes[BYTES];

	monitor_print("    %-8s", what);
	if (peek(bytes, (const void *)addr, sizeof(bytes)))
		monitor_print(" not readable");
	else
		print_hex(bytes, sizeof(bytes));
}

static void print_hit(u64 armed)
{
	char where[80];
	u64 us = (hit.time - armed) / NSEC_PER_USEC;

	monitor_print(
		"  First hit after %llu.%03llu ms on cpu%u, in thread %s/%d,"
		" with these registers:\n",
		us / 1000, us % 1000, hit.cpu, hit.thread->name,
		hit.thread->id);
	registers_print(&hit.regs);
	monitor_print("  First argument: %lu (nanoseconds). Called from:\n",
		      regs_get_kernel_argument(&hit.regs, 0));
	for (unsigned i = 0; i < hit.callers; i++) {
		symtab_return_text(hit.caller[i], where, sizeof(where));
		monitor_print("    %s\n", where);
	}
}

static bool is_there(struct kprobe *p, void *arg)
{
	unsigned long *addr = arg;

	if (p->addr != *addr)
		return true;
	*addr = 0;
	return false;
}

/* Has somebody a probe at @addr already? */
static bool probed(unsigned long addr)
{
	kprobe_for_each(is_there, &addr);
	return !addr;
}

static void trace(void)
{
	struct kprobe probe = {
		.symbol_name = "thread_sleep",
		.pre_handler = first_hit,
		/* A trap is to be seen; a jump would come before the hit. */
		.flags = KPROBE_FLAG_NO_JUMP,
	};
	struct symbol sym;
	u64 armed;
	int error = symtab_find(probe.symbol_name, &sym);

	if (error) {
		monitor_symbol_fail(probe.symbol_name, error);
		return;
	}
	monitor_print(
		"\nA first trace. Thread %s/%d calls thread_sleep() twenty"
		" times a second.\n"
		"  The code of thread_sleep() at 0x%lx, without and with"
		" a probe:\n",
		expected->name, expected->id, symbol_entry(&sym));
	print_text("before", symbol_entry(&sym));
	monitor_print("%s\n", probed(symbol_entry(&sym))
				      ? "   another probe is on it already"
				      : "");

	armed = clock_ns();
	error = register_kprobe(&probe);
	if (error) {
		monitor_fail(error, "no probe there: %s", kprobe_reason());
		return;
	}
	print_text("probed", symbol_entry(&sym));
	monitor_print("   the breakpoint is");
	print_hex(arch_break_insn, ARCH_BREAK_SIZE);
	monitor_print("\n  Waiting for somebody to run into it.\n");
	if (wait_event_timeout(&beat_queue, load_acquire(&hit.taken),
			       PATIENCE_NS))
		print_hit(armed);
	else
		monitor_fail(-ETIMEDOUT, "nobody came in half a minute");

	unregister_kprobe(&probe);
	monitor_print("  Probe removed after %lu hit%s; the code is as it"
		      " was:\n",
		      probe.nhit, probe.nhit == 1 ? "" : "s");
	print_text("after", symbol_entry(&sym));
	monitor_print("\n\n");
}

void guided_trace(void)
{
	struct thread *t;

	memset(&hit, 0, sizeof(hit));
	beat_stop = false;
	t = thread_create("heartbeat", heartbeat, NULL);
	if (!t) {
		monitor_fail(-ENOMEM, "no memory for a thread");
		return;
	}
	expected = t;
	trace();
	WRITE_ONCE(beat_stop, true);
	thread_join(t);
	expected = NULL;
	monitor_print(
		"That thread has ended. Your turn: 'probe add thread_sleep',"
		" 'sleep 100',\n'probe list', 'probe del all'. 'sym thread*'"
		" finds names, 'help' lists all commands.\n");
}

static int cmd_guide(const struct monitor_call *call __unused)
{
	guided_trace();
	return 0;
}
MONITOR_COMMAND("guide", "", "the guided first trace once more", cmd_guide);
