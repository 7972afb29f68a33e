/* SPDX-License-Identifier: MIT */
/*
 * What the firmware told us, in one form for every way of booting. The parsers
 * in boot/ fill a struct bootinfo and copy all they need: the firmware's own
 * structures may be overwritten afterwards.
 *
 * Parsers are pure but for *bi. They read only what they were given, and trust
 * none of it: a wrong or missing piece ends the parse with a negative errno and
 * one line in bi->error that says what and where. They run before paging is as
 * the kernel wants it, on ppc64 even before the kernel is where it was linked:
 * no tables of pointers, no globals. Boot CPU, no locks.
 */
#ifndef SONDE_KERNEL_BOOTINFO_H
#define SONDE_KERNEL_BOOTINFO_H

#include <lib/compiler.h>

#define BOOTINFO_CMDLINE_MAX   2048
#define BOOTINFO_MEMORY_MAX    128
#define BOOTINFO_CPUS_MAX      64
#define BOOTINFO_IOAPICS_MAX   8
#define BOOTINFO_OVERRIDES_MAX 24
#define BOOTINFO_VTYS_MAX      4

/*
 * What a piece of physical memory is. Where two statements overlap the larger
 * value wins, so the order in which they are added does not matter.
 */
enum bootinfo_memory {
	BOOTINFO_RAM,	   /* free for use */
	BOOTINFO_MODULE,   /* a boot module: the initrd */
	BOOTINFO_IMAGE,	   /* the kernel, or taken by it while booting */
	BOOTINFO_ACPI,	   /* ACPI tables */
	BOOTINFO_NVS,	   /* the firmware keeps state in it over a sleep */
	BOOTINFO_RESERVED, /* holes, devices, firmware */
	BOOTINFO_BAD,	   /* RAM that is broken */
};

struct bootinfo_range {
	phys_t base;
	u64 size;
	u32 type; /* enum bootinfo_memory */
};

struct bootinfo_cpu {
	u32 hw_id; /* APIC id; ppc64: interrupt server number */
	bool enabled;
};

struct bootinfo_ioapic {
	u32 id;
	u32 gsi_base;
	phys_t pa;
};

/* An ISA interrupt that is not where it would be (ACPI 6.4 5.2.12.5). */
struct bootinfo_override {
	u8 irq;
	u16 flags; /* bits 0-1 polarity, 2-3 trigger mode; 3 is low, level */
	u32 gsi;
};

/* RTAS calls by token; 0 where the firmware has none. */
struct bootinfo_rtas {
	u32 power_off;
	u32 start_cpu;
	u32 stop_self;
	u32 query_cpu_stopped_state;
	u32 os_term;
	u32 set_xive;
	u32 get_xive;
	u32 int_on;
	u32 int_off;
};

struct bootinfo {
	/* Why a parse failed; empty while nothing is wrong. */
	char error[120];
	/* How we were booted: pvh, multiboot2, openfirmware. */
	char protocol[16];
	/* Who did it, as it calls itself, or empty. */
	char loader[64];
	char cmdline[BOOTINFO_CMDLINE_MAX];

	/* Sorted, not overlapping; neighbours differ in type or do not touch. */
	struct bootinfo_range memory[BOOTINFO_MEMORY_MAX];
	unsigned memory_count;
	/* The first boot module, which is also in memory[]; or size 0. */
	phys_t initrd_pa;
	u64 initrd_size;

	struct bootinfo_cpu cpus[BOOTINFO_CPUS_MAX];
	unsigned cpu_count;
	unsigned cpus_ignored; /* more than fit */
	u32 boot_cpu_hw_id;    /* x86_64: for arch code to set */

	/* x86_64 */
	u8 rsdp[36]; /* a copy, if rsdp_size is not 0 */
	u32 rsdp_size;
	phys_t lapic_pa;
	struct bootinfo_ioapic ioapics[BOOTINFO_IOAPICS_MAX];
	unsigned ioapic_count;
	struct bootinfo_override overrides[BOOTINFO_OVERRIDES_MAX];
	unsigned override_count;
	bool has_8259; /* its lines must be masked */

	/* ppc64 */
	u64 timebase_hz;
	struct bootinfo_rtas rtas;
	u32 vtys[BOOTINFO_VTYS_MAX]; /* unit addresses, stdout's first */
	unsigned vty_count;
	u32 vty_irq; /* interrupt source of vtys[0], or 0 */
};

/*
 * Reads @n bytes of physical memory at @pa to @buf: 0, or -EFAULT if they
 * cannot be read, all or nothing.
 */
