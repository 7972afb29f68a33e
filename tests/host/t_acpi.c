// SPDX-License-Identifier: MIT
/*
 * boot/acpi.c on captured tables, whole and broken. Broken ones mostly get a
 * right checksum again: else it would be all that is ever tested.
 */
#include <stdlib.h>
#include <string.h>
#include "../test.h"
#include "firmware.h"
#include "ours.h"
#include <lib/byteorder.h>
#include <lib/errno.h>

struct capture {
	const char *file;
	phys_t rsdp; /* 0: at the end of the boot information's tags */
	phys_t root, madt;
};

static const struct capture bios = { "pvh.mem", 0xf59e0, 0xffe2387, 0xffe225b };
static const struct capture uefi = { "uefi.mem", 0, 0xf77c0e8, 0xf777000 };

static void fix_checksum(struct piece *table)
{
	u8 sum = 0;

	table->bytes[9] = 0;
	for (size_t i = 0; i < table->size; i++)
		sum += table->bytes[i];
	table->bytes[9] = (u8)-sum;
}

static struct bootinfo *fresh(const struct capture *c, struct fake_memory *mem)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct piece *info = fake_memory_at(mem, 0x5000);

	if (c->rsdp) {
		memcpy(bi->rsdp, fake_memory_at(mem, c->rsdp)->bytes, 20);
		bi->rsdp_size = 20;
	} else if (multiboot2_parse(bi, info->bytes, info->size)) {
		FAIL("the boot information is broken");
	}
	return bi;
}

static void check_machine(const struct bootinfo *bi)
{
	EXPECT_EQ(bi->cpu_count, 4);
	for (u32 i = 0; i < 4; i++) {
		EXPECT_EQ(bi->cpus[i].hw_id, i);
		EXPECT_TRUE(bi->cpus[i].enabled);
	}
	EXPECT_EQ(bi->lapic_pa, 0xfee00000);
	EXPECT_TRUE(bi->has_8259);
	EXPECT_EQ(bi->ioapic_count, 1);
	EXPECT_EQ(bi->ioapics[0].pa, 0xfec00000);
	EXPECT_EQ(bi->ioapics[0].gsi_base, 0);
	/* The timer's line, and the four PCI lines. */
	EXPECT_EQ(bi->override_count, 5);
	EXPECT_EQ(bi->overrides[0].irq, 0);
	EXPECT_EQ(bi->overrides[0].gsi, 2);
	EXPECT_EQ(bi->overrides[1].irq, 5);
	EXPECT_EQ(bi->overrides[1].flags, 0xd);
}

TEST(acpi, the_tables_of_seabios_are_understood)
{
	struct fake_memory *mem = fake_memory_load(bios.file);
	struct bootinfo *bi = fresh(&bios, mem);

	EXPECT_EQ(acpi_parse(bi, &mem->reader), 0);
	EXPECT_STREQ(bi->error, "");
	check_machine(bi);
	fake_memory_free(mem);
}

TEST(acpi, the_tables_of_ovmf_are_understood)
{
	struct fake_memory *mem = fake_memory_load(uefi.file);
	struct bootinfo *bi = fresh(&uefi, mem);

	EXPECT_EQ(acpi_parse(bi, &mem->reader), 0);
	EXPECT_STREQ(bi->error, "");
	check_machine(bi);
	fake_memory_free(mem);
}

TEST(acpi, the_rsdp_is_found_where_a_bios_puts_it)
{
	struct fake_memory *mem = fake_memory_load(bios.file);
	struct bootinfo *bi = bootinfo_fresh();

	EXPECT_EQ(acpi_parse(bi, &mem->reader), 0);
	check_machine(bi);
	fake_memory_free(mem);
}

TEST(acpi, the_rsdp_is_found_in_the_extended_bios_data_area)
{
	struct fake_memory *mem = fake_memory_load(bios.file);
	struct bootinfo *bi = bootinfo_fresh();
	u8 segment[2] = { 0x00, 0x9f };

	fake_memory_at(mem, bios.rsdp)->pa = 0x9f120;
	EXPECT_EQ(acpi_parse(bi, &mem->reader), -ENODEV);
	EXPECT_STREQ(bi->error, "acpi: no RSDP");
	fake_memory_add(mem, 0x40e, segment, sizeof(segment));
	bi = bootinfo_fresh();
	EXPECT_EQ(acpi_parse(bi, &mem->reader), 0);
	check_machine(bi);
	fake_memory_free(mem);
}

