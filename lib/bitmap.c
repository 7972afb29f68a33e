// SPDX-License-Identifier: MIT
/*
 * Bitmaps, a word at a time where that is easy. The caller's lock protects a
 * map; any context.
 */
#include <lib/bitmap.h>

/* The part of [first, end) that lies in the word @first is in, as a mask. */
static unsigned long word_mask(size_t first, size_t end)
{
	size_t low = first % BITS_PER_LONG;
	size_t bits = min(end - first, BITS_PER_LONG - low);

	return (~0UL >> (BITS_PER_LONG - bits)) << low;
}

static size_t next_word(size_t n)
{
	return ALIGN_DOWN(n, (size_t)BITS_PER_LONG) + BITS_PER_LONG;
}

void bitmap_set_range(unsigned long *map, size_t first, size_t count)
{
	size_t end = first + count;

	for (; first < end; first = next_word(first))
		map[first / BITS_PER_LONG] |= word_mask(first, end);
}

void bitmap_clear_range(unsigned long *map, size_t first, size_t count)
{
	size_t end = first + count;

	for (; first < end; first = next_word(first))
		map[first / BITS_PER_LONG] &= ~word_mask(first, end);
}

/* The first bit from @from on that is set in map ^ @flip. */
static size_t find_next(const unsigned long *map, size_t size, size_t from,
			unsigned long flip)
{
	for (; from < size; from = next_word(from)) {
		unsigned long word = map[from / BITS_PER_LONG] ^ flip;

		word &= word_mask(from, size);
		if (word)
			return ALIGN_DOWN(from, (size_t)BITS_PER_LONG) +
			       (size_t)__builtin_ctzl(word);
	}
	return size;
}

size_t bitmap_find_next(const unsigned long *map, size_t size, size_t from)
{
	return find_next(map, size, from, 0);
}

size_t bitmap_find_next_zero(const unsigned long *map, size_t size, size_t from)
{
	return find_next(map, size, from, ~0UL);
}

size_t bitmap_find_zero_area(const unsigned long *map, size_t size, size_t from,
			     size_t count, size_t align)
{
	for (;;) {
		size_t first = bitmap_find_next_zero(map, size, from);
		size_t busy;

		first = ALIGN_UP(first, align);
		if (first >= size || count > size - first)
			return size;
		busy = bitmap_find_next(map, first + count, first);
		if (busy == first + count)
			return first;
		from = busy + 1;
	}
}

size_t bitmap_weight(const unsigned long *map, size_t size)
{
	size_t weight = 0;

	for (size_t n = 0; n < size; n = next_word(n))
		weight += popcount64(map[n / BITS_PER_LONG] &
				     word_mask(n, size));
	return weight;
}

unsigned popcount64(u64 word)
{
	/* Sums in fields of 2, 4, then 8 bits; the product adds the bytes. */
	word -= word >> 1 & 0x5555555555555555ULL;
	word = (word & 0x3333333333333333ULL) +
	       (word >> 2 & 0x3333333333333333ULL);
	word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (unsigned)(word * 0x0101010101010101ULL >> 56);
}
