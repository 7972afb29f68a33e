/* SPDX-License-Identifier: MIT */
/*
 * Probes on neighbouring instructions, each in the way of the others' jumps: in
 * whatever order they come and go, each that is there is called once a pass.
 */
#include "region_area.h"

/* So many instructions of region_slow4 lie side by side. */
#define SIDE_BY_SIDE 5

/* In the order that number @n of all 120 names. */
static void permute(struct kprobe **list, struct kprobe *ps, unsigned n)
{
	for (unsigned i = 0; i < SIDE_BY_SIDE; i++) {
		unsigned at = n % (i + 1);

		n /= i + 1;
		list[i] = list[at];
		list[at] = &ps[i];
	}
}

static unsigned regions; /* that there were */

static void come_and_go_in_order(unsigned come, unsigned go)
{
	static struct kprobe ps[SIDE_BY_SIDE], *list[SIDE_BY_SIDE];
	u8 before[16];

	memcpy(before, region_slow4_at, sizeof(before));
	for (unsigned i = 0; i < SIDE_BY_SIDE; i++) {
		ps[i] = probe_of(region_slow4_at);
		ps[i].addr = inside(region_slow4_at, i);
	}
	permute(list, ps, come);
	for (unsigned i = 0; i < SIDE_BY_SIDE; i++) {
		EXPECT_EQ(register_kprobe(list[i]), 0);
		EXPECT_EQ(region_slow4((long)few, 1), 4);
		regions += is_region(ps[0].addr);
		for (unsigned j = 0; j <= i; j++)
			EXPECT_EQ(list[j]->nhit, i - j + 1);
	}
	permute(list, ps, go);
	for (unsigned i = 0; i < SIDE_BY_SIDE; i++) {
		unsigned long hits = list[i]->nhit;

		EXPECT_EQ(region_slow4((long)few, 1), 4);
		EXPECT_EQ(list[i]->nhit, hits + 1);
		EXPECT_EQ(unregister_kprobe(list[i]), 0);
	}
	EXPECT_MEMEQ(region_slow4_at, before, sizeof(before));
}

static void come_and_go_in_orders(enum jump_strategy wish)
{
	enum opt_mode before = opt_mode();

	regions = 0;
	opt_wish(wish);
	EXPECT_EQ(opt_set(OPT_EAGER), 0);
	for (unsigned n = 0; n < 120; n += 7)
		come_and_go_in_order(n, n * 11 % 120);
	EXPECT_EQ(opt_set(before), 0);
	opt_wish(JUMP_NONE);
}

TEST(region_order, only_regions_come_and_go_in_any_order)
{
	come_and_go_in_orders(JUMP_REGION);
	EXPECT_GE(regions, 1);
}

TEST(region_order, probes_side_by_side_come_and_go_in_any_order)
{
	come_and_go_in_orders(JUMP_NONE);
}

/* Its displacement is text that the region's jump still covers when it is planned. */
TEST(region_order, a_jump_that_comes_inside_is_of_what_stands_there_then)
{
	enum opt_mode before = opt_mode();

	EXPECT_EQ(opt_set(OPT_EAGER), 0);
	for (unsigned n = 1; n < SIDE_BY_SIDE; n++) {
		struct kprobe p = probe_of(region_slow4_at);
		struct kprobe in = probe_of(region_slow4_at);

		make_region(&p);
		in.addr = inside(region_slow4_at, n);
		opt_wish(JUMP_NONE);
		EXPECT_EQ(register_kprobe(&in), 0);
		EXPECT_FALSE(is_region(p.addr));
		EXPECT_EQ(region_slow4((long)few, 1), 4);
		EXPECT_EQ(p.nhit, 1);
		EXPECT_EQ(in.nhit, 1);
		EXPECT_EQ(unregister_kprobe(&in), 0);
		remove_region(&p);
	}
	EXPECT_EQ(opt_set(before), 0);
}

/* It is read from what the region's jump covered, and from the breakpoint there. */
TEST(region_order, a_jump_below_is_of_what_stands_inside_then)
{
	enum opt_mode before = opt_mode();
	struct kprobe p = probe_of(region_slow1_at);
	struct kprobe low = p, in = p;

	p.addr = inside(region_slow1_at, 5);
	low.addr = inside(region_slow1_at, 4);
	in.addr = inside(region_slow1_at, 6);
	in.flags = KPROBE_FLAG_NO_JUMP;
	EXPECT_EQ(opt_set(OPT_EAGER), 0);
	make_region(&p);
	opt_wish(JUMP_NONE);
	EXPECT_EQ(register_kprobe(&low), 0);
	EXPECT_TRUE(is_region(p.addr));
	EXPECT_EQ(register_kprobe(&in), 0);
	EXPECT_FALSE(is_region(p.addr));
	EXPECT_EQ(region_slow1((long)few, 1), 1);
	EXPECT_EQ(p.nhit, 1);
	EXPECT_EQ(low.nhit, 1);
	EXPECT_EQ(in.nhit, 1);
	EXPECT_EQ(unregister_kprobe(&in), 0);
	EXPECT_EQ(unregister_kprobe(&low), 0);
	remove_region(&p);
	EXPECT_EQ(opt_set(before), 0);
}
