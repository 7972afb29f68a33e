// SPDX-License-Identifier: MIT
/*
 * The optimiser has much to do: others need not wait until it is done.
 */
#include "threads.h"
#include <kernel/heap.h>
#include <kernel/symtab.h>
#include <lib/string.h>
#include <probe/kprobe.h>
#include <probe/opt.h>
#include <probe/site.h>
#include <tests/cases/handlers.h>

/* Several batches. */
#define MANY 1024

static struct kprobe *probes;
static struct kprobe **all;
static unsigned nr;

static void choose(const struct symbol *sym)
{
	unsigned long pc = symbol_entry(sym), end = sym->addr + sym->size;
	struct insn insn;
	const char *why;

	for (; pc < end && nr < MANY; pc += insn.len) {
		if (deny_check(pc, &insn, &why))
			return;
		probes[nr] = (struct kprobe){ .addr = pc,
					      .pre_handler = good_pre };
		all[nr] = &probes[nr];
		nr++;
	}
}

/* Instructions of other cases, which nobody runs meanwhile. */
static void choose_quiet_ones(void)
{
	struct symbol sym = { .addr = 0 };

	nr = 0;
	mutex_lock(&probe_mutex);
	while (symtab_next(sym.addr, &sym) == 0) {
		if (!strncmp(sym.file, "t_", 2) && strcmp(sym.file, "t_opt.c"))
			choose(&sym);
	}
	mutex_unlock(&probe_mutex);
}

static bool is_jump_among(unsigned first, unsigned end)
{
	while (first < end && !kprobe_jump(&probes[first]))
		first++;
	return first < end;
}

static __noclone unsigned long elsewhere(unsigned long x)
{
	return x + 1;
}

/* Has it the mutex when some are jumps already, and others not yet? */
static bool was_between;

static void take_turn(void *arg __unused)
{
	mutex_lock(&probe_mutex);
	was_between = is_jump_among(0, 50) != is_jump_among(nr - 50, nr);
	mutex_unlock(&probe_mutex);
}

static void sync(void *arg __unused)
{
	EXPECT_EQ(opt_sync(), 0);
}

/* Both wait for the mutex, in this order. */
static void take_turn_in_sync(void)
{
	struct thread *syncs, *takes;

	was_between = false;
	mutex_lock(&probe_mutex);
	syncs = start_on(0, sync, NULL);
	WAIT_FOR(!syncs || READ_ONCE(syncs->state) == THREAD_BLOCKED);
	takes = start_on(0, take_turn, NULL);
	WAIT_FOR(!takes || READ_ONCE(takes->state) == THREAD_BLOCKED);
	mutex_unlock(&probe_mutex);
	join(takes);
	join(syncs);
	EXPECT_TRUE(was_between);
}

static bool over;

static void come_and_go(void *arg __unused)
{
	struct kprobe p = { .symbol_name = "t_opt.c:elsewhere",
			    .pre_handler = good_pre };

	while (!READ_ONCE(over)) {
		EXPECT_EQ(register_kprobe(&p), 0);
		EXPECT_EQ(unregister_kprobe(&p), 0);
	}
}

TEST(opt, a_registration_has_its_turn_before_all_others_are_jumps)
{
	enum opt_mode mode = opt_mode();
	struct thread *t;

	probes = kcalloc(MANY, sizeof(*probes));
	all = kcalloc(MANY, sizeof(*all));
	ASSERT_TRUE(probes && all);
	over = false;
	EXPECT_EQ(elsewhere(1), 2);
	EXPECT_EQ(opt_set(OPT_OFF), 0);
	choose_quiet_ones();
	EXPECT_EQ(nr, MANY);
	EXPECT_EQ(register_kprobes(all, nr), 0);
	take_turn_in_sync();
	EXPECT_TRUE(is_jump_among(0, 50));
	/* It ends, however much comes meanwhile. */
	t = start_on(0, come_and_go, NULL);
	for (unsigned i = 0; i < 20; i++) {
		thread_sleep(NSEC_PER_MSEC);
		EXPECT_EQ(opt_sync(), 0);
	}
	WRITE_ONCE(over, true);
	join(t);
	EXPECT_EQ(unregister_kprobes(all, nr), 0);
	EXPECT_EQ(opt_set(mode), 0);
	kfree(all);
	kfree(probes);
}
