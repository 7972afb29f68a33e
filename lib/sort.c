// SPDX-License-Identifier: MIT
/*
 * Heapsort: build a heap with the largest element on top, then move the top
 * behind the heap and repair, until the heap is empty. What is in order already,
 * or in the opposite one, as lists often are, takes one pass.
 */
#include <lib/compiler.h>
#include <lib/sort.h>

static void swap(u8 *a, u8 *b, size_t size)
{
	while (size-- > 0) {
		u8 t = *a;

		*a++ = *b;
		*b++ = t;
	}
}

static void sift_down(u8 *base, size_t root, size_t n, size_t size,
		      int (*compare)(const void *a, const void *b))
{
	for (;;) {
		size_t child = 2 * root + 1;

		if (child >= n)
			return;
		if (child + 1 < n &&
		    compare(base + child * size, base + (child + 1) * size) < 0)
			child++;
		if (compare(base + root * size, base + child * size) >= 0)
			return;
		swap(base + root * size, base + child * size, size);
		root = child;
	}
}

static void reverse(u8 *base, size_t n, size_t size)
{
	for (size_t i = 0; i < n / 2; i++)
		swap(base + i * size, base + (n - 1 - i) * size, size);
}

void sort(void *base, size_t n, size_t size,
	  int (*compare)(const void *a, const void *b))
{
	u8 *at = base;
	size_t up = 1, down = 1; /* how far it goes that way */

	while (up < n && compare(at + (up - 1) * size, at + up * size) <= 0)
		up++;
	while (down < n &&
	       compare(at + (down - 1) * size, at + down * size) >= 0)
		down++;
	if (up >= n)
		return;
	if (down == n) {
		reverse(base, n, size);
		return;
	}
	for (size_t i = n / 2; i > 0; i--)
		sift_down(base, i - 1, n, size, compare);
	for (size_t i = n; i > 1; i--) {
		swap(base, (u8 *)base + (i - 1) * size, size);
		sift_down(base, 0, i - 1, size, compare);
	}
}
