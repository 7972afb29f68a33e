// SPDX-License-Identifier: MIT
/*
 * The framework tested by itself: cases that pass, fail, are skipped, leak.
 * What it must print about them is in the file `expected`. Declared out of
 * order on purpose.
 */
#include "../../test.h"
#include <lib/printf.h>

static u64 in_use = 100;

void test_leak_snapshot(struct test_leaks *leaks)
{
	test_leaks_add(leaks, "frames", in_use);
	test_leaks_add(leaks, "slots", 5);
}

TEST(zebra, comes_last)
{
	EXPECT_TRUE(true);
}

TEST(check, integers_compare_by_value_and_not_by_type)
{
	int minus = -1;
	unsigned large = ~0u;
	u64 huge = ~0ULL;
	bool yes = true;
	char c = 'c';

	EXPECT_NE(minus, large);
	EXPECT_NE(minus, huge);
	EXPECT_LT(minus, large);
	EXPECT_GT(huge, minus);
	EXPECT_LE(-2, minus);
	EXPECT_GE(minus, (s64)-1);
	EXPECT_EQ(yes, 1);
	EXPECT_EQ(c, 'c');
	EXPECT_EQ(&c, (void *)&c);
	EXPECT_NE(&c, NULL);
	EXPECT_EQ(large, 0xffffffff);
}

TEST(check, every_kind_of_failure_shows_its_operands)
{
	int three = 3;
	const char *none = NULL;

	EXPECT_EQ(three, 4);
	EXPECT_LT(-1, -1);
	EXPECT_GT(3u, 3);
	EXPECT_TRUE(three == 4);
	EXPECT_FALSE(three);
	EXPECT_STREQ("left", "right");
	EXPECT_STREQ(none, "");
	EXPECT_MEMEQ("abcdefgh", "abcdeXgh", 8);
	FAIL("only %d of %s", three, "them");
}

TEST(check, an_assertion_ends_the_case)
{
	ASSERT_EQ(1, 1);
	ASSERT_EQ(1, 2);
	FAIL("not reached");
}

TEST(check, many_failures_are_not_all_shown)
{
	for (int i = 0; i < 1000000; i++)
		EXPECT_LT(i, 0);
}

TEST(leak, what_is_kept_fails_the_case)
{
	in_use += 2;
}

TEST(leak, the_next_case_starts_from_there)
{
	in_use += 2;
	in_use -= 2;
}

TEST(verdict, a_skipped_case_says_why)
{
	SKIP("no such device");
	FAIL("not reached");
}

TEST(verdict, a_known_failure_is_no_failure)
{
	TODO_IF(1 + 1 == 2, "the emulator differs");
	EXPECT_EQ(1, 2);
}

TEST(verdict, a_known_failure_that_passes_says_so)
{
	TODO_IF(true, "the emulator differs");
}

TEST(verdict, a_condition_that_does_not_hold_excuses_nothing)
{
	TODO_IF(false, "the emulator differs");
	EXPECT_EQ(1, 2);
}

TEST(verdict, a_failure_before_a_skip_counts)
{
	EXPECT_EQ(1, 2);
	SKIP("too late");
}

TEST(verdict, notes_are_diagnostics)
{
	test_note("%d things", 3);
	test_note("in\n%s", "one line");
}
