// SPDX-License-Identifier: MIT
/*
 * boot/pvh.c on what `qemu -kernel` really left in memory, whole and broken.
 */
#include <stdlib.h>
#include <string.h>
#include "../test.h"
#include "firmware.h"
#include "ours.h"
#include <lib/byteorder.h>
#include <lib/errno.h>

#define START 0x21e0

static int parse(struct bootinfo *bi, struct fake_memory *mem)
{
	return pvh_parse(bi, &mem->reader, START);
}

TEST(pvh, what_qemu_says_is_understood)
{
	struct fake_memory *mem = fake_memory_load("pvh.mem");
	struct bootinfo *bi = bootinfo_fresh();

	EXPECT_EQ(parse(bi, mem), 0);
	EXPECT_STREQ(bi->error, "");
	EXPECT_STREQ(bi->protocol, "pvh");
	EXPECT_STREQ(bi->cmdline, "test=all quiet -- probe list");
	EXPECT_EQ(bi->initrd_size, 5000);
	EXPECT_EQ(bootinfo_range_at(bi, bi->initrd_pa)->type, BOOTINFO_MODULE);
	EXPECT_EQ(bootinfo_range_at(bi, 0x200000)->type, BOOTINFO_RAM);
	EXPECT_EQ(bootinfo_range_at(bi, 0xffe225b)->type, BOOTINFO_RESERVED);
	EXPECT_GT(bootinfo_ram_size(bi), 250 << 20);
	EXPECT_EQ(bi->rsdp_size, 20);
	EXPECT_MEMEQ(bi->rsdp, "RSD PTR ", 8);
	fake_memory_free(mem);
}

TEST(pvh, any_changed_byte_does_no_harm)
{
	struct fake_memory *mem = fake_memory_load("pvh.mem");

	for (unsigned i = 0; i < mem->count; i++) {
		struct piece *piece = &mem->pieces[i];

		for (size_t at = 0; at < piece->size; at++) {
			u8 old = piece->bytes[at];

			for (int value = 0; value < 256; value++) {
				struct bootinfo *bi = bootinfo_fresh();
				int err;

				piece->bytes[at] = (u8)value;
				err = parse(bi, mem);
				ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
			}
			piece->bytes[at] = old;
		}
	}
	fake_memory_free(mem);
}

TEST(pvh, any_truncated_piece_is_refused_with_a_reason)
{
	/* Start info, command line, memory map, modules, RSDP. */
	static const phys_t used[] = { START, 0x11c0, 0x5a8, 0x21c0, 0xf59e0 };

	for (size_t i = 0; i < ARRAY_SIZE(used); i++) {
		struct fake_memory *mem = fake_memory_load("pvh.mem");
		struct piece *piece = fake_memory_at(mem, used[i]);

		while (piece->size) {
			struct bootinfo *bi = bootinfo_fresh();
			int err;

			piece_resize(piece, piece->size - 1);
			err = parse(bi, mem);
			ASSERT_EQ(err, -EFAULT);
			ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
		}
		fake_memory_free(mem);
	}
}

TEST(pvh, random_damage_does_no_harm)
{
	struct fake_memory *mem = fake_memory_load("pvh.mem");
	struct piece *start = fake_memory_at(mem, START);
	struct piece *map = fake_memory_at(mem, 0x5a8);
	u64 seed = 73;

	for (int i = 0; i < 20000; i++) {
		struct bootinfo *bi = bootinfo_fresh();
		u8 old_start[56], old_map[216];
		int err;

		memcpy(old_start, start->bytes, sizeof(old_start));
		memcpy(old_map, map->bytes, sizeof(old_map));
		start->bytes[8 + random_below(&seed, 48)] =
			(u8)random_next(&seed);
		for (u64 k = random_below(&seed, 6); k; k--)
			map->bytes[random_below(&seed, sizeof(old_map))] =
				(u8)random_next(&seed);
		err = parse(bi, mem);
		ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
		memcpy(start->bytes, old_start, sizeof(old_start));
		memcpy(map->bytes, old_map, sizeof(old_map));
	}
	fake_memory_free(mem);
}

/* Parses with one field of the start info changed. */
static struct bootinfo *with_field(size_t at, size_t size, u64 value,
				   int wanted)
{
	struct fake_memory *mem = fake_memory_load("pvh.mem");
	struct bootinfo *bi = bootinfo_fresh();
	u8 *field = fake_memory_at(mem, START)->bytes + at;

	if (size == 4)
		store_le32(field, (u32)value);
	else
		store_le64(field, value);
	EXPECT_EQ(parse(bi, mem), wanted);
	EXPECT_STREQ(bootinfo_unsound(bi, wanted), NULL);
	fake_memory_free(mem);
	return bi;
}

TEST(pvh, a_wrong_magic_number_is_shown)
{
	EXPECT_STREQ(with_field(0, 4, 0x12345678, -EINVAL)->error,
		     "pvh: no start info at 0x21e0, but 0x12345678");
}

TEST(pvh, version_0_is_refused)
{
	EXPECT_STREQ(with_field(4, 4, 0, -EINVAL)->error,
		     "pvh: version 0 has no memory map");
}

TEST(pvh, a_missing_memory_map_is_said)
{
	EXPECT_STREQ(with_field(40, 8, 0, -ENODATA)->error,
		     "pvh: no memory map");
	EXPECT_STREQ(with_field(48, 4, 0, -ENODATA)->error,
		     "pvh: no memory map");
}

TEST(pvh, absurd_counts_are_refused)
{
	EXPECT_STREQ(with_field(48, 4, ~0U, -EINVAL)->error,
		     "pvh: a memory map of 4294967295 entries");
	EXPECT_STREQ(with_field(12, 4, 1000, -EINVAL)->error,
		     "pvh: a list of 1000 modules at 0x21c0");
}

TEST(pvh, what_cannot_be_read_is_named)
{
	EXPECT_STREQ(with_field(40, 8, 0x123456789000ULL, -EFAULT)->error,
		     "pvh: cannot read the memory map at 0x123456789000");
	EXPECT_STREQ(with_field(24, 8, ~0ULL, -EFAULT)->error,
		     "pvh: cannot read the command line at 0xffffffffffffffff");
}

TEST(pvh, command_line_and_rsdp_may_be_missing)
{
	EXPECT_STREQ(with_field(24, 8, 0, 0)->cmdline, "");
	EXPECT_EQ(with_field(32, 8, 0, 0)->rsdp_size, 0);
}

TEST(pvh, a_command_line_that_is_too_long_is_refused)
{
	struct fake_memory *mem = fake_memory_load("pvh.mem");
	struct bootinfo *bi = bootinfo_fresh();
	struct piece *piece = fake_memory_at(mem, 0x11c0);

	piece_resize(piece, 3000);
	memset(piece->bytes, 'x', 3000);
	piece->pa = 0x100000;
	store_le64(fake_memory_at(mem, START)->bytes + 24, 0x100000);
	EXPECT_EQ(parse(bi, mem), -E2BIG);
	EXPECT_STREQ(bi->error, "pvh: command line longer than 2047 bytes");
	piece->bytes[2047] = '\0';
	bi = bootinfo_fresh();
	EXPECT_EQ(parse(bi, mem), 0);
	EXPECT_EQ(strlen(bi->cmdline), 2047);
	fake_memory_free(mem);
}
