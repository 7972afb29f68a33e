// SPDX-License-Identifier: MIT
/*
 * byteorder.h and hash.h: what the bytes in memory are.
 */
#include "../test.h"
#include <lib/byteorder.h>
#include <lib/hash.h>

TEST(byteorder, loads_and_stores_have_the_stated_order)
{
	u8 raw[9] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 }, out[9] = { 0 };

	EXPECT_EQ(load_be16(raw + 1), 0x0102);
	EXPECT_EQ(load_le16(raw + 1), 0x0201);
	EXPECT_EQ(load_be32(raw + 1), 0x01020304);
	EXPECT_EQ(load_le32(raw + 1), 0x04030201);
	EXPECT_EQ(load_be64(raw + 1), 0x0102030405060708ULL);
	EXPECT_EQ(load_le64(raw + 1), 0x0807060504030201ULL);
	store_be64(out + 1, 0x0102030405060708ULL);
	EXPECT_MEMEQ(out, raw, 9);
	store_le32(out + 1, 0x04030201);
	store_le16(out + 5, 0x0605);
	store_be16(out + 7, 0x0708);
	EXPECT_MEMEQ(out, raw, 9);
	EXPECT_EQ(cpu_to_be32(be32_to_cpu(0x12345678)), 0x12345678);
	EXPECT_EQ(cpu_to_be64(be64_to_cpu(~1ULL)), ~1ULL);
}

TEST(hash, fnv1a_gives_the_published_values)
{
	EXPECT_EQ(hash_fnv1a64(HASH_FNV1A64_INIT, "", 0),
		  0xcbf29ce484222325ULL);
	EXPECT_EQ(hash_fnv1a64(HASH_FNV1A64_INIT, "a", 1),
		  0xaf63dc4c8601ec8cULL);
	EXPECT_EQ(hash_fnv1a64(HASH_FNV1A64_INIT, "foobar", 6),
		  0x85944171f73967e8ULL);
}
