// SPDX-License-Identifier: MIT
/*
 * A storm: threads on all CPUs register, enable, disable and unregister probes
 * of all kinds on instructions of hot functions, in random order, while others
 * call those functions (storm_calls.c), some in a rain of NMIs. Each thread keeps a
 * model of its own probes: what every call must return, and whether a probe may
 * have been hit. In the end nothing is left.
 */
#include <arch/insn.h>
#include <kernel/heap.h>
#include <kernel/option.h>
#include <kernel/percpu.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/jprobe.h>
#include <probe/kretprobe.h>
#include <probe/opt.h>
#include <probe/patch.h>
#include <tests/cases/storm.h>
#include <tests/cases/threads.h>
#include <tests/cases/text.h>
#include <tests/random.h>
#include <tests/test.h>

#define PROBES	      6	 /* of each thread */
#define STEPS	      24 /* of each thread, at least */
#define STEPS_IN_RAIN 6	 /* the same */
#define PLACES	      256

#define STORM_NS      (500 * NSEC_PER_MSEC)

BOOT_OPTION(storm, "SECONDS", "suites *storm: how long each case takes", NULL);

u64 storm_ns(void)
{
	u64 seconds = option_number(&boot_option_storm, 0);

	return seconds ? seconds * NSEC_PER_SEC : STORM_NS;
}

static unsigned long places[PLACES];
static unsigned nr_places;
static bool over;
static unsigned least_steps;
static unsigned long wrong_states, steps;

static void storm_jump(long a __unused, long b __unused)
{
}

static int storm_ret(struct kretprobe_instance *ri __unused,
		     struct pt_regs *regs __unused)
{
	return 0;
}

/* All places of @fn where a probe is accepted. */
static void collect(const void *fn)
{
	struct symbol sym;
	struct insn insn;

	ASSERT_EQ(symtab_lookup((unsigned long)fn, &sym), 0);
	for (unsigned long pc = sym.addr; pc < sym.addr + sym.size;
	     pc += insn.len) {
		struct kprobe p = { .addr = pc, .pre_handler = storm_pre };

		if (arch_insn_decode(&insn, (const void *)pc, INSN_MAX_BYTES,
				     pc) < 0)
			return;
		if (nr_places == PLACES || register_kprobe(&p) < 0)
			continue;
		unregister_kprobe(&p);
		places[nr_places++] = pc;
	}
}

enum kind { PRE, POST, BOTH, JPROBE, KRETPROBE, KINDS };

struct model {
	union {
		struct kprobe probe; /* that of the others, too */
		struct jprobe jprobe;
		struct kretprobe kretprobe;
	};
	enum kind kind;
	bool registered, enabled;
	unsigned long hits; /* when it was last not to be called */
};

static void expect(bool ok)
{
	if (!ok)
		__atomic_fetch_add(&wrong_states, 1, __ATOMIC_RELAXED);
}

static void choose(struct model *m, u64 *seed)
{
	m->kind = (enum kind)random_below(seed, KINDS);
	m->kretprobe = (struct kretprobe){ 0 };
	if (m->kind < JPROBE)
		m->probe.addr = places[random_below(seed, nr_places)];
	else
		m->probe.symbol_name = random_below(seed, 2) ? "storm_mix"
							     : "storm_outer";
	if (m->kind == PRE || m->kind == BOTH)
		m->probe.pre_handler = storm_pre;
	if (m->kind == POST || m->kind == BOTH)
		m->probe.post_handler = storm_post;
	if (m->kind == JPROBE)
		m->jprobe.entry = storm_jump;
	if (m->kind == KRETPROBE)
		m->kretprobe.handler = storm_ret;
}

static int model_register(struct model *m)
{
	if (m->kind == JPROBE)
		return register_jprobe(&m->jprobe);
	if (m->kind == KRETPROBE)
		return register_kretprobe(&m->kretprobe);
	return register_kprobe(&m->probe);
}

static int model_unregister(struct model *m)
{
	if (m->kind == JPROBE)
		return unregister_jprobe(&m->jprobe);
	if (m->kind == KRETPROBE)
		return unregister_kretprobe(&m->kretprobe);
	return unregister_kprobe(&m->probe);
}

static void do_register(struct model *m, u64 *seed)
{
	bool was = m->registered;

	if (!was)
		choose(m, seed);
	expect(model_register(m) == (was ? -EBUSY : 0));
	if (!was)
		m->registered = m->enabled = true;
}

static void do_unregister(struct model *m)
{
	expect(model_unregister(m) == (m->registered ? 0 : -EINVAL));
	m->registered = m->enabled = false;
	m->hits = m->probe.nhit;
}