TEST(acpi, a_new_rsdp_found_by_search_leads_to_the_xsdt)
{
	struct fake_memory *mem = fake_memory_load(uefi.file);
	struct bootinfo *bi = fresh(&uefi, mem);
	u8 rsdp[36];

	memcpy(rsdp, bi->rsdp, sizeof(rsdp));
	fake_memory_add(mem, 0xe4560, rsdp, sizeof(rsdp));
	bi = bootinfo_fresh();
	EXPECT_EQ(acpi_parse(bi, &mem->reader), 0);
	EXPECT_EQ(bi->rsdp_size, 36);
	check_machine(bi);
	fake_memory_free(mem);
}

TEST(acpi, an_rsdp_without_root_table_is_refused)
{
	struct fake_memory *mem = fake_memory_new();
	struct bootinfo *bi = bootinfo_fresh();

	memcpy(bi->rsdp, "RSD PTR ", 8);
	for (size_t i = 0; i < 8; i++)
		bi->rsdp[8] -= bi->rsdp[i];
	bi->rsdp_size = 20;
	EXPECT_EQ(acpi_parse(bi, &mem->reader), -EINVAL);
	EXPECT_STREQ(bi->error, "acpi: the RSDP names no root table");
	fake_memory_free(mem);
}

TEST(acpi, any_changed_byte_without_checksum_is_refused)
{
	const phys_t tables[] = { bios.root, bios.madt };
	struct fake_memory *mem = fake_memory_load(bios.file);

	for (size_t t = 0; t < ARRAY_SIZE(tables); t++) {
		struct piece *piece = fake_memory_at(mem, tables[t]);

		for (size_t at = 0; at < piece->size; at++) {
			struct bootinfo *bi = fresh(&bios, mem);
			int err;

			piece->bytes[at] ^= 0x41;
			err = acpi_parse(bi, &mem->reader);
			piece->bytes[at] ^= 0x41;
			ASSERT_LT(err, 0);
			ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
		}
	}
	fake_memory_free(mem);
}

/* Every value of every byte of the RSDP, the root table and the MADT. */
static void change_every_byte(const struct capture *c)
{
	const phys_t tables[] = { c->root, c->madt };
	struct fake_memory *mem = fake_memory_load(c->file);

	for (size_t t = 0; t < ARRAY_SIZE(tables); t++) {
		struct piece *piece = fake_memory_at(mem, tables[t]);

		for (size_t at = 0; at < piece->size; at++) {
			u8 old = piece->bytes[at];

			for (int value = 0; value < 256; value++) {
				struct bootinfo *bi = fresh(c, mem);
				int err;

				piece->bytes[at] = (u8)value;
				fix_checksum(piece);
				err = acpi_parse(bi, &mem->reader);
				ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
			}
			piece->bytes[at] = old;
		}
		fix_checksum(piece);
	}
	fake_memory_free(mem);
}

TEST(acpi, any_changed_byte_from_seabios_does_no_harm)
{
	change_every_byte(&bios);
}

TEST(acpi, any_changed_byte_from_ovmf_does_no_harm)
{
	change_every_byte(&uefi);
}

TEST(acpi, any_changed_byte_of_the_rsdp_is_refused)
{
	const struct capture *captures[] = { &bios, &uefi };

	for (size_t c = 0; c < ARRAY_SIZE(captures); c++) {
		struct fake_memory *mem = fake_memory_load(captures[c]->file);

		for (size_t at = 0; at < fresh(captures[c], mem)->rsdp_size;
		     at++) {
			struct bootinfo *bi = fresh(captures[c], mem);
			int err;

			bi->rsdp[at] ^= 0x10;
			err = acpi_parse(bi, &mem->reader);
			ASSERT_LT(err, 0);
			ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
		}
		fake_memory_free(mem);
	}
}

