// SPDX-License-Identifier: MIT
/*
 * ACPI, as far as it takes to find the CPUs and the interrupt controllers:
 * RSDP -> XSDT or RSDT -> MADT (ACPI 6.4 5.2.5 to 5.2.12). No other table is
 * looked at, and there is no AML.
 *
 *	 0 char signature[4]	 9 u8 checksum: all bytes add up to 0
 *	 4 u32 length		10 who made it
 *	 8 u8 revision		36 the table's own
 *
 * Little-endian. Every length is checked against what holds it, and no table is
 * followed twice, so that no firmware can make this run for ever.
 */
#include <kernel/bootinfo.h>
#include <lib/byteorder.h>
#include <lib/errno.h>
#include <lib/string.h>

#define RSDP_V1_SIZE   20
#define RSDP_V2_SIZE   36

#define TABLE_HEADER   36
#define TABLE_SIZE_MAX 0x100000

/* The MADT: u32 LAPIC address, u32 flags, then entries of u8 type, u8 length. */
#define MADT_ENTRIES   (TABLE_HEADER + 8)
#define MADT_PCAT      1 /* there are 8259s too */
#define LAPIC_ENABLED  1
#define ENTRY_SIZE_MAX 16

struct acpi {
	struct bootinfo *bi;
	const struct boot_reader *reader;
};

struct table {
	char name[5];
	phys_t pa;
	u32 length;
};

static int read_phys(const struct acpi *acpi, phys_t pa, void *buf, size_t n)
{
	return acpi->reader->read(acpi->reader, pa, buf, n);
}

static u8 sum(const u8 *p, size_t n)
{
	u8 total = 0;

	while (n--)
		total += *p++;
	return total;
}

/* The RSDP ------------------------------------------------------------------*/

static bool rsdp_looks_right(const u8 *rsdp)
{
	return !memcmp(rsdp, "RSD PTR ", 8) && !sum(rsdp, RSDP_V1_SIZE);
}

/* Looks for it in [pa, pa + size), at multiples of 16 (ACPI 6.4 5.2.5.1). */
static bool rsdp_scan(struct acpi *acpi, phys_t pa, u32 size)
{
	struct bootinfo *bi = acpi->bi;

	for (phys_t end = pa + size; pa < end; pa += 16) {
		if (read_phys(acpi, pa, bi->rsdp, RSDP_V1_SIZE) ||
		    !rsdp_looks_right(bi->rsdp))
			continue;
		bi->rsdp_size = RSDP_V1_SIZE;
		if (bi->rsdp[15] >= 2 &&
		    !read_phys(acpi, pa, bi->rsdp, RSDP_V2_SIZE))
			bi->rsdp_size = RSDP_V2_SIZE;
		return true;
	}
	return false;
}

static int rsdp_find(struct acpi *acpi)
{
	u8 segment[2]; /* of the extended BIOS data area */

	if (acpi->bi->rsdp_size)
		return 0;
	if (!read_phys(acpi, 0x40e, segment, sizeof(segment)) &&
	    rsdp_scan(acpi, (phys_t)load_le16(segment) << 4, 1024))
		return 0;
	if (rsdp_scan(acpi, 0xe0000, 0x20000))
		return 0;
	return bootinfo_fail(acpi->bi, -ENODEV, "acpi: no RSDP");
}

/* Checks it and says where the root table is and how wide its entries are. */
static int rsdp_parse(struct acpi *acpi, phys_t *root_pa, u32 *width)
{
	struct bootinfo *bi = acpi->bi;
	const u8 *rsdp = bi->rsdp;

	if (bi->rsdp_size < RSDP_V1_SIZE || memcmp(rsdp, "RSD PTR ", 8))
		return bootinfo_fail(bi, -EINVAL, "acpi: the RSDP is not one");
	if (sum(rsdp, RSDP_V1_SIZE))
		return bootinfo_fail(bi, -EINVAL,
				     "acpi: wrong checksum of the RSDP");
	*root_pa = load_le32(rsdp + 16);
	*width = 4;
	if (rsdp[15] >= 2 && bi->rsdp_size >= RSDP_V2_SIZE &&
	    load_le64(rsdp + 24)) {
		if (load_le32(rsdp + 20) != RSDP_V2_SIZE ||
		    sum(rsdp, RSDP_V2_SIZE))
			return bootinfo_fail(
				bi, -EINVAL,
				"acpi: wrong length or checksum of the RSDP");
		*root_pa = load_le64(rsdp + 24);
		*width = 8;
	}
	if (!*root_pa)
		return bootinfo_fail(bi, -EINVAL,
				     "acpi: the RSDP names no root table");
	return 0;
}

