/* SPDX-License-Identifier: MIT */
/*
 * Loads and stores of a stated byte order at any alignment, the same on both
 * machines. The compiler makes one instruction of each. Any context.
 */
#ifndef SONDE_LIB_BYTEORDER_H
#define SONDE_LIB_BYTEORDER_H

#include <lib/compiler.h>

/* load_le32(p), store_le32(p, v), and so on for le and be, 16, 32 and 64. */
#define BYTEORDER_ACCESS(bits, order, swap)                        \
	static inline u##bits load_##order##bits(const void *p)    \
	{                                                          \
		u##bits v;                                         \
		__builtin_memcpy(&v, p, sizeof(v));                \
		return (u##bits)swap(v);                           \
	}                                                          \
	static inline void store_##order##bits(void *p, u##bits v) \
	{                                                          \
		v = (u##bits)swap(v);                              \
		__builtin_memcpy(p, &v, sizeof(v));                \
	}

#define BYTEORDER_SAME(v) (v)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
BYTEORDER_ACCESS(16, le, BYTEORDER_SAME)
BYTEORDER_ACCESS(32, le, BYTEORDER_SAME)
BYTEORDER_ACCESS(64, le, BYTEORDER_SAME)
BYTEORDER_ACCESS(16, be, __builtin_bswap16)
BYTEORDER_ACCESS(32, be, __builtin_bswap32)
BYTEORDER_ACCESS(64, be, __builtin_bswap64)
#else
BYTEORDER_ACCESS(16, be, BYTEORDER_SAME)
BYTEORDER_ACCESS(32, be, BYTEORDER_SAME)
BYTEORDER_ACCESS(64, be, BYTEORDER_SAME)
BYTEORDER_ACCESS(16, le, __builtin_bswap16)
BYTEORDER_ACCESS(32, le, __builtin_bswap32)
BYTEORDER_ACCESS(64, le, __builtin_bswap64)
#endif

/* Register value <-> the same value as memory of that order holds it. */
static inline u32 cpu_to_be32(u32 v)
{
	return load_be32(&v);
}

static inline u64 cpu_to_be64(u64 v)
{
	return load_be64(&v);
}

#define be32_to_cpu(v) cpu_to_be32(v)
#define be64_to_cpu(v) cpu_to_be64(v)

#endif
