// SPDX-License-Identifier: MIT
/*
 * Text patching, under the eyes of all CPUs.
 *
 * A patcher gives all sites a new value again and again, while one caller per CPU
 * calls them all the time and checks that each answer is the value of before or of
 * after: a third value is a torn or mixed instruction, an old one after text_patch()
 * returned is stale, and what is in memory at the end must be what was written last.
 */
#include <arch/regs.h>
#include <arch/text.h>
#include <arch/trap.h>
#include <kernel/irq.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/stop.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/patch.h>
#include <probe/site.h>
#include <tests/cases/patch_sites.h>
#include <tests/test.h>

/* A quarter of a million changes: both modes, 1 and 4 CPUs make a million. */
#define ROUNDS (250000 / PATCH_SITES + 1)
/* Callers call so often, then sleep a moment. */
#define BURST	 32
#define PAUSE_NS (100 * NSEC_PER_USEC)

static struct text_patch *const patches = patch_rounds.list;

static bool stop;
static unsigned long calls[MAX_CPUS], wrong[MAX_CPUS];

static void set_up(enum patch_mode mode)
{
	patch_rounds.sites = PATCH_SITES;
	patch_rounds.len = ARCH_TEXT_SITE_PATCH;
	patch_rounds.mode = mode;
}

static void prepare(unsigned round)
{
	set_up(PATCH_BREAK);
	patch_prepare(round);
}

static void caller(void *arg)
{
	unsigned me = (unsigned)(unsigned long)arg, site = me * 97;

	while (!READ_ONCE(stop)) {
		if (!patch_look(site % PATCH_SITES))
			wrong[me]++;
		calls[me]++;
		site += 7;
		/* An emulated CPU answers soonest when it is not always busy. */
		if (calls[me] % BURST == 0)
			thread_sleep(PAUSE_NS);
	}
}

static void run_rounds(enum patch_mode mode, unsigned rounds)
{
	struct thread *callers[MAX_CPUS];
	unsigned long bad = 0;

	stop = false;
	memset(calls, 0, sizeof(calls));
	memset(wrong, 0, sizeof(wrong));
	set_up(mode);
	patch_round(0);
	for (unsigned i = 0; i < cpu_count; i++) {
		callers[i] = thread_create_on("caller", BIT(i), caller,
					      (void *)(unsigned long)i);
		ASSERT_TRUE(callers[i]);
	}
	for (unsigned r = 1; r <= rounds; r++)
		patch_round(r);
	for (unsigned i = 0; i < PATCH_SITES; i++)
		EXPECT_EQ(patch_call(i), patch_value(rounds, i));
	WRITE_ONCE(stop, true);
	for (unsigned i = 0; i < cpu_count; i++) {
		thread_join(callers[i]);
		EXPECT_GT(calls[i], 0);
		bad += wrong[i];
	}
	EXPECT_EQ(bad, 0);
	patch_restore();
}

TEST(patch, a_quarter_million_changes_by_break_are_never_torn_stale_or_lost)
{
	run_rounds(PATCH_BREAK, ROUNDS);
}

TEST(patch, a_quarter_million_changes_by_stop_are_never_torn_stale_or_lost)
{
	run_rounds(PATCH_STOP, ROUNDS);
}

/*
 * One CPU does not answer for a while, with its interrupts off. Until it does,
 * the batch cannot end; but another CPU, which has answered, goes on meanwhile:
 * that is what the first one waits for.
 */
static bool silent;
static unsigned long progress;

static void go_on(void *arg __unused)
{
	while (!READ_ONCE(stop)) {
		WRITE_ONCE(progress, progress + 1);
		cpu_relax(); /* emulated CPUs may take turns */
	}
}

static void be_silent(void *arg __unused)
{
	unsigned long flags = arch_irq_save(), before;
	u64 ipis = irq_count(1, IRQ_IPI);

	WRITE_ONCE(silent, true);
	while (irq_count(1, IRQ_IPI) == ipis)
		cpu_relax();
	before = READ_ONCE(progress);
	while (READ_ONCE(progress) - before < 100)
		cpu_relax();
	arch_irq_restore(flags);
}

static void patch_meanwhile(void *arg __unused)
{
	while (!READ_ONCE(silent))
		thread_yield();
	set_up(PATCH_BREAK);
	patch_round(1);
}

