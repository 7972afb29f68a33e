// SPDX-License-Identifier: MIT
/*
 * The functions that the compiler calls on its own, as it compiled them for the
 * machine that runs: every alignment and overlap against a loop over bytes. The
 * loops are volatile, so that they are not made into calls of what they check.
 */
#include "../random.h"
#include "../test.h"
#include <lib/string.h>

#define SPAN 80

static void fill(u8 *p, u64 seed)
{
	for (size_t i = 0; i < SPAN; i++)
		p[i] = (u8)random_next(&seed);
}

static void plain_move(volatile u8 *d, const volatile u8 *s, size_t n)
{
	if (d < s)
		for (size_t i = 0; i < n; i++)
			d[i] = s[i];
	else
		while (n--)
			d[n] = s[n];
}

TEST(mem, memmove_is_right_for_every_overlap)
{
	u8 ours[SPAN], model[SPAN];

	for (size_t s = 0; s < 24; s++) {
		for (size_t d = 0; d < 24; d++) {
			size_t n = (s * 31 + d * 17) % 50;

			fill(ours, s + d + 1);
			plain_move(model, ours, SPAN);
			plain_move(model + d, model + s, n);
			EXPECT_EQ(memmove(ours + d, ours + s, n),
				  (void *)(ours + d));
			ASSERT_MEMEQ(ours, model, SPAN);
		}
	}
}

TEST(mem, memcpy_copies_all_and_only_its_bytes)
{
	u8 from[SPAN], ours[SPAN], model[SPAN];

	fill(from, 1);
	for (size_t s = 0; s < 8; s++) {
		for (size_t d = 0; d < 8; d++) {
			for (size_t n = 0; n <= 40; n++) {
				fill(ours, 2);
				fill(model, 2);
				plain_move(model + d, from + s, n);
				memcpy(ours + d, from + s, n);
				ASSERT_MEMEQ(ours, model, SPAN);
			}
		}
	}
}

TEST(mem, memset_sets_all_and_only_its_bytes)
{
	u8 ours[SPAN], model[SPAN];

	for (size_t d = 0; d < 8; d++) {
		for (size_t n = 0; n <= 40; n++) {
			volatile u8 *m = model;

			fill(ours, 3);
			fill(model, 3);
			for (size_t i = d; i < d + n; i++)
				m[i] = 0xc3;
			memset(ours + d, 0x1c3, n);
			ASSERT_MEMEQ(ours, model, SPAN);
		}
	}
}

TEST(mem, memcmp_orders_by_the_first_byte_that_differs)
{
	u8 a[SPAN], b[SPAN];

	fill(a, 4);
	for (size_t off = 0; off < 8; off++) {
		for (size_t i = 0; i < 32; i++) {
			memcpy(b, a, SPAN);
			EXPECT_EQ(memcmp(a + off, b + off, 32), 0);
			/* The later difference says the opposite. */
			a[off + i] = 0x7f;
			b[off + i] = 0x80;
			a[off + 32] = 0xff;
			b[off + 32] = 0x00;
			EXPECT_LT(memcmp(a + off, b + off, 33), 0);
			EXPECT_GT(memcmp(b + off, a + off, 33), 0);
			EXPECT_EQ(memcmp(a + off, b + off, i), 0);
		}
	}
}

TEST(mem, a_large_block_survives_a_round_trip)
{
	static u8 a[8192], b[8192];
	u64 seed = 5;

	for (size_t i = 0; i < sizeof(a); i++)
		a[i] = (u8)random_next(&seed);
	memcpy(b + 1, a, sizeof(a) - 1);
	memmove(b, b + 1, sizeof(b) - 1);
	EXPECT_MEMEQ(a, b, sizeof(a) - 1);
}