TEST(acpi, any_truncated_table_is_refused_with_a_reason)
{
	const phys_t tables[] = { bios.root, bios.madt };

	for (size_t t = 0; t < ARRAY_SIZE(tables); t++) {
		struct fake_memory *mem = fake_memory_load(bios.file);
		struct piece *piece = fake_memory_at(mem, tables[t]);

		while (piece->size) {
			struct bootinfo *bi = fresh(&bios, mem);
			int err;

			piece_resize(piece, piece->size - 1);
			err = acpi_parse(bi, &mem->reader);
			ASSERT_LT(err, 0);
			ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
		}
		fake_memory_free(mem);
	}
}

TEST(acpi, any_shorter_table_does_no_harm)
{
	struct fake_memory *mem = fake_memory_load(bios.file);
	struct piece *madt = fake_memory_at(mem, bios.madt);

	/* Length and checksum agree with what is there. */
	while (madt->size > 10) {
		struct bootinfo *bi = fresh(&bios, mem);
		int err;

		piece_resize(madt, madt->size - 1);
		store_le32(madt->bytes + 4, (u32)madt->size);
		fix_checksum(madt);
		err = acpi_parse(bi, &mem->reader);
		ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
		if (madt->size < 52)
			ASSERT_LT(err, 0);
	}
	fake_memory_free(mem);
}

TEST(acpi, random_damage_does_no_harm)
{
	struct fake_memory *mem = fake_memory_load(bios.file);
	struct piece *madt = fake_memory_at(mem, bios.madt);
	u64 seed = 79;
	u8 old[256];

	memcpy(old, madt->bytes, madt->size);
	for (int i = 0; i < 30000; i++) {
		struct bootinfo *bi = fresh(&bios, mem);
		int err;

		for (u64 k = 1 + random_below(&seed, 8); k; k--)
			madt->bytes[36 + random_below(&seed, madt->size - 36)] =
				(u8)random_below(&seed, 20);
		fix_checksum(madt);
		err = acpi_parse(bi, &mem->reader);
		ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
		memcpy(madt->bytes, old, madt->size);
	}
	fake_memory_free(mem);
}

TEST(acpi, a_root_table_that_lists_itself_ends)
{
	struct fake_memory *mem = fake_memory_load(bios.file);
	struct piece *root = fake_memory_at(mem, bios.root);
	struct bootinfo *bi = fresh(&bios, mem);

	for (size_t at = 36; at < root->size; at += 4)
		store_le32(root->bytes + at, (u32)root->pa);
	fix_checksum(root);
	EXPECT_EQ(acpi_parse(bi, &mem->reader), -ENODEV);
	EXPECT_STREQ(bi->error,
		     "acpi: no MADT among 5 tables, 0 of them out of reach");
	fake_memory_free(mem);
}

TEST(acpi, tables_out_of_reach_are_counted)
{
	struct fake_memory *mem = fake_memory_load(bios.file);
	struct piece *root = fake_memory_at(mem, bios.root);
	struct bootinfo *bi = fresh(&bios, mem);

	for (size_t at = 36; at < root->size; at += 4)
		store_le32(root->bytes + at, 0xdead0000);
	fix_checksum(root);
	EXPECT_EQ(acpi_parse(bi, &mem->reader), -ENODEV);
	EXPECT_STREQ(bi->error,
		     "acpi: no MADT among 5 tables, 5 of them out of reach");
	fake_memory_free(mem);
}

/* Tables made by hand: an RSDP, an RSDT and a MADT with these entries. */
static int parse_entries(struct bootinfo *bi, const u8 *entries, size_t size)
{
	struct fake_memory *mem = fake_memory_load(bios.file);
	struct piece *madt = fake_memory_at(mem, bios.madt);
	int err;

	memcpy(bi->rsdp, fake_memory_at(mem, bios.rsdp)->bytes, 20);
	bi->rsdp_size = 20;
	piece_resize(madt, 44 + size);
	memcpy(madt->bytes + 44, entries, size);
	store_le32(madt->bytes + 4, (u32)madt->size);
	fix_checksum(madt);
	err = acpi_parse(bi, &mem->reader);
	fake_memory_free(mem);
	return err;
}

