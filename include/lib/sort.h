/* SPDX-License-Identifier: MIT */
/*
 * Sorting in place: heapsort, so no memory, no recursion, no bad case.
 */
#ifndef SONDE_LIB_SORT_H
#define SONDE_LIB_SORT_H

#include <lib/types.h>

/* @compare: < 0, 0, > 0 like memcmp(). Equal elements may change places. */
void sort(void *base, size_t n, size_t size,
	  int (*compare)(const void *a, const void *b));

#endif
