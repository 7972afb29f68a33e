// SPDX-License-Identifier: MIT
/*
 * lib/text.c: bounded copies, words, globs, numbers.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include "../test.h"
#include "ours.h"
#include <lib/errno.h>
#include <lib/text.h>

TEST(text, strscpy_always_terminates)
{
	char buf[4];

	EXPECT_EQ(strscpy(buf, "abc", sizeof(buf)), 3);
	EXPECT_STREQ(buf, "abc");
	EXPECT_EQ(strscpy(buf, "abcd", sizeof(buf)), -E2BIG);
	EXPECT_STREQ(buf, "abc");
	EXPECT_EQ(strscpy(buf, "x", 1), -E2BIG);
	EXPECT_STREQ(buf, "");
	EXPECT_EQ(strscpy(buf, "", 1), 0);
}

TEST(text, match_string_finds_whole_names_only)
{
	static const char *const names[] = { "off", NULL, "on", "" };

	EXPECT_EQ(match_string(names, 4, "off"), 0);
	EXPECT_EQ(match_string(names, 4, "on"), 2);
	EXPECT_EQ(match_string(names, 4, ""), 3);
	EXPECT_EQ(match_string(names, 3, ""), -EINVAL);
	EXPECT_EQ(match_string(names, 4, "o"), -EINVAL);
	EXPECT_EQ(match_string(names, 4, "one"), -EINVAL);
	EXPECT_EQ(match_string(names, 0, "off"), -EINVAL);
}

TEST(text, words_are_separated_by_any_white_space)
{
	const char *text = "  probe\tadd  x+4 \n";
	char word[16];

	EXPECT_EQ(text_word(&text, word, sizeof(word)), 1);
	EXPECT_STREQ(word, "probe");
	EXPECT_EQ(text_word(&text, word, sizeof(word)), 1);
	EXPECT_STREQ(word, "add");
	EXPECT_EQ(text_word(&text, word, sizeof(word)), 1);
	EXPECT_STREQ(word, "x+4");
	EXPECT_EQ(text_word(&text, word, sizeof(word)), 0);
	EXPECT_EQ(*text, '\0');
	EXPECT_EQ(text_word(&text, word, sizeof(word)), 0);
}

TEST(text, quotes_keep_spaces_and_are_removed)
{
	const char *text = "a=\"b c\"d 'e \"f' \"\" \"a=b c\" \\\"x\\\\ c:\\d";
	const char *words[] = {
		"a=b cd", "e \"f", "", "a=b c", "\"x\\", "c:\\d"
	};
	char word[16];

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		EXPECT_EQ(text_word(&text, word, sizeof(word)), 1);
		EXPECT_STREQ(word, words[i]);
	}
	EXPECT_EQ(text_word(&text, word, sizeof(word)), 0);
}

TEST(text, a_quote_without_partner_is_refused)
{
	const char *text = "a 'b c";
	char word[16];

	EXPECT_EQ(text_word(&text, word, sizeof(word)), 1);
	EXPECT_EQ(text_word(&text, word, sizeof(word)), -EINVAL);
	EXPECT_EQ(*text, '\0');
}

TEST(text, a_word_that_does_not_fit_is_refused_and_passed)
{
	const char *text = "abcd efg";
	char word[4];

	EXPECT_EQ(text_word(&text, word, sizeof(word)), -E2BIG);
	EXPECT_EQ(text_word(&text, word, sizeof(word)), 1);
	EXPECT_STREQ(word, "efg");
}

TEST(glob, the_usual_patterns_match)
{
	static const struct {
		const char *pattern, *text;
		bool match;
	} cases[] = {
		{ "", "", true },
		{ "", "a", false },
		{ "*", "", true },
		{ "***", "abc", true },
		{ "a*c", "abbbc", true },
		{ "a*c", "abbbd", false },
		{ "a?c", "abc", true },
		{ "a?c", "ac", false },
		{ "*.*", "slot.x", true },
		{ "*.*", "slot", false },
		{ "[a-c]x", "bx", true },
		{ "[a-c]x", "dx", false },
		{ "[!a-c]x", "dx", true },
		{ "[^a-c]x", "ax", false },
		{ "[]x]", "]", true },
		{ "[a-]", "-", true },
		{ "[", "[", true },
		{ "[ab", "[ab", true },
		{ "[ab", "a", false },
		{ "\\*", "*", true },
		{ "\\*", "a", false },
		{ "a\\", "a\\", true },
		{ "[\\]]", "]", true },
		{ "*a*b*c*", "xaxbxcx", true },
		{ "*a*b*c*", "xcxbxa", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (glob_match(cases[i].pattern, cases[i].text) !=
		    cases[i].match)
			FAIL("\"%s\" and \"%s\"", cases[i].pattern,
			     cases[i].text);
}

TEST(glob, random_patterns_match_like_fnmatch)
{
	u64 seed = 11;
	char pattern[10], text[10];

	for (int i = 0; i < 300000; i++) {
		size_t n = random_below(&seed, sizeof(pattern));
		size_t m = random_below(&seed, sizeof(text));

		for (size_t j = 0; j < n; j++)
			pattern[j] = "ab*?[]-!"[random_below(&seed, 8)];
		pattern[n] = '\0';
		/* fnmatch() has classes, [=a=] and the like; we do not. */
		for (size_t j = 0; j < m; j++)
			text[j] = "abc]-"[random_below(&seed, 5)];
		text[m] = '\0';
		if (glob_match(pattern, text) != !fnmatch(pattern, text, 0))
			FAIL("\"%s\" and \"%s\"", pattern, text);
	}
}

