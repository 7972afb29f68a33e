// SPDX-License-Identifier: MIT
/*
 * lib/printf.c against libc's printf, over random formats and values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../test.h"
#include "ours.h"
#include <lib/printf.h>

#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wformat-truncation"

#define BOTH(...)                                                          \
	do {                                                               \
		char by_us[256], by_libc[256];                             \
		int n = sonde_snprintf(by_us, sizeof(by_us), __VA_ARGS__); \
		int m = snprintf(by_libc, sizeof(by_libc), __VA_ARGS__);   \
                                                                           \
		EXPECT_STREQ(by_us, by_libc);                              \
		EXPECT_EQ(n, m);                                           \
	} while (0)

TEST(printf, plain_text_and_percent_signs_pass)
{
	BOTH("nothing to do");
	BOTH("100%%");
	BOTH("%s and %c and %d", "text", 'c', 42);
	BOTH("%s", "");
}

/* %[flags][width][.precision], without what C leaves undefined for @letter. */
static size_t random_spec(char *fmt, const char *flags, bool precision,
			  u64 *seed)
{
	size_t n = 0;

	fmt[n++] = '%';
	for (u64 k = random_below(seed, 4); k; k--)
		fmt[n++] = flags[random_below(seed, strlen(flags))];
	if (random_below(seed, 2))
		n += (size_t)sprintf(fmt + n, "%d",
				     1 + (int)random_below(seed, 40));
	if (precision && random_below(seed, 2))
		n += (size_t)sprintf(fmt + n, ".%d",
				     (int)random_below(seed, 30));
	return n;
}

TEST(printf, random_integer_formats_print_like_libc)
{
	static const char *const sizes[] = {
		"hh", "h", "", "l", "ll", "z", "j"
	};
	u64 seed = 17;
	char fmt[64], ours[256], libc[256];

	for (int i = 0; i < 200000; i++) {
		u64 value = random_next(&seed) >> random_below(&seed, 64);
		bool is_signed = random_below(&seed, 2);
		size_t n, size = random_below(&seed, ARRAY_SIZE(sizes));
		int a, b;

		if (random_below(&seed, 8) == 0)
			value = 0;
		n = random_spec(fmt, is_signed ? "-+ 0" : "-#0", true, &seed);
		n += (size_t)sprintf(fmt + n, "%s", sizes[size]);
		if (is_signed)
			fmt[n++] = "di"[random_below(&seed, 2)];
		else
			fmt[n++] = "xXou"[random_below(
				&seed, strchr(fmt, '#') ? 3 : 4)];
		strcpy(fmt + n, "|%s");
		if (size < 3) {
			a = sonde_snprintf(ours, 256, fmt, (int)value, "end");
			b = snprintf(libc, 256, fmt, (int)value, "end");
		} else {
			a = sonde_snprintf(ours, 256, fmt, value, "end");
			b = snprintf(libc, 256, fmt, value, "end");
		}
		if (a != b || strcmp(ours, libc))
			FAIL("\"%s\" of %#llx: \"%s\", libc \"%s\"", fmt, value,
			     ours, libc);
	}
}

TEST(printf, random_text_formats_print_like_libc)
{
	static const char *const texts[] = { "", "a", "some words",
					     "0123456789" };
	u64 seed = 19;
	char fmt[64], ours[256], libc[256];

	for (int i = 0; i < 20000; i++) {
		const char *text = texts[random_below(&seed, 4)];
		size_t n = random_spec(fmt, "-", true, &seed);

		strcpy(fmt + n, "s|");
		sonde_snprintf(ours, sizeof(ours), fmt, text);
		snprintf(libc, sizeof(libc), fmt, text);
		if (strcmp(ours, libc))
			FAIL("\"%s\": \"%s\", libc \"%s\"", fmt, ours, libc);
	}
	BOTH("%5c|%-5c|", 'x', 'y');
}

