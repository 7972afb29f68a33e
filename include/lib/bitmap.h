/* SPDX-License-Identifier: MIT */
/*
 * Bitmaps: bit n is bit n % 64 of word n / 64. Not atomic: the caller's lock
 * protects a map. Any context.
 */
#ifndef SONDE_LIB_BITMAP_H
#define SONDE_LIB_BITMAP_H

#include <lib/compiler.h>

#define BITS_PER_LONG		64
#define BITMAP_LONGS(n)		DIV_ROUND_UP(n, BITS_PER_LONG)
#define DECLARE_BITMAP(name, n) unsigned long name[BITMAP_LONGS(n)]

static inline bool bitmap_test(const unsigned long *map, size_t n)
{
	return map[n / BITS_PER_LONG] >> (n % BITS_PER_LONG) & 1;
}

static inline void bitmap_set(unsigned long *map, size_t n)
{
	map[n / BITS_PER_LONG] |= BIT(n % BITS_PER_LONG);
}

static inline void bitmap_clear(unsigned long *map, size_t n)
{
	map[n / BITS_PER_LONG] &= ~BIT(n % BITS_PER_LONG);
}

/* Sets or clears @count bits from @first on. */
void bitmap_set_range(unsigned long *map, size_t first, size_t count);
void bitmap_clear_range(unsigned long *map, size_t first, size_t count);

/*
 * The first set or clear bit at or after @from of a map of @size bits; @size if
 * there is none.
 */
size_t bitmap_find_next(const unsigned long *map, size_t size, size_t from);
size_t bitmap_find_next_zero(const unsigned long *map, size_t size,
			     size_t from);

/*
 * The first run of @count clear bits at or after @from that begins at a
 * multiple of @align (a power of two); @size if there is none.
 */
size_t bitmap_find_zero_area(const unsigned long *map, size_t size, size_t from,
			     size_t count, size_t align);

/* How many of the first @size bits are set. */
size_t bitmap_weight(const unsigned long *map, size_t size);

/* How many bits of @word are set, without the CPU's own instruction. */
unsigned popcount64(u64 word);

#define for_each_bit(n, map, size)                           \
	for (n = bitmap_find_next(map, size, 0); n < (size); \
	     n = bitmap_find_next(map, size, n + 1))

#endif