/* Tables --------------------------------------------------------------------*/

/* Reads the header at @pa. */
static int table_open(const struct acpi *acpi, phys_t pa, struct table *table)
{
	u8 header[8];
	int err = read_phys(acpi, pa, header, sizeof(header));

	if (err)
		return err;
	memcpy(table->name, header, 4);
	table->name[4] = '\0';
	table->pa = pa;
	table->length = load_le32(header + 4);
	return 0;
}

/* Length and checksum. */
static int table_check(const struct acpi *acpi, const struct table *table,
		       u32 least)
{
	u8 piece[64], total = 0;

	if (table->length < least || table->length > TABLE_SIZE_MAX)
		return bootinfo_fail(acpi->bi, -EINVAL,
				     "acpi: %s at %#llx has %u bytes",
				     table->name, table->pa, table->length);
	for (u32 at = 0; at < table->length; at += sizeof(piece)) {
		u32 n = min(table->length - at, (u32)sizeof(piece));

		if (read_phys(acpi, table->pa + at, piece, n))
			return bootinfo_fail(
				acpi->bi, -EFAULT,
				"acpi: cannot read %s at %#llx to its end",
				table->name, table->pa);
		total += sum(piece, n);
	}
	if (total)
		return bootinfo_fail(acpi->bi, -EINVAL,
				     "acpi: wrong checksum of %s at %#llx",
				     table->name, table->pa);
	return 0;
}

/* Goes through the root table for the MADT. */
static int madt_find(const struct acpi *acpi, phys_t root_pa, u32 width,
		     struct table *madt)
{
	const char *wanted = width == 8 ? "XSDT" : "RSDT";
	struct bootinfo *bi = acpi->bi;
	u32 count, out_of_reach = 0;
	struct table root;
	int err;

	if (table_open(acpi, root_pa, &root))
		return bootinfo_fail(bi, -EFAULT,
				     "acpi: cannot read the %s at %#llx",
				     wanted, root_pa);
	if (memcmp(root.name, wanted, 4))
		return bootinfo_fail(bi, -EINVAL, "acpi: no %s at %#llx",
				     wanted, root_pa);
	err = table_check(acpi, &root, TABLE_HEADER);
	if (err)
		return err;

	count = (root.length - TABLE_HEADER) / width;
	for (u32 i = 0; i < count; i++) {
		u8 entry[8] = { 0 };

		if (read_phys(acpi, root_pa + TABLE_HEADER + i * width, entry,
			      width) ||
		    table_open(acpi, load_le64(entry), madt))
			out_of_reach++;
		else if (!memcmp(madt->name, "APIC", 4))
			return table_check(acpi, madt, MADT_ENTRIES);
	}
	return bootinfo_fail(
		bi, -ENODEV,
		"acpi: no MADT among %u tables, %u of them out of reach", count,
		out_of_reach);
}

/* The MADT ------------------------------------------------------------------*/

static int add_cpu(struct bootinfo *bi, u32 id, u32 flags)
{
	/* Sockets without a CPU are listed too, often all with one id. */
	if (!(flags & LAPIC_ENABLED))
		return 0;
	return bootinfo_add_cpu(bi, id, true);
}

static int add_ioapic(struct bootinfo *bi, const u8 *entry)
{
	struct bootinfo_ioapic *ioapic = &bi->ioapics[bi->ioapic_count];

	if (bi->ioapic_count == BOOTINFO_IOAPICS_MAX)
		return bootinfo_fail(bi, -ENOSPC,
				     "acpi: more than %u I/O APICs",
				     BOOTINFO_IOAPICS_MAX);
	ioapic->id = entry[2];
	ioapic->pa = load_le32(entry + 4);
	ioapic->gsi_base = load_le32(entry + 8);
	bi->ioapic_count++;
	return 0;
}