TEST(glob, many_stars_take_no_exponential_time)
{
	char text[2001];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	EXPECT_FALSE(glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

static u64 parsed(const char *s, unsigned base)
{
	u64 value;
	int err = parse_u64(s, base, &value, NULL);

	return err ? (u64)err : value;
}

TEST(parse, prefixes_name_the_base)
{
	EXPECT_EQ(parsed("0", 0), 0);
	EXPECT_EQ(parsed("007", 0), 7);
	EXPECT_EQ(parsed("0x1F", 0), 0x1f);
	EXPECT_EQ(parsed("0X1f", 16), 0x1f);
	EXPECT_EQ(parsed("1f", 16), 0x1f);
	EXPECT_EQ(parsed("0b101", 0), 5);
	EXPECT_EQ(parsed("0b1", 16), 0xb1);
	EXPECT_EQ(parsed("0o17", 0), 15);
	EXPECT_EQ(parsed("zz", 36), 35 * 36 + 35);
}

TEST(parse, what_is_no_number_is_refused)
{
	static const char *const bad[] = { "",	 " 1",	"-1", "+1",  "x",
					   "0x", "0xg", "1 ", "0b2", "12a" };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (parsed(bad[i], 0) != (u64)-EINVAL)
			FAIL("\"%s\" was taken", bad[i]);
}

TEST(parse, the_limits_of_64_bits_are_exact)
{
	u64 value = 7;

	EXPECT_EQ(parsed("18446744073709551615", 0), ~0ULL);
	EXPECT_EQ(parsed("0xffffffffffffffff", 0), ~0ULL);
	EXPECT_EQ(parse_u64("18446744073709551616", 0, &value, NULL), -ERANGE);
	EXPECT_EQ(parse_u64("0x10000000000000000", 0, &value, NULL), -ERANGE);
	EXPECT_EQ(value, 7);
}

TEST(parse, the_end_is_reported)
{
	const char *text = "0x10+4", *end = NULL;
	u64 value;

	EXPECT_EQ(parse_u64(text, 0, &value, &end), 0);
	EXPECT_EQ(value, 16);
	EXPECT_EQ(end, text + 4);
	EXPECT_EQ(parse_u64("0x", 0, &value, &end), 0);
	EXPECT_STREQ(end, "x");
}

TEST(parse, signed_numbers_reach_both_limits)
{
	s64 value = 7;

	EXPECT_EQ(parse_s64("-9223372036854775808", 0, &value, NULL), 0);
	EXPECT_EQ(value, INT64_MIN);
	EXPECT_EQ(parse_s64("+9223372036854775807", 0, &value, NULL), 0);
	EXPECT_EQ(value, INT64_MAX);
	EXPECT_EQ(parse_s64("9223372036854775808", 0, &value, NULL), -ERANGE);
	EXPECT_EQ(parse_s64("-9223372036854775809", 0, &value, NULL), -ERANGE);
	EXPECT_EQ(parse_s64("--1", 0, &value, NULL), -EINVAL);
	EXPECT_EQ(parse_s64("-0x10", 0, &value, NULL), 0);
	EXPECT_EQ(value, -16);
}

TEST(parse, random_numbers_come_back)
{
	u64 seed = 13;
	char text[32];

	for (int i = 0; i < 20000; i++) {
		u64 value = random_next(&seed) >> random_below(&seed, 64);

		snprintf(text, sizeof(text), i & 1 ? "%llu" : "%#llx", value);
		ASSERT_EQ(parsed(text, 0), value);
	}
}
