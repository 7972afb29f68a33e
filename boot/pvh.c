// SPDX-License-Identifier: MIT
/*
 * PVH direct boot: the hvm_start_info that `qemu -kernel` and Xen leave, at the
 * address that EBX holds at entry (Xen public/arch-x86/hvm/start_info.h).
 *
 *	 0 u32 magic		16 u64 module list	48 u32 memory map entries
 *	 4 u32 version		24 u64 command line	52 u32 reserved
 *	 8 u32 flags		32 u64 RSDP
 *	12 u32 modules		40 u64 memory map
 *
 * Little-endian; addresses are physical, 0 means that there is none.
 */
#include <kernel/bootinfo.h>
#include <lib/byteorder.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <lib/text.h>

#define START_MAGIC 0x336ec578
#define START_SIZE  56

/* u64 address, u64 size, u64 command line, u64 reserved */
#define MODULE_SIZE 32
#define MODULES_MAX 64

/* u64 address, u64 size, u32 type, u32 reserved */
#define MEMORY_SIZE    24
#define MEMORY_ENTRIES 1024

static int read_or_fail(struct bootinfo *bi, const struct boot_reader *reader,
			phys_t pa, void *buf, size_t n, const char *what)
{
	if (!reader->read(reader, pa, buf, n))
		return 0;
	return bootinfo_fail(bi, -EFAULT, "pvh: cannot read the %s at %#llx",
			     what, pa);
}

static int parse_cmdline(struct bootinfo *bi, const struct boot_reader *reader,
			 phys_t pa)
{
	size_t n = 0;
	int err;

	if (!pa)
		return 0;
	/* A byte at a time: it may end where what can be read ends. */
	do {
		if (n == sizeof(bi->cmdline)) {
			bi->cmdline[0] = '\0';
			return bootinfo_fail(
				bi, -E2BIG,
				"pvh: command line longer than %zu bytes",
				sizeof(bi->cmdline) - 1);
		}
		err = read_or_fail(bi, reader, pa + n, &bi->cmdline[n], 1,
				   "command line");
		if (err) {
			bi->cmdline[n] = '\0';
			return err;
		}
	} while (bi->cmdline[n++]);
	return 0;
}

static int parse_memory_map(struct bootinfo *bi,
			    const struct boot_reader *reader, phys_t pa,
			    u32 count)
{
	u8 entry[MEMORY_SIZE];

	if (!pa || !count)
		return bootinfo_fail(bi, -ENODATA, "pvh: no memory map");
	if (count > MEMORY_ENTRIES)
		return bootinfo_fail(bi, -EINVAL,
				     "pvh: a memory map of %u entries", count);
	for (u32 i = 0; i < count; i++) {
		int err = read_or_fail(bi, reader, pa + i * MEMORY_SIZE, entry,
				       MEMORY_SIZE, "memory map");

		if (!err)
			err = bootinfo_add(
				bi, load_le64(entry), load_le64(entry + 8),
				bootinfo_memory_of_bios(load_le32(entry + 16)));
		if (err)
			return err;
	}
	if (!bootinfo_ram_size(bi))
		return bootinfo_fail(bi, -ENODATA,
				     "pvh: no RAM in the memory map");
	return 0;
}

static int parse_modules(struct bootinfo *bi, const struct boot_reader *reader,
			 phys_t pa, u32 count)
{
	u8 entry[MODULE_SIZE];

	if (count > MODULES_MAX || (count && !pa))
		return bootinfo_fail(bi, -EINVAL,
				     "pvh: a list of %u modules at %#llx",
				     count, pa);
	for (u32 i = 0; i < count; i++) {
		int err = read_or_fail(bi, reader, pa + i * MODULE_SIZE, entry,
				       MODULE_SIZE, "module list");

		if (!err)
			err = bootinfo_add(bi, load_le64(entry),
					   load_le64(entry + 8),
					   BOOTINFO_MODULE);
		if (err)
			return err;
		if (!i) {
			bi->initrd_pa = load_le64(entry);
			bi->initrd_size = load_le64(entry + 8);
		}
	}
	return 0;
}

/* 20 bytes, or 36 from revision 2 on (ACPI 6.4 5.2.5.3). */
static int parse_rsdp(struct bootinfo *bi, const struct boot_reader *reader,
		      phys_t pa)
{
	u32 size = 20;
	int err;

	if (!pa)
		return 0;
	err = read_or_fail(bi, reader, pa, bi->rsdp, size, "RSDP");
	if (!err && bi->rsdp[15] >= 2) {
		size = 36;
		err = read_or_fail(bi, reader, pa, bi->rsdp, size, "RSDP");
	}
	if (!err)
		bi->rsdp_size = size;
	return err;
}

int pvh_parse(struct bootinfo *bi, const struct boot_reader *reader,
	      phys_t start_pa)
{
	u8 start[START_SIZE];
	int err;

	strscpy(bi->protocol, "pvh", sizeof(bi->protocol));
	err = read_or_fail(bi, reader, start_pa, start, START_SIZE,
			   "start info");
	if (err)
		return err;
	if (load_le32(start) != START_MAGIC)
		return bootinfo_fail(bi, -EINVAL,
				     "pvh: no start info at %#llx, but %#x",
				     start_pa, load_le32(start));
	if (load_le32(start + 4) < 1)
		return bootinfo_fail(bi, -EINVAL,
				     "pvh: version 0 has no memory map");

	err = parse_cmdline(bi, reader, load_le64(start + 24));
	if (!err)
		err = parse_memory_map(bi, reader, load_le64(start + 40),
				       load_le32(start + 48));
	if (!err)
		err = parse_modules(bi, reader, load_le64(start + 16),
				    load_le32(start + 12));
	if (!err)
		err = parse_rsdp(bi, reader, load_le64(start + 32));
	return err;
}
