// SPDX-License-Identifier: MIT
/*
 * boot/multiboot2.c on what GRUB really passed, whole and broken.
 */
#include <stdlib.h>
#include <string.h>
#include "../test.h"
#include "firmware.h"
#include "ours.h"
#include <lib/byteorder.h>
#include <lib/errno.h>

#define BIOS_INFO 0x1000e8
#define UEFI_INFO 0x5000

/* The boot information of a captured memory, in an allocation of its size. */
static u8 *load_info(const char *file, phys_t pa, size_t *size)
{
	struct fake_memory *mem = fake_memory_load(file);
	struct piece *piece = fake_memory_at(mem, pa);
	u8 *info = malloc(piece->size);

	memcpy(info, piece->bytes, piece->size);
	*size = piece->size;
	fake_memory_free(mem);
	return info;
}

/* Boot information made by hand. */
struct maker {
	u8 bytes[1024];
	u32 size;
};

static void make_tag(struct maker *m, u32 type, const void *data, u32 size)
{
	if (!m->size)
		m->size = 8;
	store_le32(m->bytes + m->size, type);
	store_le32(m->bytes + m->size + 4, size + 8);
	memcpy(m->bytes + m->size + 8, data, size);
	m->size = ALIGN_UP(m->size + 8 + size, 8U);
	store_le32(m->bytes, m->size);
}

/* One range of RAM. */
static void make_memory(struct maker *m, u64 base, u64 size)
{
	u8 map[8 + 24] = { 24 };

	store_le64(map + 8, base);
	store_le64(map + 16, size);
	map[24] = 1;
	make_tag(m, 6, map, sizeof(map));
}

static int parse(struct bootinfo *bi, const void *info, size_t size)
{
	u8 *exact = malloc(size);
	int err;

	memcpy(exact, info, size);
	err = multiboot2_parse(bi, exact, size);
	free(exact);
	return err;
}

static int finish(struct bootinfo *bi, struct maker *m)
{
	make_tag(m, 0, "", 0);
	return parse(bi, m->bytes, m->size);
}

TEST(multiboot2, what_grub_says_under_seabios_is_understood)
{
	struct bootinfo *bi = bootinfo_fresh();
	size_t size;
	u8 *info = load_info("bios.mem", BIOS_INFO, &size);
	char name[8];

	EXPECT_EQ(parse(bi, info, size), 0);
	EXPECT_STREQ(bi->error, "");
	EXPECT_STREQ(bi->protocol, "multiboot2");
	EXPECT_MEMEQ(bi->loader, "GRUB 2.06", 9);
	EXPECT_STREQ(bi->cmdline, "test=all quiet name=\"a b\" -- probe list");
	EXPECT_EQ(cmdline_get(bi, "name", name, sizeof(name)), 3);
	EXPECT_STREQ(name, "a b");
	EXPECT_STREQ(cmdline_tail(bi), "probe list");
	EXPECT_EQ(bi->initrd_size, 5000);
	EXPECT_EQ(bi->rsdp_size, 20);
	EXPECT_EQ(bootinfo_range_at(bi, bi->initrd_pa)->type, BOOTINFO_MODULE);
	EXPECT_EQ(bootinfo_range_at(bi, 0x200000)->type, BOOTINFO_RAM);
	EXPECT_EQ(bootinfo_range_at(bi, 0xf0000)->type, BOOTINFO_RESERVED);
	EXPECT_EQ(bootinfo_range_at(bi, 0x20000000), NULL);
	EXPECT_GT(bootinfo_ram_size(bi), 250 << 20);
	free(info);
}

TEST(multiboot2, what_grub_says_under_ovmf_is_understood)
{
	struct bootinfo *bi = bootinfo_fresh();
	size_t size;
	u8 *info = load_info("uefi.mem", UEFI_INFO, &size);

	EXPECT_EQ(parse(bi, info, size), 0);
	EXPECT_STREQ(cmdline_tail(bi), "probe list");
	EXPECT_EQ(bi->rsdp_size, 36);
	EXPECT_EQ(bi->rsdp[15], 2);
	EXPECT_EQ(bi->initrd_size, 5000);
	EXPECT_EQ(bootinfo_range_at(bi, 0x806000)->type, BOOTINFO_NVS);
	EXPECT_EQ(bootinfo_range_at(bi, 0xf77c0ec)->type, BOOTINFO_ACPI);
	free(info);
}

TEST(multiboot2, every_truncation_is_refused_with_a_reason)
{
	size_t size;
	u8 *info = load_info("bios.mem", BIOS_INFO, &size);

	for (size_t n = 0; n < size; n++) {
		struct bootinfo *bi = bootinfo_fresh();
		int err = parse(bi, info, n);

		ASSERT_LT(err, 0);
		ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
		if (n < 8)
			continue;
		/* The same with a total size that agrees. */
		bi = bootinfo_fresh();
		store_le32(info, (u32)n);
		err = parse(bi, info, n);
		store_le32(info, (u32)size);
		ASSERT_LT(err, 0);
		ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
	}
	free(info);
}

static void change_every_byte(const char *file, phys_t pa)
{
	static const u8 values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	size_t size;
	u8 *info = load_info(file, pa, &size);

	for (size_t i = 0; i < size; i++) {
		u8 old = info[i];

		for (size_t k = 0; k < ARRAY_SIZE(values) + 8; k++) {
			struct bootinfo *bi = bootinfo_fresh();
			int err;

			info[i] = k < 8 ? old ^ (u8)(1 << k) : values[k - 8];
			err = multiboot2_parse(bi, info, size);
			ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
		}
		info[i] = old;
	}
	free(info);
}

TEST(multiboot2, any_changed_byte_from_seabios_does_no_harm)
{
	change_every_byte("bios.mem", BIOS_INFO);
}

