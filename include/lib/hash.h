/* SPDX-License-Identifier: MIT */
/*
 * FNV-1a, 64 bits: tells whether bytes changed. Not against malice. Any context.
 */
#ifndef SONDE_LIB_HASH_H
#define SONDE_LIB_HASH_H

#include <lib/compiler.h>

#define HASH_FNV1A64_INIT 0xcbf29ce484222325ULL

/* Continues from @hash, so that a text can be hashed in pieces. */
static inline u64 hash_fnv1a64(u64 hash, const void *data, size_t n)
{
	const u8 *p = data;

	while (n--)
		hash = (hash ^ *p++) * 0x100000001b3ULL;
	return hash;
}

#endif