TEST(patch, by_break_no_cpu_is_held_until_others_answer)
{
	struct stop_stats before, after;
	struct thread *t[3];

	if (cpu_count < 3)
		SKIP("needs a third CPU");
	stop = silent = false;
	stop_stats_get(&before);
	t[0] = thread_create_on("patcher", BIT(0), patch_meanwhile, NULL);
	t[1] = thread_create_on("runner", BIT(1), go_on, NULL);
	t[2] = thread_create_on("silent", BIT(2), be_silent, NULL);
	ASSERT_TRUE(t[0] && t[1] && t[2]);
	thread_join(t[2]);
	thread_join(t[0]);
	WRITE_ONCE(stop, true);
	thread_join(t[1]);
	stop_stats_get(&after);
	EXPECT_EQ(after.waits, before.waits);
	set_up(PATCH_STOP);
	patch_round(0);
	stop_stats_get(&after);
	EXPECT_EQ(after.waits - before.waits, cpu_count - 1);
}

TEST(patch, wrong_requests_are_refused_and_change_nothing)
{
	static struct text_patch p[2];
	u8 before[ARCH_TEXT_SITE_SIZE];

	memcpy(before, patch_area, sizeof(before));
	prepare(5);
	p[0] = patches[1];
	p[1] = patches[0];
	EXPECT_EQ(text_patch(p, 2), -EINVAL); /* not ascending */
	p[1] = p[0];
	EXPECT_EQ(text_patch(p, 2), -EINVAL); /* the same twice */
	p[0].len = 0;
	EXPECT_EQ(text_patch(p, 1), -EINVAL);
	p[0].len = ARCH_PATCH_MAX + ARCH_BREAK_SIZE;
	EXPECT_EQ(text_patch(p, 1), -EINVAL);
	p[0] = patches[0];
	p[0].addr = (unsigned long)&p; /* data */
	EXPECT_EQ(text_patch(p, 1), -EINVAL);
	p[0].addr = 0;
	EXPECT_EQ(text_patch(p, 1), -EINVAL);
	p[0].addr = -(unsigned long)p[0].len; /* its end is 0 */
	EXPECT_EQ(text_patch(p, 1), -EINVAL);
	EXPECT_MEMEQ(before, patch_area, sizeof(before));
}

TEST(patch, a_long_change_without_resume_needs_stop_mode)
{
	prepare(0);
	if (patches[0].len <= ARCH_TEXT_ATOM)
		SKIP("a site changes in one store on this machine");
	patches[0].resume = NULL;
	for (unsigned i = 0; i < ARCH_TEXT_SITE_PATCH; i++)
		patches[0].bytes[i] = patch_area[i];
	EXPECT_EQ(text_patch_mode(patches, 1, PATCH_BREAK), -EINVAL);
	EXPECT_EQ(text_patch_mode(patches, 1, PATCH_STOP), 0);
}

TEST(patch, modes_have_names)
{
	enum patch_mode before = patch_mode();

	EXPECT_EQ(patch_mode_parse("stop"), 0);
	EXPECT_EQ(patch_mode(), PATCH_STOP);
	EXPECT_EQ(patch_mode_parse("break"), 0);
	EXPECT_EQ(patch_mode(), PATCH_BREAK);
	EXPECT_EQ(patch_mode_parse("perhaps"), -EINVAL);
	EXPECT_EQ(patch_mode(), PATCH_BREAK);
	patch_mode_set(before);
}

TEST(patch, batches_are_counted)
{
	struct patch_stats before, after;

	prepare(0);
	for (unsigned i = 0; i < 3; i++)
		memcpy(patches[i].bytes, (const void *)patches[i].addr,
		       patches[i].len);
	mutex_lock(&probe_mutex); /* or the optimiser's would be among them */
	patch_stats_get(&before);
	EXPECT_EQ(text_patch(patches, 3), 0);
	patch_stats_get(&after);
	mutex_unlock(&probe_mutex);
	EXPECT_EQ(after.patches, before.patches + 3);
	EXPECT_EQ(after.batches, before.batches + 1);
}

/* As if stale translations trapped now and then, with other traps in between. */
TEST(patch, traps_that_are_not_in_a_row_never_add_up_to_a_runaway)
{
	struct pt_regs regs = { 0 };
	unsigned refused = 0;
	u64 *breakpoints;

	for (unsigned i = 0; i < 3000; i++) {
		unsigned long flags = arch_irq_save();

		breakpoints = &this_cpu()->traps[TRAP_BREAKPOINT];
		*breakpoints += 2; /* this one, and one elsewhere */
		refused += !patch_hit_break((unsigned long)patch_area, &regs);
		arch_irq_restore(flags);
	}
	EXPECT_EQ(refused, 0);
}