static void do_enable(struct model *m)
{
	expect(enable_kprobe(&m->probe) == (m->registered ? 0 : -EINVAL));
	m->enabled = m->registered;
}

static void do_disable(struct model *m)
{
	expect(disable_kprobe(&m->probe) == (m->registered ? 0 : -EINVAL));
	m->enabled = false;
	m->hits = m->probe.nhit;
}

static void storm(void *arg)
{
	u64 seed = 977 * ((unsigned long)arg + 1);
	struct model *models = kcalloc(PROBES, sizeof(*models));

	for (unsigned i = 0; models && (i < least_steps || !READ_ONCE(over));
	     i++) {
		struct model *m = &models[random_below(&seed, PROBES)];

		switch (random_below(&seed, 4)) {
		case 0:
			do_register(m, &seed);
			break;
		case 1:
			do_unregister(m);
			break;
		case 2:
			do_enable(m);
			break;
		default:
			do_disable(m);
		}
		/* Nobody is called who is not to be. */
		for (unsigned k = 0; k < PROBES; k++)
			expect(models[k].enabled ||
			       models[k].hits ==
				       READ_ONCE(models[k].probe.nhit));
		__atomic_fetch_add(&steps, 1, __ATOMIC_RELAXED);
	}
	expect(models);
	for (unsigned k = 0; models && k < PROBES; k++)
		do_unregister(&models[k]);
	kfree(models);
}

static void blow(bool rain)
{
	struct thread *storms[MAX_CPUS];

	wrong_states = steps = 0;
	over = false;
	least_steps = rain ? STEPS_IN_RAIN : STEPS;
	storm_calls_begin(rain);
	for (unsigned i = 0; i < cpu_count; i++) {
		storms[i] = thread_create("storm", storm,
					  (void *)(unsigned long)i);
		ASSERT_TRUE(storms[i]);
	}
	thread_sleep(rain ? storm_ns() / 2 : storm_ns());
	WRITE_ONCE(over, true);
	for (unsigned i = 0; i < cpu_count; i++)
		thread_join(storms[i]);
	storm_calls_end();
	test_note("%lu changes", steps);
	EXPECT_EQ(wrong_states, 0);
}

static void run_storm(enum patch_mode mode, enum opt_mode opt, bool rain)
{
	enum patch_mode before_mode = patch_mode();
	enum opt_mode before_opt = opt_mode();
	u64 before = text_hash();
	long right = storm_outer(3);

	nr_places = 0;
	collect(storm_mix);
	collect(storm_outer);
	EXPECT_GE(nr_places, 20);
	collect(kmalloc);
	collect(kfree);
	patch_mode_set(mode);
	EXPECT_EQ(opt_set(opt), 0);
	blow(rain);
	patch_mode_set(before_mode);
	EXPECT_EQ(opt_set(before_opt), 0);
	EXPECT_EQ(storm_outer(3), right);
	EXPECT_EQ(text_hash(), before);
}

TEST(storm, random_changes_on_all_cpus_agree_with_the_model_by_break)
{
	run_storm(PATCH_BREAK, OPT_OFF, false);
}

TEST(storm, random_changes_on_all_cpus_agree_with_the_model_by_stop)
{
	run_storm(PATCH_STOP, OPT_OFF, false);
}

TEST(storm, with_jumps_random_changes_agree_with_the_model_by_break)
{
	run_storm(PATCH_BREAK, OPT_EAGER, false);
}

TEST(storm, with_jumps_random_changes_agree_with_the_model_by_stop)
{
	run_storm(PATCH_STOP, OPT_EAGER, false);
}

TEST(storm, with_jumps_in_the_background_changes_agree_with_the_model_by_break)
{
	run_storm(PATCH_BREAK, OPT_ON, false);
}

TEST(storm, with_jumps_in_the_background_changes_agree_with_the_model_by_stop)
{
	run_storm(PATCH_STOP, OPT_ON, false);
}

TEST(storm, changes_in_a_rain_of_nmis_agree_with_the_model_by_break)
{
	run_storm(PATCH_BREAK, OPT_OFF, true);
}

TEST(storm, changes_in_a_rain_of_nmis_agree_with_the_model_by_stop)
{
	run_storm(PATCH_STOP, OPT_OFF, true);
}

TEST(storm, with_jumps_changes_in_a_rain_of_nmis_agree_with_the_model_by_break)
{
	run_storm(PATCH_BREAK, OPT_EAGER, true);
}

TEST(storm, with_jumps_changes_in_a_rain_of_nmis_agree_with_the_model_by_stop)
{
	run_storm(PATCH_STOP, OPT_EAGER, true);
}