TEST(acpi, an_entry_without_length_does_not_loop)
{
	static const u8 entries[] = { 0, 8, 0, 7, 1, 0, 0, 0, 77, 0, 1, 1 };
	struct bootinfo *bi = bootinfo_fresh();

	EXPECT_EQ(parse_entries(bi, entries, sizeof(entries)), -EINVAL);
	EXPECT_STREQ(bi->error, "acpi: bad length of a MADT entry (offset 52)");
}

TEST(acpi, an_entry_past_the_end_is_refused)
{
	static const u8 entries[] = { 0, 9, 0, 7, 1, 0, 0, 0 };
	struct bootinfo *bi = bootinfo_fresh();

	EXPECT_EQ(parse_entries(bi, entries, sizeof(entries)), -EINVAL);
	EXPECT_STREQ(bi->error, "acpi: bad length of a MADT entry (offset 44)");
}

TEST(acpi, disabled_cpus_are_left_out)
{
	static const u8 entries[] = {
		0, 8, 0, 7,    1, 0, 0, 0, /* enabled */
		0, 8, 1, 0xff, 0, 0, 0, 0, /* empty sockets share an id */
		0, 8, 2, 0xff, 0, 0, 0, 0,
	};
	struct bootinfo *bi = bootinfo_fresh();

	EXPECT_EQ(parse_entries(bi, entries, sizeof(entries)), 0);
	EXPECT_EQ(bi->cpu_count, 1);
	EXPECT_EQ(bi->cpus[0].hw_id, 7);
}

TEST(acpi, x2apic_entries_and_a_64_bit_lapic_address_are_understood)
{
	static const u8 entries[] = {
		9,  16, 0, 0, 0x34, 0x12, 0,	0,    1, 0, 0, 0,
		0,  0,	0, 0,					  /* */
		5,  12, 0, 0, 0x00, 0xf0, 0xee, 0xfe, 2, 0, 0, 0, /* */
		77, 3,	9,					  /* unknown */
	};
	struct bootinfo *bi = bootinfo_fresh();

	EXPECT_EQ(parse_entries(bi, entries, sizeof(entries)), 0);
	EXPECT_EQ(bi->cpu_count, 1);
	EXPECT_EQ(bi->cpus[0].hw_id, 0x1234);
	EXPECT_EQ(bi->lapic_pa, 0x2feeef000ULL);
}

TEST(acpi, no_cpu_at_all_is_said)
{
	struct bootinfo *bi = bootinfo_fresh();

	EXPECT_EQ(parse_entries(bi, (const u8 *)"", 0), -ENODEV);
	EXPECT_STREQ(bi->error, "acpi: the MADT lists no usable CPU");
}

TEST(acpi, more_ioapics_than_fit_are_refused)
{
	struct bootinfo *bi = bootinfo_fresh();
	u8 entries[12 * 9] = { 0 };

	for (size_t at = 0; at < sizeof(entries); at += 12) {
		entries[at] = 1;
		entries[at + 1] = 12;
	}
	EXPECT_EQ(parse_entries(bi, entries, sizeof(entries)), -ENOSPC);
	EXPECT_STREQ(bi->error, "acpi: more than 8 I/O APICs");
}

TEST(acpi, more_overrides_than_fit_are_refused)
{
	struct bootinfo *bi = bootinfo_fresh();
	u8 entries[10 * 25] = { 0 };

	for (size_t at = 0; at < sizeof(entries); at += 10) {
		entries[at] = 2;
		entries[at + 1] = 10;
	}
	EXPECT_EQ(parse_entries(bi, entries, sizeof(entries)), -ENOSPC);
	EXPECT_STREQ(bi->error, "acpi: more than 24 interrupt overrides");
}

TEST(acpi, two_cpus_with_one_id_are_refused)
{
	static const u8 entries[] = {
		0, 8, 0, 7, 1, 0, 0, 0, /* */
		0, 8, 1, 7, 1, 0, 0, 0,
	};
	struct bootinfo *bi = bootinfo_fresh();

	EXPECT_EQ(parse_entries(bi, entries, sizeof(entries)), -EINVAL);
	EXPECT_STREQ(bi->error, "cpus: two have the id 7");
}
