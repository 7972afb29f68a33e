// SPDX-License-Identifier: MIT
/*
 * What the kernel's printf prints, in examples. The host compares far more of it
 * with libc's; this is for what compiler and byte order may do to it.
 */
#include "../test.h"
#include <lib/printf.h>
#include <lib/string.h>
#include <lib/text.h>

#define EXPECT_FORMAT(wanted, ...)                         \
	do {                                               \
		char text[96];                             \
                                                           \
		snprintf(text, sizeof(text), __VA_ARGS__); \
		EXPECT_STREQ(text, wanted);                \
	} while (0)

TEST(format, integers_of_every_size_are_printed)
{
	EXPECT_FORMAT("-1 4294967295", "%d %u", -1, ~0u);
	EXPECT_FORMAT("-9223372036854775808", "%lld", (s64)INT64_MIN);
	EXPECT_FORMAT("18446744073709551615", "%llu", ~0ULL);
	EXPECT_FORMAT("ffffffffffffffff", "%lx", ~0ul);
	EXPECT_FORMAT("255 65535 4096", "%hhu %hu %zu", (u8)255, (u16)65535,
		      (size_t)4096);
	EXPECT_FORMAT("0xbeef 0XBEEF 017", "%#x %#X %#o", 0xbeef, 0xbeef, 15);
}

TEST(format, width_precision_and_flags_are_kept)
{
	EXPECT_FORMAT("   42|42   |00042|+42| 42", "%5d|%-5d|%05d|%+d|% d", 42,
		      42, 42, 42, 42);
	EXPECT_FORMAT("  007|abc|  abc", "%5.3d|%.3s|%*.*s", 7, "abcdef", 5, 3,
		      "abcdef");
}

TEST(format, many_arguments_arrive_in_order)
{
	/* More than go in registers on either machine. */
	EXPECT_FORMAT("1 2 3 4 5 6 7 8 9 a 11 12",
		      "%d %d %ld %d %lld %d %d %s "
		      "%d %c %u %x",
		      1, 2, 3l, 4, 5ll, 6, 7, "8", 9, 'a', 11u, 0x12);
}

TEST(format, numbers_that_are_printed_can_be_parsed)
{
	char text[32];

	for (unsigned shift = 0; shift < 64; shift++) {
		u64 value = 0x8badf00dcafebabeULL >> shift, back = 0;

		snprintf(text, sizeof(text), "%llu", value);
		EXPECT_EQ(parse_u64(text, 0, &back, NULL), 0);
		EXPECT_EQ(back, value);
		snprintf(text, sizeof(text), "%#llx", value);
		EXPECT_EQ(parse_u64(text, 0, &back, NULL), 0);
		EXPECT_EQ(back, value);
	}
}
