// SPDX-License-Identifier: MIT
/*
 * lib/bitmap.c and list.h against plain arrays.
 */
#include "../test.h"
#include "../random.h"
#include <lib/bitmap.h>
#include <lib/list.h>
#include <lib/string.h>

#define BITS 200

/* A map and the same as an array of bool. */
struct model {
	unsigned long map[BITMAP_LONGS(BITS)];
	bool bit[BITS];
};

static bool model_agrees(const struct model *m)
{
	for (size_t i = 0; i < BITS; i++)
		if (bitmap_test(m->map, i) != m->bit[i])
			return false;
	return true;
}

static size_t scan(const struct model *m, size_t size, size_t from, bool wanted)
{
	while (from < size && m->bit[from] != wanted)
		from++;
	return min(from, size);
}

static void random_model(struct model *m, u64 *seed)
{
	memset(m, 0, sizeof(*m));
	for (int k = 0; k < 6; k++) {
		size_t first = random_below(seed, BITS);
		size_t count = random_below(seed, BITS - first + 1);
		bool set = random_below(seed, 2);

		for (size_t i = first; i < first + count; i++)
			m->bit[i] = set;
		if (set)
			bitmap_set_range(m->map, first, count);
		else
			bitmap_clear_range(m->map, first, count);
	}
}

TEST(bitmap, ranges_change_all_and_only_their_bits)
{
	struct model m;
	u64 seed = 31;

	for (int i = 0; i < 3000; i++) {
		random_model(&m, &seed);
		ASSERT_TRUE(model_agrees(&m));
	}
}

TEST(bitmap, single_bits_are_set_and_cleared)
{
	struct model m = { 0 };
	u64 seed = 37;

	for (int i = 0; i < 3000; i++) {
		size_t n = random_below(&seed, BITS);

		m.bit[n] = !m.bit[n];
		if (m.bit[n])
			bitmap_set(m.map, n);
		else
			bitmap_clear(m.map, n);
		ASSERT_TRUE(model_agrees(&m));
	}
}

TEST(bitmap, searches_find_what_a_scan_finds)
{
	struct model m;
	u64 seed = 41;

	for (int i = 0; i < 1000; i++) {
		size_t size = 1 + random_below(&seed, BITS);

		random_model(&m, &seed);
		for (size_t from = 0; from < size; from++) {
			ASSERT_EQ(bitmap_find_next(m.map, size, from),
				  scan(&m, size, from, true));
			ASSERT_EQ(bitmap_find_next_zero(m.map, size, from),
				  scan(&m, size, from, false));
		}
	}
}

static size_t scan_area(const struct model *m, size_t size, size_t from,
			size_t count, size_t align)
{
	for (size_t i = ALIGN_UP(from, align); i + count <= size; i += align)
		if (i < size && scan(m, i + count, i, true) == i + count)
			return i;
	return size;
}

TEST(bitmap, zero_areas_are_the_first_that_fit)
{
	struct model m;
	u64 seed = 43;

	for (int i = 0; i < 20000; i++) {
		size_t size = 1 + random_below(&seed, BITS);
		size_t from = random_below(&seed, size);
		size_t count = 1 + random_below(&seed, 20);
		size_t align = 1UL << random_below(&seed, 5);

		random_model(&m, &seed);
		ASSERT_EQ(
			bitmap_find_zero_area(m.map, size, from, count, align),
			scan_area(&m, size, from, count, align));
	}
}

TEST(bitmap, weight_counts_the_bits_within_the_size)
{
	struct model m;
	u64 seed = 47;

	for (int i = 0; i < 1000; i++) {
		size_t size = random_below(&seed, BITS + 1), weight = 0;

		random_model(&m, &seed);
		for (size_t k = 0; k < size; k++)
			weight += m.bit[k];
		ASSERT_EQ(bitmap_weight(m.map, size), weight);
		ASSERT_EQ(popcount64(m.map[0]),
			  bitmap_weight(m.map, BITS_PER_LONG));
	}
}

TEST(bitmap, for_each_bit_visits_the_set_bits_in_order)
{
	DECLARE_BITMAP(map, 130) = { 0 };
	size_t seen[4] = { 0 }, count = 0, n;

	bitmap_set(map, 0);
	bitmap_set(map, 64);
	bitmap_set(map, 129);
	for_each_bit(n, map, 130)
		seen[count++] = n;
	EXPECT_EQ(count, 3);
	EXPECT_EQ(seen[0], 0);
	EXPECT_EQ(seen[1], 64);
	EXPECT_EQ(seen[2], 129);
}

struct entry {
	int value;
	struct list_head link;
};

/* The values as decimal digits. */
static u64 digits(struct list_head *head)
{
	struct entry *e;
	u64 value = 0;

	list_for_each_entry(e, head, link)
		value = value * 10 + (u64)e->value;
	return value;
}

TEST(list, entries_stand_where_they_were_put)
{
	struct entry e[4] = {
		{ .value = 1 }, { .value = 2 }, { .value = 3 }, { .value = 4 }
	};
	LIST_HEAD(head);
	LIST_HEAD(other);

	EXPECT_TRUE(list_empty(&head));
	EXPECT_EQ(list_first_entry_or_null(&head, struct entry, link), NULL);
	list_add_tail(&e[0].link, &head);
	list_add_tail(&e[1].link, &head);
	list_add(&e[2].link, &head);
	EXPECT_EQ(digits(&head), 312);
	list_move_tail(&e[2].link, &head);
	EXPECT_EQ(digits(&head), 123);
	list_add_tail(&e[3].link, &e[1].link);
	EXPECT_EQ(digits(&head), 1423);
	EXPECT_EQ(list_last_entry(&head, struct entry, link)->value, 3);
	list_del(&e[1].link);
	EXPECT_EQ(digits(&head), 143);
	EXPECT_EQ(e[1].link.next, NULL);
	list_add(&e[1].link, &other);
	list_splice_tail_init(&head, &other);
	EXPECT_EQ(digits(&other), 2143);
	EXPECT_TRUE(list_empty(&head));
	list_splice_tail_init(&head, &other);
	EXPECT_EQ(digits(&other), 2143);
}

TEST(list, the_safe_walk_survives_removal)
{
	struct entry e[5], *pos, *ahead;
	LIST_HEAD(head);

	for (int i = 0; i < 5; i++) {
		e[i].value = i + 1;
		list_add_tail(&e[i].link, &head);
	}
	list_for_each_entry_safe(pos, ahead, &head, link)
		if (pos->value & 1)
			list_del_init(&pos->link);
	EXPECT_EQ(digits(&head), 24);
	list_del_init(&e[0].link);
	EXPECT_EQ(digits(&head), 24);
}
