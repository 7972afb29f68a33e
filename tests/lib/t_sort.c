// SPDX-License-Identifier: MIT
/*
 * lib/sort.c: sorted, and nothing lost, for every small size and for the orders
 * that some algorithms are slow or wrong on.
 */
#include "../random.h"
#include "../test.h"
#include <lib/sort.h>

#define ITEMS 200

/* A size that is no power of two. */
struct item {
	u32 key;
	u8 check[5];
};

static int by_key(const void *a, const void *b)
{
	u32 x = ((const struct item *)a)->key,
	    y = ((const struct item *)b)->key;

	return (x > y) - (x < y);
}

static struct item item_of(u32 key)
{
	struct item item = { .key = key };

	for (size_t i = 0; i < sizeof(item.check); i++)
		item.check[i] = (u8)(key * 7 + i);
	return item;
}

/* Whether @items are in order, whole, and their keys add up to @sum. */
static bool is_sorted(const struct item *items, size_t n, u64 sum)
{
	for (size_t i = 0; i < n; i++) {
		if (i && items[i].key < items[i - 1].key)
			return false;
		for (size_t k = 0; k < sizeof(items->check); k++)
			if (items[i].check[k] != (u8)(items[i].key * 7 + k))
				return false;
		sum -= items[i].key;
	}
	return sum == 0;
}

TEST(sort, every_order_of_every_size_comes_out_sorted)
{
	static struct item items[ITEMS];
	u64 seed = 89;

	for (size_t n = 0; n <= ITEMS; n++) {
		for (int order = 0; order < 4; order++) {
			u64 sum = 0;

			for (size_t i = 0; i < n; i++) {
				u32 keys[] = { (u32)i, (u32)(n - i), 7,
					       (u32)random_below(&seed, n) };

				items[i] = item_of(keys[order]);
				sum += keys[order];
			}
			sort(items, n, sizeof(*items), by_key);
			ASSERT_TRUE(is_sorted(items, n, sum));
		}
	}
}
