// SPDX-License-Identifier: MIT
/*
 * lib/string.c against libc's functions of the same names, at every alignment
 * and length that the word loops tell apart.
 */
#include <stdlib.h>
#include <string.h>
#include "../test.h"
#include "ours.h"

#define SPAN 96

static int sign(int v)
{
	return (v > 0) - (v < 0);
}

static void fill(u8 *p, size_t n, u64 seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (u8)random_next(&seed);
}

TEST(string, memcpy_copies_all_and_only_its_bytes)
{
	u8 from[SPAN], ours[SPAN], libc[SPAN];

	fill(from, SPAN, 1);
	for (size_t s = 0; s < 16; s++) {
		for (size_t d = 0; d < 16; d++) {
			for (size_t n = 0; n <= 64; n++) {
				memset(ours, 0xaa, SPAN);
				memset(libc, 0xaa, SPAN);
				memcpy(libc + d, from + s, n);
				EXPECT_EQ(sonde_memcpy(ours + d, from + s, n),
					  (void *)(ours + d));
				ASSERT_MEMEQ(ours, libc, SPAN);
			}
		}
	}
}

TEST(string, memmove_is_right_for_every_overlap)
{
	u8 ours[SPAN], libc[SPAN];

	for (size_t s = 0; s < 32; s++) {
		for (size_t d = 0; d < 32; d++) {
			for (size_t n = 0; n <= 64; n++) {
				fill(ours, SPAN, n + 1);
				memcpy(libc, ours, SPAN);
				memmove(libc + d, libc + s, n);
				sonde_memmove(ours + d, ours + s, n);
				ASSERT_MEMEQ(ours, libc, SPAN);
			}
		}
	}
}

TEST(string, memset_sets_all_and_only_its_bytes)
{
	u8 ours[SPAN], libc[SPAN];

	for (size_t d = 0; d < 16; d++) {
		for (size_t n = 0; n <= 64; n++) {
			fill(ours, SPAN, 7);
			memcpy(libc, ours, SPAN);
			memset(libc + d, 0x1c3, n);
			sonde_memset(ours + d, 0x1c3, n);
			ASSERT_MEMEQ(ours, libc, SPAN);
		}
	}
}

TEST(string, memcmp_finds_the_first_byte_that_differs)
{
	u8 a[SPAN], b[SPAN];

	fill(a, SPAN, 3);
	for (size_t off = 0; off < 8; off++) {
		for (size_t n = 0; n <= 40; n++) {
			memcpy(b, a, SPAN);
			EXPECT_EQ(sonde_memcmp(a + off, b + off, n), 0);
			for (size_t i = 0; i < n; i++) {
				memcpy(b, a, SPAN);
				b[off + i] ^= 0x80;
				/* A later difference must not decide. */
				b[off + n - 1] ^= 0x7f;
				ASSERT_EQ(
					sign(sonde_memcmp(a + off, b + off, n)),
					sign(memcmp(a + off, b + off, n)));
			}
		}
	}
}

TEST(string, memchr_stops_at_its_length)
{
	const char text[] = "abcabc";

	EXPECT_EQ(sonde_memchr(text, 'c', 6), (void *)(text + 2));
	EXPECT_EQ(sonde_memchr(text, 'c', 2), NULL);
	EXPECT_EQ(sonde_memchr(text, 0, 7), (void *)(text + 6));
	EXPECT_EQ(sonde_memchr(text, 'a' + 256, 1), (void *)text);
}

TEST(string, strnlen_does_not_read_behind_its_limit)
{
	char *text = strndup("abcdef", 6);

	EXPECT_EQ(sonde_strlen(text), 6);
	EXPECT_EQ(sonde_strnlen(text, 3), 3);
	EXPECT_EQ(sonde_strnlen(text, 100), 6);
	EXPECT_EQ(sonde_strnlen(text, 0), 0);
	free(text);
}

/* Short strings over a small alphabet that has a byte above 127. */
static void random_text(char *s, size_t max, u64 *seed)
{
	size_t n = random_below(seed, max);

	for (size_t i = 0; i < n; i++)
		s[i] = "abc\xe4"[random_below(seed, 4)];
	s[n] = '\0';
}

TEST(string, comparisons_order_like_libc)
{
	u64 seed = 5;
	char a[8], b[8];

	for (int i = 0; i < 20000; i++) {
		size_t n = random_below(&seed, 9);

		random_text(a, sizeof(a), &seed);
		random_text(b, sizeof(b), &seed);
		ASSERT_EQ(sign(sonde_strcmp(a, b)), sign(strcmp(a, b)));
		ASSERT_EQ(sign(sonde_strncmp(a, b, n)), sign(strncmp(a, b, n)));
	}
}

TEST(string, searches_find_what_libc_finds)
{
	u64 seed = 6;
	char a[12], b[4];

	for (int i = 0; i < 20000; i++) {
		int c = "abc\xe4z"[random_below(&seed, 6)];

		random_text(a, sizeof(a), &seed);
		random_text(b, sizeof(b), &seed);
		ASSERT_EQ(sonde_strchr(a, c), strchr(a, c));
		ASSERT_EQ(sonde_strrchr(a, c), strrchr(a, c));
		ASSERT_EQ(sonde_strstr(a, b), strstr(a, b));
	}
}
