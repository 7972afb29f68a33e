/* SPDX-License-Identifier: MIT */
/*
 * Random numbers for tests: the same in every run and on every machine.
 */
#ifndef SONDE_TESTS_RANDOM_H
#define SONDE_TESTS_RANDOM_H

#include <lib/compiler.h>

/* xorshift64*; @state begins as anything but 0. */
static inline u64 random_next(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

/* 0 .. limit - 1 */
static inline u64 random_below(u64 *state, u64 limit)
{
	return (random_next(state) >> 16) % limit;
}

#endif