static int add_override(struct bootinfo *bi, const u8 *entry)
{
	struct bootinfo_override *override = &bi->overrides[bi->override_count];

	if (bi->override_count == BOOTINFO_OVERRIDES_MAX)
		return bootinfo_fail(bi, -ENOSPC,
				     "acpi: more than %u interrupt overrides",
				     BOOTINFO_OVERRIDES_MAX);
	override->irq = entry[3];
	override->gsi = load_le32(entry + 4);
	override->flags = load_le16(entry + 8);
	bi->override_count++;
	return 0;
}

enum madt_type {
	MADT_LAPIC = 0,
	MADT_IOAPIC = 1,
	MADT_OVERRIDE = 2,
	MADT_LAPIC_ADDRESS = 5,
	MADT_X2APIC = 9,
};

/* The size of the entries that matter (ACPI 6.4 5.2.12.2 and on); 2: others. */
static u32 entry_size(u8 type)
{
	switch (type) {
	case MADT_LAPIC:
		return 8;
	case MADT_IOAPIC:
	case MADT_LAPIC_ADDRESS:
		return 12;
	case MADT_OVERRIDE:
		return 10;
	case MADT_X2APIC:
		return 16;
	default:
		return 2;
	}
}

/* @entry holds at least entry_size() bytes. */
static int parse_entry(struct bootinfo *bi, const u8 *entry)
{
	switch (entry[0]) {
	case MADT_LAPIC:
		return add_cpu(bi, entry[3], load_le32(entry + 4));
	case MADT_X2APIC:
		return add_cpu(bi, load_le32(entry + 4), load_le32(entry + 8));
	case MADT_IOAPIC:
		return add_ioapic(bi, entry);
	case MADT_OVERRIDE:
		return add_override(bi, entry);
	case MADT_LAPIC_ADDRESS:
		bi->lapic_pa = load_le64(entry + 4);
		return 0;
	default:
		return 0;
	}
}

static int madt_parse(const struct acpi *acpi, const struct table *madt)
{
	struct bootinfo *bi = acpi->bi;
	u8 entry[ENTRY_SIZE_MAX];
	int err = read_phys(acpi, madt->pa + TABLE_HEADER, entry, 8);

	bi->lapic_pa = load_le32(entry);
	bi->has_8259 = load_le32(entry + 4) & MADT_PCAT;
	for (u32 at = MADT_ENTRIES; !err && at < madt->length; at += entry[1]) {
		u32 left = madt->length - at;

		err = left < 2 ? -EINVAL
			       : read_phys(acpi, madt->pa + at, entry, 2);
		if (err || entry[1] < entry_size(entry[0]) || entry[1] > left)
			return bootinfo_fail(
				bi, -EINVAL,
				"acpi: bad length of a MADT entry (offset %u)",
				at);
		err = read_phys(acpi, madt->pa + at, entry,
				min((u32)entry[1], (u32)ENTRY_SIZE_MAX));
		if (!err)
			err = parse_entry(bi, entry);
	}
	if (err)
		return bi->error[0]
			       ? err
			       : bootinfo_fail(bi, err,
					       "acpi: cannot read the MADT");
	if (!bi->cpu_count)
		return bootinfo_fail(bi, -ENODEV,
				     "acpi: the MADT lists no usable CPU");
	return 0;
}

int acpi_parse(struct bootinfo *bi, const struct boot_reader *reader)
{
	struct acpi acpi = { bi, reader };
	struct table madt;
	phys_t root_pa;
	u32 width;
	int err = rsdp_find(&acpi);

	if (!err)
		err = rsdp_parse(&acpi, &root_pa, &width);
	if (!err)
		err = madt_find(&acpi, root_pa, width, &madt);
	if (!err)
		err = madt_parse(&acpi, &madt);
	return err;
}
