// SPDX-License-Identifier: MIT
/*
 * Text patching, with NMIs and timer interrupts that execute what is patched.
 *
 * First in order: the patcher is single-stepped, and at each of its instructions
 * an NMI calls all sites. While all other CPUs stand still for it, they get one as well.
 * Then at random: for some time, from all sides. Whoever runs into a site that is
 * half written gets an NMI there, which runs into it, too.
 */
#include <arch/cpu.h>
#include <arch/regs.h>
#include <arch/text.h>
#include <arch/timer.h>
#include <kernel/percpu.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <kernel/trap.h>
#include <lib/string.h>
#include <probe/watch.h>
#include <tests/cases/nmis.h>
#include <tests/cases/patch_sites.h>
#include <tests/cases/storm.h>
#include <tests/cases/threads.h>
#include <tests/cases/trace_step.h>

static struct thread *patcher;
static unsigned long wrong;
static unsigned long traps; /* into sites that were half written */

static void count(unsigned long *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static void look_at_all(void)
{
	for (unsigned i = 0; i < patch_rounds.sites; i++) {
		if (!patch_look(i))
			count(&wrong);
	}
}

/* All of a site is written, so that it is more than one store everywhere. */
static void set_up(unsigned sites, enum patch_mode mode,
		   void (*in_trap)(struct pt_regs *regs))
{
	patch_rounds.sites = sites;
	patch_rounds.len = ARCH_TEXT_SITE_SIZE;
	patch_rounds.mode = mode;
	patch_rounds.in_trap = in_trap;
	patcher = current;
	wrong = traps = 0;
	patch_round(0);
}

static void put_back(void)
{
	EXPECT_EQ(wrong, 0);
	patch_restore();
	patch_rounds.in_trap = NULL;
}

/* In order ---------------------------------------------------------------------- */

enum { STEP_SITES = 3, STEP_ROUNDS = 4 };

static bool tracing;
static unsigned long steps;
/* When the others get theirs: at that trap of the patcher's. */
static unsigned long others_at, others_sent, others_traps;

static void look_in_step(struct pt_regs *regs __unused)
{
	look_at_all();
}

static void trap_in_step(struct pt_regs *regs __unused)
{
	if (current != patcher) {
		count(&others_traps);
		return;
	}
	/* By stop: there is a breakpoint, so the machine stands still. */
	if (++traps == others_at) {
		nmis_send_others();
		others_sent++;
	}
}

static bool step(struct pt_regs *regs)
{
	if (trace_step_on(regs) && READ_ONCE(tracing)) {
		steps++;
		nmis_send_self();
	}
	if (!READ_ONCE(tracing))
		trace_step_off(regs);
	return true;
}

static void patch_stepped(unsigned round)
{
	steps = traps = 0;
	tracing = true;
	trap_tracer = step;
	trace_step_begin();
	patch_round(round);
	WRITE_ONCE(tracing, false);
	barrier();
	trap_tracer = NULL;
	EXPECT_GE(nmis_seen(0), steps);
	EXPECT_GE(steps, 100 * STEP_SITES);
	EXPECT_GE(traps, 100);
	for (unsigned i = 0; i < STEP_SITES; i++)
		EXPECT_EQ(patch_call(i), patch_value(round, i));
}

static void step_rounds(enum patch_mode mode)
{
	unsigned long all;

	stay_on(0);
	others_at = others_sent = others_traps = 0;
	set_up(STEP_SITES, mode, trap_in_step);
	nmis_begin(look_in_step);
	patch_stepped(1);
	test_note("%lu steps, each an NMI, with %lu traps", steps, traps);
	if (mode == PATCH_STOP && cpu_count > 1) {
		all = traps;
		/*
		 * It waits for others, so a round may have fewer traps than
		 * that, but not fewer than one.
		 */
		for (unsigned r = 0; r < STEP_ROUNDS; r++) {
			others_at = 1 + all * r / STEP_ROUNDS;
			patch_stepped(2 + r);
		}
		EXPECT_GT(others_sent, 0);
		for (unsigned i = 1; i < cpu_count; i++)
			EXPECT_EQ(nmis_seen(i), others_sent);
		EXPECT_GE(others_traps, (cpu_count - 1) * others_sent);
		test_note("%lu traps of CPUs that wait", others_traps);
	}
	nmis_end();
	put_back();
	stay_anywhere();
}

TEST(patch_nmi, an_nmi_may_come_at_every_instruction_of_a_patch_by_break)
{
	step_rounds(PATCH_BREAK);
}

TEST(patch_nmi, an_nmi_may_come_at_every_instruction_of_a_patch_by_stop)
{
	step_rounds(PATCH_STOP);
}

/* At random ---------------------------------------------------------------------- */

enum { STORM_SITES = 8 };

/* Of the traps, how many get an NMI: the others are to go on. */
#define TRAP_NMIS 4

static bool patching, over;
static u8 trapped[MAX_CPUS]; /* and sent itself an NMI */
static unsigned others_round;

/* How often it was where. */
static struct {
	unsigned long timers;
	unsigned long in_patch, in_site, in_trap; /* an NMI came */
	unsigned long waiting;	    /* all others got one, standing still */
	unsigned long traps_in_nmi; /* one ran into a half-written site */
} seen;

static bool is_site(unsigned long pc)
{
	return pc - (unsigned long)patch_area < STORM_SITES * PATCH_STRIDE;
}

static void look_in_nmi(struct pt_regs *regs)
{
	if (READ_ONCE(trapped[smp_processor_id()]))
		count(&seen.in_trap);
	if (is_site(instruction_pointer(regs)))
		count(&seen.in_site);
	if (current == patcher && READ_ONCE(patching))
		count(&seen.in_patch);
	look_at_all();
}

static void look_in_timer(void)
{
	count(&seen.timers);
	look_at_all();
}

static void trap_in_nmi(void)
{
	unsigned round = READ_ONCE(patch_rounds.begun);

	count(&seen.traps_in_nmi);
	/* As in steps: by stop the machine stands still. */
	if (patch_rounds.mode == PATCH_STOP && current == patcher &&
	    round != others_round) {
		others_round = round;
		nmis_send_others();
		count(&seen.waiting);
	}
}

static void trap_in_storm(struct pt_regs *regs __unused)
{
	u8 *here = &trapped[smp_processor_id()];

	if (nmis_in_one()) {
		trap_in_nmi();
		return;
	}
	if (__atomic_fetch_add(&traps, 1, __ATOMIC_RELAXED) % TRAP_NMIS)
		return;
	WRITE_ONCE(*here, 1);
	nmis_send_self();
	WRITE_ONCE(*here, 0);
}

static void call(void *arg __unused)
{
	while (!READ_ONCE(over)) {
		look_at_all();
		thread_sleep(100 * NSEC_PER_USEC);
	}
}

static bool seen_enough(void)
{
	return nmis_everywhere() && READ_ONCE(seen.timers) &&
	       READ_ONCE(seen.in_patch) &&
	       (patch_rounds.mode == PATCH_STOP ||
		(READ_ONCE(seen.in_trap) && READ_ONCE(seen.traps_in_nmi)));
}

/* On a busy machine somewhat longer, until it was worth it. */
static unsigned patch_in_rain(void)
{
	u64 end = clock_ns() + storm_ns() / 2, hang = end + HANG_NS;
	unsigned round = 0;

	while (clock_ns() < end || (!seen_enough() && clock_ns() < hang)) {
		WRITE_ONCE(patching, true);
		patch_round(++round);
		WRITE_ONCE(patching, false);
	}
	EXPECT_TRUE(seen_enough());
	return round;
}

static void storm(enum patch_mode mode)
{
	struct thread *callers[MAX_CPUS];
	unsigned long nmis = 0;
	unsigned rounds;

	memset(&seen, 0, sizeof(seen));
	others_round = 0;
	over = false;
	set_up(STORM_SITES, mode, trap_in_storm);
	for (unsigned i = 0; i < cpu_count; i++)
		callers[i] = start_on(i, call, NULL);
	nmis_begin(look_in_nmi);
	nmis_rain_begin(look_in_timer);
	rounds = patch_in_rain();
	nmis_rain_end();
	nmis_end();
	for_each_cpu(cpu)
		nmis += nmis_seen(cpu->id);
	WRITE_ONCE(over, true);
	for (unsigned i = 0; i < cpu_count; i++)
		join(callers[i]);
	put_back();
	test_note("%u rounds, %lu timers, %lu NMIs", rounds, seen.timers, nmis);
	test_note("NMIs: %lu in the patcher, %lu at a site, %lu in its trap",
		  seen.in_patch, seen.in_site, seen.in_trap);
	test_note("%lu traps, %lu in NMIs, %lu NMIs while all wait", traps,
		  seen.traps_in_nmi, seen.waiting);
}

TEST(patch_nmi, in_a_rain_of_nmis_changes_by_break_are_never_torn_or_stale)
{
	storm(PATCH_BREAK);
}

TEST(patch_nmi, in_a_rain_of_nmis_changes_by_stop_are_never_torn_or_stale)
{
	storm(PATCH_STOP);
}

/* While it is written --------------------------------------------------------------- */

/* What stands still and calls the sites all the time: translates or fetches them. */
static void look_for_long(struct pt_regs *regs __unused)
{
	for (unsigned i = 0; i < 50; i++)
		look_at_all();
}

static void patch_under_nmis(void)
{
	u64 end = clock_ns() + storm_ns(), hang = end + HANG_NS;
	unsigned round = 0;

	while (clock_ns() < end || (!nmis_seen(0) && clock_ns() < hang)) {
		patch_round(++round);
		look_at_all();
	}
	EXPECT_GT(nmis_seen(0), 0);
	test_note("%u rounds, %lu NMIs", round, nmis_seen(0));
	EXPECT_EQ(probe_budget_set(probe_budget()), 0); /* its timer again */
}

TEST(patch_nmi, who_stands_still_and_calls_it_meanwhile_is_waited_for)
{
	if (cpu_count < 2)
		SKIP("needs two CPUs");
	stay_on(last_cpu()); /* they come to the first */
	set_up(STORM_SITES, PATCH_STOP, NULL);
	nmis_begin(look_for_long);
	if (arch_nmi_timer_set(NSEC_PER_MSEC) == 0)
		patch_under_nmis();
	else
		test_skip("nobody sends NMIs while all stand still");
	nmis_end();
	put_back();
	stay_anywhere();
}
