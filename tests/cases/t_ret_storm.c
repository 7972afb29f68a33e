// SPDX-License-Identifier: MIT
/*
 * Return probes on all of the kernel at once; and a storm: some threads register
 * and remove return probes in random order, others recurse, longjmp, migrate and
 * end inside the probed functions. Afterwards no call is noted any more, and
 * those entered are those returned and those skipped.
 */
#include <arch/setjmp.h>
#include <kernel/heap.h>
#include <kernel/percpu.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/kretprobe.h>
#include <probe/ret.h>
#include <tests/cases/ret.h>
#include <tests/cases/storm.h>
#include <tests/cases/text.h>
#include <tests/cases/work.h>
#include <tests/random.h>
#include <tests/test.h>

static int see(struct kretprobe_instance *ri __unused,
	       struct pt_regs *regs __unused)
{
	return 0;
}

/* All of the kernel ------------------------------------------------------------------ */

#define FUNCTIONS_MAX 2000

/* Every function that takes a return probe, one registered after the other. */
static unsigned probe_all(struct kretprobe *rps)
{
	struct symbol sym = { 0 };
	unsigned n = 0;

	while (symtab_next(sym.addr, &sym) == 0 && n < FUNCTIONS_MAX) {
		rps[n] = (struct kretprobe){ .kp.addr = sym.addr,
					     .handler = see };
		rps[n].kp.flags = KPROBE_FLAG_DISABLED;
		if (register_kretprobe(&rps[n]) == 0)
			n++;
	}
	return n;
}

TEST(ret_storm, every_function_can_have_a_return_probe_at_once)
{
	struct kretprobe *rps = kcalloc(FUNCTIONS_MAX, sizeof(*rps));
	struct kretprobe **all = kcalloc(FUNCTIONS_MAX, sizeof(*all));
	u64 before = text_hash(), returned = 0;
	struct kretprobe_counts c;
	unsigned n;

	if (rps && all) {
		n = probe_all(rps);
		EXPECT_GT(n, 200);
		for (unsigned i = 0; i < n; i++) {
			all[i] = &rps[i];
			EXPECT_EQ(enable_kretprobe(&rps[i]), 0);
		}
		work_everywhere();
		EXPECT_EQ(unregister_kretprobes(all, n), 0);
		for (unsigned i = 0; i < n; i++) {
			kretprobe_counts(&rps[i], &c);
			returned += c.returned;
		}
		EXPECT_GT(returned, 1000);
	}
	kfree(rps);
	kfree(all);
	ret_stir();
	EXPECT_EQ(text_hash(), before);
}

/* The storm --------------------------------------------------------------------------- */

static __noclone long gale_recurse(long n);
static __noclone long gale_jump(struct jmp_buf *env, long n);
static __noclone long gale_catch(long n);
static __noclone long gale_travel(long n);

static __noclone long gale_recurse(long n)
{
	long below = n == 0 ? 0 : gale_recurse(n - 1);

	barrier();
	return below + n;
}

static __noclone long gale_jump(struct jmp_buf *env, long n)
{
	long below;

	if (n < 0)
		return 0;
	if (n == 0)
		longjmp(env, 1);
	below = gale_jump(env, n - 1);
	barrier();
	return below;
}

static __noclone long gale_catch(long n)
{
	struct jmp_buf env;
	volatile long result = n;

	if (setjmp(&env) == 0)
		gale_jump(&env, n);
	return result + gale_recurse(2);
}

static __noclone long gale_travel(long n)
{
	u32 here = BIT((unsigned)n % cpu_count);

	if (thread_set_affinity(current, here) == 0)
		thread_yield();
	return gale_recurse(n) + (thread_set_affinity(current, ~0u) == 0);
}

static __noclone void gale_end(long n)
{
	if (n > 0)
		thread_exit();
	barrier();
}

static const char *const targets[] = {
	"gale_recurse", "gale_jump", "gale_catch", "gale_travel", "gale_end",
};

static bool over;
static unsigned long wrong_results, wrong_counts, rounds;

static void expect(unsigned long *wrong, bool ok)
{
	if (!ok)
		__atomic_fetch_add(wrong, 1, __ATOMIC_RELAXED);
}

static void mortal(void *arg)
{
	gale_end(0);
	gale_end((long)arg);
}

