/* SPDX-License-Identifier: MIT */
/*
 * Probes on neighbouring instructions that come, go, and change at random, by all
 * kinds of jumps: each that is enabled is called once a pass.
 */
#include "../text.h"
#include "region_area.h"
#include <arch/insn.h>
#include <lib/errno.h>
#include <probe/patch.h>
#include <tests/random.h>

#define STEPS 200
#define SITES 6
#define EACH  2 /* probes per site */

static struct kprobe ps[SITES * EACH];
static bool registered[SITES * EACH];
static u64 seed;

static void see_end(struct kprobe *p __unused, struct pt_regs *regs __unused,
		    unsigned long flags __unused)
{
}

static unsigned prepare(const struct call *c)
{
	unsigned long pc = (unsigned long)c->at;
	struct insn insn;
	unsigned n = 0;

	for (; n < SITES; n++, pc += insn.len) {
		if (arch_insn_decode(&insn, (const void *)pc, INSN_MAX_BYTES,
				     pc))
			break;
		for (unsigned i = 0; i < EACH; i++) {
			ps[n * EACH + i] = (struct kprobe){
				.addr = pc, .pre_handler = see
			};
			registered[n * EACH + i] = false;
		}
		if (insn.flags & INSN_RET) {
			n++;
			break;
		}
	}
	return n * EACH;
}

static void change(unsigned n)
{
	static const enum jump_strategy wishes[] = { JUMP_NONE,	  JUMP_NONE,
						     JUMP_OWN,	  JUMP_PUN,
						     JUMP_REGION, JUMP_REGION };
	unsigned i = (unsigned)random_below(&seed, n);
	struct kprobe *p = &ps[i];

	switch (random_below(&seed, 10)) {
	case 0 ... 2:
		if (registered[i])
			return;
		p->flags = random_below(&seed, 4) ? 0 : KPROBE_FLAG_DISABLED;
		p->post_handler = random_below(&seed, 5) ? NULL : see_end;
		if (!random_below(&seed, 6))
			p->flags |= KPROBE_FLAG_NO_JUMP;
		EXPECT_EQ(register_kprobe(p), 0);
		registered[i] = true;
		break;
	case 3 ... 4:
		EXPECT_EQ(unregister_kprobe(p), registered[i] ? 0 : -EINVAL);
		registered[i] = false;
		break;
	case 5:
		(void)!enable_kprobe(p);
		break;
	case 6:
		(void)!disable_kprobe(p);
		break;
	case 7:
		opt_wish(wishes[random_below(&seed, ARRAY_SIZE(wishes))]);
		break;
	case 8:
		EXPECT_EQ(opt_set(random_below(&seed, 3)), 0);
		break;
	default:
		EXPECT_EQ(opt_sync(), 0);
	}
}

static void check(const struct call *c, unsigned n)
{
	unsigned long hits[SITES * EACH];

	for (unsigned i = 0; i < n; i++)
		hits[i] = ps[i].nhit;
	EXPECT_EQ(call(c), c->result);
	for (unsigned i = 0; i < n; i++) {
		bool on = registered[i] &&
			  !(ps[i].flags & KPROBE_FLAG_DISABLED);

		if (on)
			EXPECT_GE(ps[i].nhit, hits[i] + 1);
		else
			EXPECT_EQ(ps[i].nhit, hits[i]);
		EXPECT_EQ(ps[i].nmissed, 0ul);
	}
}

static const enum jump_strategy kinds[] = { JUMP_OWN, JUMP_PUN, JUMP_REGION };
static unsigned seen[JUMP_STRATEGIES]; /* so many stood */

static void at_random(enum patch_mode mode)
{
	enum patch_mode patch_before = patch_mode();
	enum opt_mode opt_before = opt_mode();
	u64 before = text_hash();

	memset(seen, 0, sizeof(seen));
	patch_mode_set(mode);
	for (const struct call *c = calls; c < calls + ARRAY_SIZE(calls); c++) {
		unsigned n = prepare(c);

		for (unsigned step = 0; step < STEPS; step++) {
			struct opt_stats stats;

			change(n);
			check(c, n);
			opt_stats_get(&stats);
			for (unsigned i = 0; i < JUMP_STRATEGIES; i++)
				seen[i] += stats.by_strategy[i];
		}
		for (unsigned i = 0; i < n; i++)
			unregister_kprobe(&ps[i]);
		EXPECT_EQ(text_hash(), before);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++)
		EXPECT_GE(seen[kinds[i]], 1);
	opt_wish(JUMP_NONE);
	EXPECT_EQ(opt_set(opt_before), 0);
	patch_mode_set(patch_before);
	EXPECT_EQ(text_hash(), before);
}

TEST(region_random, neighbours_that_change_at_random_are_each_called_by_break)
{
	seed = 1;
	at_random(PATCH_BREAK);
}

TEST(region_random, neighbours_that_change_at_random_are_each_called_by_stop)
{
	seed = 2;
	at_random(PATCH_STOP);
}
