/* SPDX-License-Identifier: MIT */
/*
 * Regions, and setjmp(), which returns more than once: each time to where its call
 * returns, whatever stands in the text by then.
 */
#include "region_area.h"
#include <arch/setjmp.h>
#include <probe/patch.h>

FUNCTION(region_returns_behind);
FUNCTION(region_returns_first);
FUNCTION(region_returns_inside);

static struct jmp_buf back;
static struct kprobe probe;
/* How many returns there are, and at which of them the region comes, or goes. */
static long last;
static long comes, goes;

/* Is called after each return, in the middle of it all, and never returns itself. */
static long go_back(long n)
{
	if (n == comes)
		make_region(&probe);
	if (n == goes)
		remove_region(&probe);
	if (n < last)
		longjmp(&back, (int)n + 1);
	return n * 10;
}

static void run(const char *at, long (*fn)(long a, long b), long from, long to)
{
	u8 before[ARCH_JUMP_TEXT];

	memcpy(before, at, sizeof(before));
	probe = probe_of(at);
	last = 4;
	comes = from;
	goes = to;
	if (comes < 0)
		make_region(&probe);
	EXPECT_EQ(fn((long)&back, (long)go_back), 40);
	if (goes > last)
		remove_region(&probe);
	EXPECT_MEMEQ(at, before, sizeof(before));
}

static const struct times {
	long comes, goes;
	unsigned hits; /* of the first instruction, if setjmp() returns there */
} all_times[] = {
	{ -1, 9, 5 }, /* stands all the time */
	{ 1, 9, 3 },  /* comes while somebody will return */
	{ -1, 1, 2 }, /* goes meanwhile */
	{ 1, 3, 2 },
};

static void run_all(enum patch_mode mode)
{
	enum patch_mode before = patch_mode();
	const struct times *t = all_times;

	patch_mode_set(mode);
	for (; t < all_times + ARRAY_SIZE(all_times); t++) {
		run(region_returns_behind_at, region_returns_behind, t->comes,
		    t->goes);
		EXPECT_EQ(probe.nhit, t->comes < 0);
		run(region_returns_first_at, region_returns_first, t->comes,
		    t->goes);
		EXPECT_EQ(probe.nhit, t->hits);
	}
	patch_mode_set(before);
}

TEST(region_returns, a_call_may_return_again_while_it_comes_and_goes_by_break)
{
	run_all(PATCH_BREAK);
}

TEST(region_returns, a_call_may_return_again_while_it_comes_and_goes_by_stop)
{
	run_all(PATCH_STOP);
}

static void expect_refused(unsigned long at, const char *why)
{
	struct region r;

	mutex_lock(&probe_mutex);
	EXPECT_STREQ(region_check(at, &r) ?: "fine", why);
	mutex_unlock(&probe_mutex);
}

/* Before the call, and at the call. */
TEST(region_returns, none_may_return_inside)
{
	const char *why = "a call returns to where the jump would be";

	expect_refused(inside(region_returns_inside_at, 0), why);
	expect_refused(inside(region_returns_inside_at, 1), why);
	last = comes = goes = -1;
	EXPECT_EQ(region_returns_inside((long)&back, (long)go_back), 0);
}

TEST(region_returns, longjmp_itself_has_none)
{
	expect_refused((unsigned long)longjmp,
		       "its function jumps to computed addresses");
}