static void caller(void *arg)
{
	u64 seed = 31 * ((unsigned long)arg + 1);

	while (!READ_ONCE(over)) {
		long n = (long)random_below(&seed, 12);
		struct thread *t;

		expect(&wrong_results, gale_recurse(n) == n * (n + 1) / 2);
		expect(&wrong_results, gale_catch(n) == n + 3);
		expect(&wrong_results, gale_travel(n) == n * (n + 1) / 2 + 1);
		if (n > 2)
			continue;
		t = thread_create("mortal", mortal, (void *)n);
		if (t)
			thread_join(t);
	}
}

#define PROBES 4 /* of each thread */

static void check_gone(const struct kretprobe *rp)
{
	struct kretprobe_counts c;

	kretprobe_counts(rp, &c);
	expect(&wrong_counts,
	       c.entered == c.returned + c.skipped + c.outstanding);
	expect(&wrong_counts, c.entered <= rp->kp.nhit);
}

static void changer(void *arg)
{
	u64 seed = 977 * ((unsigned long)arg + 1);
	struct kretprobe *rps = kcalloc(PROBES, sizeof(*rps));
	bool registered[PROBES] = { false };

	while (rps && !READ_ONCE(over)) {
		unsigned i = (unsigned)random_below(&seed, PROBES);
		struct kretprobe *rp = &rps[i];

		if (registered[i]) {
			expect(&wrong_counts, unregister_kretprobe(rp) == 0);
			check_gone(rp);
		} else {
			*rp = (struct kretprobe){
				.kp.symbol_name = targets[random_below(
					&seed, ARRAY_SIZE(targets))],
				.handler = see,
				.entry_handler = i & 1 ? see : NULL,
				.maxactive = i & 2 ? 3 : 0,
				.data_size = i * 8,
			};
			expect(&wrong_counts, register_kretprobe(rp) == 0);
		}
		registered[i] = !registered[i];
		__atomic_fetch_add(&rounds, 1, __ATOMIC_RELAXED);
	}
	for (unsigned i = 0; rps && i < PROBES; i++) {
		if (registered[i])
			expect(&wrong_counts,
			       unregister_kretprobe(&rps[i]) == 0);
	}
	kfree(rps);
}

static bool has_notes(struct thread *t, void *arg)
{
	*(unsigned *)arg += t->ret.top->below != NULL;
	return true;
}

/* There all the time. */
static struct kretprobe constant[ARRAY_SIZE(targets)];

static bool seen_enough(void)
{
	struct kretprobe_counts c;

	for (unsigned i = 0; i < ARRAY_SIZE(targets); i++) {
		kretprobe_counts(&constant[i], &c);
		if (c.entered == 0)
			return false;
	}
	return READ_ONCE(rounds) > 4;
}

static void run_storm(void)
{
	struct thread *callers[MAX_CPUS], *changers[MAX_CPUS];
	struct kretprobe_counts c;
	u64 before = text_hash();
	unsigned notes = 0;

	wrong_results = wrong_counts = rounds = 0;
	over = false;
	for (unsigned i = 0; i < ARRAY_SIZE(targets); i++) {
		constant[i] = (struct kretprobe){ .kp.symbol_name = targets[i],
						  .handler = see };
		EXPECT_EQ(register_kretprobe(&constant[i]), 0);
	}
	for (unsigned i = 0; i < cpu_count; i++) {
		void *seed = (void *)(unsigned long)i;

		callers[i] = thread_create("caller", caller, seed);
		changers[i] = thread_create("changer", changer, seed);
	}
	thread_sleep(storm_ns());
	WAIT_FOR(seen_enough());
	WRITE_ONCE(over, true);
	for (unsigned i = 0; i < cpu_count; i++) {
		join(callers[i]);
		join(changers[i]);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(targets); i++) {
		kretprobe_counts(&constant[i], &c);
		EXPECT_EQ(c.entered, c.returned + c.skipped);
		EXPECT_EQ(c.outstanding, 0);
		EXPECT_EQ(c.entered + constant[i].nmissed, constant[i].kp.nhit);
		EXPECT_EQ(unregister_kretprobe(&constant[i]), 0);
	}
	thread_for_each(has_notes, &notes);
	EXPECT_EQ(notes, 0);
	EXPECT_EQ(ret_orphans(), 0);
	EXPECT_EQ(wrong_results, 0);
	EXPECT_EQ(wrong_counts, 0);
	EXPECT_EQ(text_hash(), before);
}

TEST(ret_storm, no_call_is_lost_and_none_counted_twice)
{
	run_storm();
}