TEST(multiboot2, any_changed_byte_from_ovmf_does_no_harm)
{
	change_every_byte("uefi.mem", UEFI_INFO);
}

TEST(multiboot2, random_damage_does_no_harm)
{
	size_t size;
	u8 *info = load_info("bios.mem", BIOS_INFO, &size);
	u8 *damaged = malloc(size);
	u64 seed = 67;

	for (int i = 0; i < 20000; i++) {
		struct bootinfo *bi = bootinfo_fresh();
		int err;

		memcpy(damaged, info, size);
		for (u64 k = 1 + random_below(&seed, 6); k; k--)
			damaged[random_below(&seed, size)] =
				(u8)random_next(&seed);
		err = multiboot2_parse(bi, damaged, size);
		ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
	}
	free(damaged);
	free(info);
}

TEST(multiboot2, random_bytes_do_no_harm)
{
	u8 bytes[256];
	u64 seed = 71;

	for (int i = 0; i < 50000; i++) {
		struct bootinfo *bi = bootinfo_fresh();
		int err;

		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (u8)(random_below(&seed, 3)
						? 0
						: random_below(&seed, 32));
		store_le32(bytes, sizeof(bytes));
		err = multiboot2_parse(bi, bytes, sizeof(bytes));
		ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
	}
}

TEST(multiboot2, a_tag_past_the_end_is_named_with_its_offset)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct maker m = { 0 };

	make_memory(&m, 0, 0x100000);
	make_tag(&m, 1, "a", 2);
	store_le32(m.bytes + 48 + 4, 0x1000);
	EXPECT_EQ(finish(bi, &m), -EINVAL);
	EXPECT_STREQ(bi->error,
		     "multiboot2: tag 1 runs past the end (offset 48)");
}

TEST(multiboot2, a_tag_shorter_than_its_header_does_not_loop)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct maker m = { 0 };

	make_tag(&m, 99, "", 0);
	store_le32(m.bytes + 8 + 4, 0);
	EXPECT_EQ(finish(bi, &m), -EINVAL);
	EXPECT_STREQ(
		bi->error,
		"multiboot2: tag 99 is shorter than its header (offset 8)");
}

TEST(multiboot2, a_missing_memory_map_is_said)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct maker m = { 0 };

	make_tag(&m, 1, "a", 2);
	EXPECT_EQ(finish(bi, &m), -ENODATA);
	EXPECT_STREQ(bi->error, "multiboot2: no memory map with RAM in it");
}

TEST(multiboot2, a_missing_end_tag_is_said)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct maker m = { 0 };

	make_memory(&m, 0, 0x100000);
	EXPECT_EQ(parse(bi, m.bytes, m.size), -EINVAL);
	EXPECT_STREQ(bi->error, "multiboot2: no end tag in 48 bytes");
}

TEST(multiboot2, a_command_line_without_terminator_is_refused)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct maker m = { 0 };

	make_tag(&m, 1, "abcdefgh", 8);
	EXPECT_EQ(finish(bi, &m), -EINVAL);
	EXPECT_STREQ(bi->error,
		     "multiboot2: the text of tag 1 does not end (offset 8)");
}

TEST(multiboot2, a_module_that_ends_before_it_starts_is_refused)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct maker m = { 0 };
	u8 module[9] = { 0, 0, 2, 0, 0, 0, 1, 0, 0 };

	make_memory(&m, 0, 0x100000);
	make_tag(&m, 3, module, sizeof(module));
	EXPECT_EQ(finish(bi, &m), -EINVAL);
	EXPECT_STREQ(bi->error,
		     "multiboot2: a module ends before it starts (offset 48)");
}

TEST(multiboot2, memory_entries_of_no_size_do_not_loop)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct maker m = { 0 };

	make_memory(&m, 0, 0x100000);
	store_le32(m.bytes + 16, 0);
	EXPECT_EQ(finish(bi, &m), -EINVAL);
	EXPECT_STREQ(bi->error,
		     "multiboot2: memory map entries of 0 bytes (offset 8)");
}

TEST(multiboot2, quoting_is_undone_for_grub_alone)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct maker m = { 0 };
	const char text[] = "a=\\\"b \"c=d e\" -- x \\\\ \\'y\\'";

	make_memory(&m, 0, 0x100000);
	make_tag(&m, 1, text, sizeof(text));
	make_tag(&m, 2, "other", 6);
	EXPECT_EQ(finish(bi, &m), 0);
	EXPECT_STREQ(bi->cmdline, text);

	bi = bootinfo_fresh();
	memset(&m, 0, sizeof(m));
	make_memory(&m, 0, 0x100000);
	make_tag(&m, 1, text, sizeof(text));
	make_tag(&m, 2, "GRUB 2", 7);
	EXPECT_EQ(finish(bi, &m), 0);
	EXPECT_STREQ(bi->cmdline, "a=\"b \"c=d e\" -- x \\ 'y'");
}

TEST(multiboot2, the_new_rsdp_wins_in_either_order)
{
	u8 old[20] = "RSD PTR old", new[36] = "RSD PTR new";

	for (int new_first = 0; new_first < 2; new_first++) {
		struct bootinfo *bi = bootinfo_fresh();
		struct maker m = { 0 };

		make_memory(&m, 0, 0x100000);
		if (new_first)
			make_tag(&m, 15, new, sizeof(new));
		make_tag(&m, 14, old, sizeof(old));
		if (!new_first)
			make_tag(&m, 15, new, sizeof(new));
		EXPECT_EQ(finish(bi, &m), 0);
		EXPECT_EQ(bi->rsdp_size, 36);
		EXPECT_MEMEQ(bi->rsdp, new, 36);
	}
}
