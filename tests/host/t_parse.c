/* SPDX-License-Identifier: MIT */
/*
 * The command language of the monitor.
 */
#include "../test.h"
#include "ours.h"
#include "../../monitor/parse.c"

TEST(monitor_parse, commands_end_at_semicolons_outside_quotes)
{
	const char *text = "a b;c ';' d;;e";
	char buf[8];

	EXPECT_EQ(command_next(&text, buf, sizeof(buf)), 0);
	EXPECT_STREQ(buf, "a b");
	EXPECT_EQ(command_next(&text, buf, sizeof(buf)), 0);
	EXPECT_STREQ(buf, "c ';' d");
	EXPECT_EQ(command_next(&text, buf, sizeof(buf)), 0);
	EXPECT_STREQ(buf, "");
	EXPECT_EQ(command_next(&text, buf, sizeof(buf)), 0);
	EXPECT_STREQ(buf, "e");
	EXPECT_STREQ(text, "");
}

TEST(monitor_parse, a_command_that_is_too_long_is_refused_and_skipped)
{
	const char *text = "12345678;next";
	char buf[8];

	EXPECT_EQ(command_next(&text, buf, sizeof(buf)), -E2BIG);
	EXPECT_STREQ(buf, "1234567");
	EXPECT_STREQ(text, "next");
}

TEST(monitor_parse, the_args_text_says_how_many_arguments_there_may_be)
{
	static const struct {
		const char *args;
		unsigned least, most;
	} cases[] = {
		{ "", 0, 0 },
		{ "ADDR", 1, 1 },
		{ "[GLOB]", 0, 1 },
		{ "SYM[+OFF]|ADDR [full]", 1, 2 },
		{ "A B  [C] [D]", 2, 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned least, most;

		args_range(cases[i].args, &least, &most);
		EXPECT_EQ(least, cases[i].least);
		EXPECT_EQ(most, cases[i].most);
	}
}

TEST(monitor_parse, edit_distance_counts_single_changes)
{
	EXPECT_EQ(edit_distance("", ""), 0);
	EXPECT_EQ(edit_distance("abc", "abc"), 0);
	EXPECT_EQ(edit_distance("abc", ""), 3);
	EXPECT_EQ(edit_distance("", "abc"), 3);
	EXPECT_EQ(edit_distance("probe", "prob"), 1);
	EXPECT_EQ(edit_distance("porbe", "probe"), 2);
	EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
	EXPECT_EQ(edit_distance("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "a"),
		  EDIT_FAR);
}
