// SPDX-License-Identifier: MIT
/*
 * A post-handler comes to an instruction where a jump stands, of each kind: every
 * hit that calls its probe's one handler calls the other, while it comes, too; and
 * once the call that brought it has returned, every hit calls both.
 */
#include "threads.h"
#include <kernel/symtab.h>
#include <lib/string.h>
#include <probe/kprobe.h>
#include <probe/opt.h>
#include <probe/patch.h>
#include <probe/site.h>
#include <tests/cases/handlers.h>

/* Straight on, by instructions of many lengths. */
static __noinline __noclone unsigned long target(unsigned long a)
{
	for (unsigned i = 0; i < 1; i++) {
		a += 3;
		barrier();
		a ^= a >> 7;
		barrier();
		a *= 0x12345677;
	}
	return a;
}

static bool over;
static unsigned long result;

static void hammer(void *wrong)
{
	while (!READ_ONCE(over)) {
		for (unsigned i = 0; i < 50; i++)
			*(unsigned long *)wrong += target(4) != result;
		thread_yield();
	}
}

/* A hit is over before there is another one on its CPU. */
static bool has_begun[MAX_CPUS];
static unsigned long unpaired;
static struct thread *me;
static unsigned mine, my_ends;

static int begin(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	bool *begun = &has_begun[smp_processor_id()];

	if (*begun)
		__atomic_fetch_add(&unpaired, 1, __ATOMIC_RELAXED);
	*begun = true;
	if (current == me)
		WRITE_ONCE(mine, mine + 1);
	return 0;
}

static void end(struct kprobe *p __unused, struct pt_regs *regs __unused,
		unsigned long flags __unused)
{
	bool *begun = &has_begun[smp_processor_id()];

	if (!*begun)
		__atomic_fetch_add(&unpaired, 1, __ATOMIC_RELAXED);
	*begun = false;
	if (current == me)
		WRITE_ONCE(my_ends, my_ends + 1);
}

static void expect_both(void)
{
	WRITE_ONCE(mine, 0);
	WRITE_ONCE(my_ends, 0);
	for (unsigned i = 0; i < 10; i++)
		EXPECT_EQ(target(4), result);
	EXPECT_EQ(READ_ONCE(mine), 10);
	EXPECT_EQ(READ_ONCE(my_ends), 10);
}

/* After it no hit is under way that would have to come to an end. */
static void expect_pairs(void)
{
	EXPECT_EQ(__atomic_exchange_n(&unpaired, 0, __ATOMIC_RELAXED), 0);
	for (unsigned i = 0; i < cpu_count; i++)
		EXPECT_FALSE(has_begun[i]);
}

/* Disabled, handlers are not called from then on: a hit may lack its end. */
static void forget_pairs(void)
{
	__atomic_store_n(&unpaired, 0, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < cpu_count; i++)
		has_begun[i] = false;
}

static bool is_jump(const struct kprobe *p, enum jump_strategy s)
{
	bool is;

	EXPECT_EQ(opt_sync(), 0);
	mutex_lock(&probe_mutex);
	is = kprobe_jump(p) == s;
	mutex_unlock(&probe_mutex);
	return is;
}

/* Registers @p at an instruction where a jump of this kind can stand. */
static bool place(struct kprobe *p, enum jump_strategy s)
{
	struct symbol sym;

	if (symtab_lookup((unsigned long)target, &sym))
		return false;
	for (unsigned i = 0; i < sym.size; i++) {
		*p = (struct kprobe){ .addr = sym.addr + i,
				      .pre_handler = good_pre };
		if (register_kprobe(p))
			continue;
		if (is_jump(p, s))
			return true;
		EXPECT_EQ(unregister_kprobe(p), 0);
	}
	return false;
}

static void come_and_go(const struct kprobe *there, enum jump_strategy s)
{
	struct kprobe p = { .addr = there->addr,
			    .pre_handler = begin,
			    .post_handler = end };

	EXPECT_TRUE(is_jump(there, s));
	EXPECT_EQ(register_kprobe(&p), 0);
	expect_both();
	EXPECT_EQ(opt_sync(), 0);
	expect_both();
	EXPECT_EQ(unregister_kprobe(&p), 0);
	expect_pairs();
	p.flags = KPROBE_FLAG_DISABLED;
	EXPECT_EQ(register_kprobe(&p), 0);
	EXPECT_TRUE(is_jump(there, s));
	EXPECT_EQ(enable_kprobe(&p), 0);
	expect_both();
	EXPECT_EQ(__atomic_load_n(&unpaired, __ATOMIC_RELAXED), 0);
	EXPECT_EQ(disable_kprobe(&p), 0);
	forget_pairs();
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

#define ROUNDS 2

/* False if this kind of jump can stand nowhere. */
static bool storm(enum jump_strategy s, enum patch_mode mode)
{
	enum patch_mode before = patch_mode();
	static struct thread *threads[MAX_CPUS];
	static unsigned long wrong[MAX_CPUS];
	unsigned first = cpu_count > 1; /* leaves a CPU to this thread */
	struct kprobe there;

	opt_wish(s);
	if (!place(&there, s)) {
		opt_wish(JUMP_NONE);
		return false;
	}
	test_note("%s: +%lu", jump_strategy_name(s),
		  there.addr - (unsigned long)target);
	over = false;
	memset(wrong, 0, sizeof(wrong));
	me = current;
	patch_mode_set(mode);
	for (unsigned i = first; i < cpu_count; i++)
		threads[i] = start_on(i, hammer, &wrong[i]);
	for (unsigned i = 0; i < ROUNDS; i++)
		come_and_go(&there, s);
	WRITE_ONCE(over, true);
	for (unsigned i = first; i < cpu_count; i++) {
		join(threads[i]);
		EXPECT_EQ(wrong[i], 0);
	}
	EXPECT_EQ(unregister_kprobe(&there), 0);
	patch_mode_set(before);
	opt_wish(JUMP_NONE);
	return true;
}

static void storms(enum patch_mode mode)
{
	unsigned kinds = 0;

	result = target(4);
	for (unsigned s = JUMP_NONE + 1; s < JUMP_STRATEGIES; s++)
		kinds += storm(s, mode);
	/* Own, pun and region; or branch. */
	EXPECT_EQ(kinds, ARCH_JUMP_PUNS ? 3 : 1);
}

TEST(jump_post, an_end_is_told_of_each_beginning_by_break)
{
	storms(PATCH_BREAK);
}

TEST(jump_post, an_end_is_told_of_each_beginning_by_stop)
{
	storms(PATCH_STOP);
}