TEST(printf, star_takes_width_and_precision_from_the_arguments)
{
	for (int width = -12; width <= 12; width++) {
		for (int precision = -2; precision <= 12; precision++) {
			BOTH("%*.*d|", width, precision, 1234);
			BOTH("%*.*s|", width, precision, "abcdef");
			BOTH("%-*x|%0*x", width, 77, width, 78);
		}
	}
}

TEST(printf, a_precision_bounds_what_is_read_of_a_string)
{
	char *text = strndup("abc", 3), unterminated[3], buf[8];

	memcpy(unterminated, text, 3);
	free(text);
	sonde_snprintf(buf, sizeof(buf), "%.3s", unterminated);
	EXPECT_STREQ(buf, "abc");
}

TEST(printf, null_strings_are_printed_as_such)
{
	char buf[16];

	EXPECT_EQ(sonde_snprintf(buf, sizeof(buf), "%s|", (char *)NULL), 7);
	EXPECT_STREQ(buf, "(null)|");
}

TEST(printf, pointers_have_16_digits)
{
	char buf[64];

	sonde_snprintf(buf, sizeof(buf), "%p|%20p", (void *)0x1234, NULL);
	EXPECT_STREQ(buf, "0x0000000000001234|  0x0000000000000000");
}

static bool name_of(u64 addr, char *buf, size_t size)
{
	if (addr != 0x1004)
		return false;
	snprintf(buf, size, "main+0x4/0x80");
	return true;
}

TEST(printf, symbols_are_named_where_there_is_a_table)
{
	char buf[64];

	sonde_snprintf(buf, sizeof(buf), "%pS", (void *)0x1004);
	EXPECT_STREQ(buf, "0x0000000000001004");
	printf_symbol = name_of;
	sonde_snprintf(buf, sizeof(buf), "[%15pS]", (void *)0x1004);
	EXPECT_STREQ(buf, "[  main+0x4/0x80]");
	sonde_snprintf(buf, sizeof(buf), "%pS", (void *)0x1008);
	EXPECT_STREQ(buf, "0x0000000000001008");
	printf_symbol = NULL;
}

TEST(printf, a_full_buffer_is_cut_and_terminated)
{
	for (size_t size = 1; size < 14; size++) {
		char buf[16];

		memset(buf, '#', sizeof(buf));
		EXPECT_EQ(sonde_snprintf(buf, size, "%s %d", "abcdef", 12345),
			  12);
		EXPECT_EQ(strlen(buf), min(size - 1, (size_t)12));
		EXPECT_EQ(buf[size], '#');
		EXPECT_MEMEQ(buf, "abcdef 12345", strlen(buf));
	}
	EXPECT_EQ(sonde_snprintf(NULL, 0, "%d", 123), 3);
}

TEST(printf, appending_never_passes_the_end)
{
	char buf[10];
	size_t n = 0;

	for (int i = 0; i < 8; i++)
		n += scnprintf(buf + n, sizeof(buf) - n, "%d,", i);
	EXPECT_EQ(n, 9);
	EXPECT_STREQ(buf, "0,1,2,3,4");
}

TEST(printf, unknown_conversions_stay_as_they_are)
{
	char buf[32];

	sonde_snprintf(buf, sizeof(buf), "%y %-5k %d", 7);
	EXPECT_STREQ(buf, "%y %-5k 7");
	sonde_snprintf(buf, sizeof(buf), "50%");
	EXPECT_STREQ(buf, "50%");
	sonde_snprintf(buf, sizeof(buf), "%08.3l");
	EXPECT_STREQ(buf, "%08.3l");
}

static void count_pieces(void *arg, const char *s, size_t n)
{
	size_t *longest = arg;

	(void)s;
	*longest = max(*longest, n);
}

TEST(printf, padding_reaches_the_sink_in_bounded_pieces)
{
	size_t longest = 0;

	EXPECT_EQ(format(count_pieces, &longest, "%100000d", 1), 100000);
	EXPECT_LE(longest, 64);
}