struct boot_reader {
	int (*read)(const struct boot_reader *reader, phys_t pa, void *buf,
		    size_t n);
};

/*
 * multiboot2.c: @info is the boot information, of which @limit bytes may be
 * looked at (the structure names its own size, which must not be more). Fills
 * cmdline, memory, initrd, loader and, if there is a tag, rsdp.
 */
int __must_check multiboot2_parse(struct bootinfo *bi, const void *info,
				  size_t limit);

/* pvh.c: the same from the hvm_start_info at @start_pa. */
int __must_check pvh_parse(struct bootinfo *bi,
			   const struct boot_reader *reader, phys_t start_pa);

/*
 * acpi.c: from bi->rsdp, or, if there is none, from one found where a BIOS puts
 * it, to the MADT. Fills cpus, lapic_pa, ioapics, overrides, has_8259.
 */
int __must_check acpi_parse(struct bootinfo *bi,
			    const struct boot_reader *reader);

/*
 * openfirmware.c: calls the firmware's client interface. @call gets the name of
 * a service (IEEE 1275 6.3.2), @nargs arguments in args[], pointers among them,
 * and stores @nret results behind them, each sign-extended from a 32-bit cell.
 * Returns 0, or non-zero if the firmware refused the call as such. Fills
 * everything but the x86_64 part.
 */
struct of_client {
	int (*call)(const struct of_client *client, const char *service,
		    unsigned nargs, unsigned nret, u64 *args);
};

#define OF_ARGS_MAX 8 /* arguments and results together */

int __must_check openfirmware_parse(struct bootinfo *bi,
				    const struct of_client *client);

/* bootinfo.c */

/* Sets bi->error and returns @err. */
int bootinfo_fail(struct bootinfo *bi, int err, const char *fmt, ...)
	__printf(3, 4);

/*
 * States that [base, base + size) is of @type. Where something else was said
 * before, the larger type stays. -EINVAL for a range that wraps round, -ENOSPC
 * if it would take more ranges than fit; bi->error says so.
 */
int __must_check bootinfo_add(struct bootinfo *bi, phys_t base, u64 size,
			      enum bootinfo_memory type);
/* Forgets all memory at or above @limit. */
void bootinfo_clip(struct bootinfo *bi, phys_t limit);
/* The range that holds @pa, or NULL. */
const struct bootinfo_range *bootinfo_range_at(const struct bootinfo *bi,
					       phys_t pa);
/*
 * The lowest @size bytes of RAM at a multiple of @align (a power of two) within
 * [low, high). Does not take them: bootinfo_add(..., BOOTINFO_IMAGE) does.
 * -ENOMEM if there are none.
 */
int __must_check bootinfo_find(const struct bootinfo *bi, u64 size, u64 align,
			       phys_t low, phys_t high, phys_t *base);
u64 bootinfo_ram_size(const struct bootinfo *bi);
const char *bootinfo_memory_name(enum bootinfo_memory type);
/* For the types of the BIOS (ACPI 6.4 15.1), which PVH and Multiboot2 use, too. */
enum bootinfo_memory bootinfo_memory_of_bios(u32 type);

/* Adds a CPU; a second one with its id is -EINVAL, one too many is counted. */
int __must_check bootinfo_add_cpu(struct bootinfo *bi, u32 hw_id, bool enabled);

/* Takes over a command line of at most @n bytes, which may be unterminated. */
int __must_check bootinfo_set_cmdline(struct bootinfo *bi, const char *s,
				      size_t n);

/*
 * The command line is words: `key=value` or `key`; "..." or '...' around all or
 * part of a word keep its spaces. A word -- ends it: what follows is for the
 * monitor.
 *
 * Copies the next word at *@s, which is at first the line itself, and steps
 * behind it. 1, or 0 if there is no more; -E2BIG for a word that was cut, -EINVAL
 * for a quote without its partner.
 */
int cmdline_next(const char **s, char *word, size_t size);
/*
 * Copies the value of the last @key to @buf (at least 1 byte). Returns its
 * length, 0 for a key without value; -ENOENT if it is not there, -E2BIG if it
 * does not fit, -EINVAL for a quote without its partner.
 */
int cmdline_get(const struct bootinfo *bi, const char *key, char *buf,
		size_t size);
bool cmdline_has(const struct bootinfo *bi, const char *key);
/* What follows the word --, without leading spaces; NULL if there is none. */
const char *cmdline_tail(const struct bootinfo *bi);

#endif
