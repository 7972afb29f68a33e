// SPDX-License-Identifier: MIT
/*
 * The functions of a storm, and who calls them: a thread on each CPU; in a rain, NMIs
 * and timers, too, wherever they land, and handlers, which send their CPU some of
 * those NMIs. The results must be right throughout, and probes that are there all the
 * time miss no call.
 */
#include <kernel/percpu.h>
#include <kernel/thread.h>
#include <probe/kprobe.h>
#include <tests/cases/nmis.h>
#include <tests/cases/storm.h>
#include <tests/cases/threads.h>
#include <tests/test.h>

static struct thread *callers[MAX_CPUS];
static bool over;
static unsigned long calls, wrong_calls;

__noclone long storm_mix(long a, long b)
{
	volatile long sink;

	for (long i = 0; i < 3; i++) {
		sink = a ^ i;
		a = a * 3 + (b & 7) - (sink & 1);
		if (a & 4)
			b += a >> 3;
	}
	return a ^ b;
}

__noclone long storm_outer(long a)
{
	return storm_mix(a, 5) + storm_mix(a + 1, 9);
}

static void count_at(unsigned long *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* The rain ------------------------------------------------------------------------- */

/* Of the calls of handlers, how many get an NMI. */
#define HANDLER_NMIS 32

static bool raining;
static long right_in_rain;
static unsigned long handled, nmis_in_hits;

static void call_in_rain(void)
{
	if (storm_outer(1) != right_in_rain)
		count_at(&wrong_calls);
	count_at(&calls);
}

static void call_in_nmi(struct pt_regs *regs __unused)
{
	if (this_cpu()->hit_levels > 0)
		count_at(&nmis_in_hits);
	call_in_rain();
}

static void in_handler(void)
{
	if (!READ_ONCE(raining) || nmis_in_one())
		return;
	if (__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED) % HANDLER_NMIS ==
	    0)
		nmis_send_self();
}

static void rain_begin(void)
{
	right_in_rain = storm_outer(1);
	count_at(&calls);
	handled = nmis_in_hits = 0;
	nmis_begin(call_in_nmi);
	nmis_rain_begin(call_in_rain);
	WRITE_ONCE(raining, true);
}

static void rain_end(void)
{
	unsigned long all = 0;

	WAIT_FOR(nmis_everywhere() && READ_ONCE(nmis_in_hits) > 0);
	nmis_rain_end();
	WRITE_ONCE(raining, false);
	nmis_end();
	for_each_cpu(cpu)
		all += nmis_seen(cpu->id);
	test_note("%lu NMIs, %lu in hits", all, nmis_in_hits);
}

/* The calls ------------------------------------------------------------------------ */

int storm_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	in_handler();
	return 0;
}

void storm_post(struct kprobe *p __unused, struct pt_regs *regs __unused,
		unsigned long flags __unused)
{
	in_handler();
}

static void caller(void *arg __unused)
{
	long right[16];

	for (long i = 0; i < 16; i++)
		right[i] = storm_outer(i);
	__atomic_fetch_add(&calls, 16, __ATOMIC_RELAXED);
	while (!READ_ONCE(over)) {
		for (long i = 0; i < 16; i++) {
			if (storm_outer(i) != right[i])
				count_at(&wrong_calls);
		}
		__atomic_fetch_add(&calls, 16, __ATOMIC_RELAXED);
		thread_sleep(100 * NSEC_PER_USEC);
	}
}

/* On the functions' entries, before the first call that counts and to the end. */
static struct kprobe constants[] = {
	{ .symbol_name = "storm_outer", .pre_handler = storm_pre },
	{ .symbol_name = "storm_mix", .pre_handler = storm_pre },
	{ .symbol_name = "storm_mix", .post_handler = storm_post },
};

void storm_calls_begin(bool rain)
{
	calls = wrong_calls = 0;
	over = false;
	for (unsigned i = 0; i < ARRAY_SIZE(constants); i++)
		EXPECT_EQ(register_kprobe(&constants[i]), 0);
	if (rain)
		rain_begin();
	for_each_cpu(cpu)
		callers[cpu->id] = start_on(cpu->id, caller, NULL);
}

void storm_calls_end(void)
{
	WRITE_ONCE(over, true);
	for_each_cpu(cpu)
		join(callers[cpu->id]);
	if (raining)
		rain_end();
	for (unsigned i = 0; i < ARRAY_SIZE(constants); i++) {
		const struct kprobe *p = &constants[i];

		EXPECT_EQ(unregister_kprobe(&constants[i]), 0);
		EXPECT_EQ(p->nhit + p->nmissed, i == 0 ? calls : 2 * calls);
	}
	EXPECT_EQ(wrong_calls, 0);
	test_note("%lu calls", calls);
}
