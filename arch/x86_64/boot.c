// SPDX-License-Identifier: MIT
/*
 * The first C on the boot CPU: console, traps, and what the firmware told us.
 * Runs on boot_stack under the boot page tables, interrupts off.
 *
 * All that can be wrong here is wrong with the machine or its firmware. It ends
 * in one line on the console and a failing exit.
 */
#include <arch/boot.h>

#include <arch/console.h>
#include <arch/cpu.h>
#include <arch/mmu.h>
#include <arch/poweroff.h>
#include <arch/trap.h>
#include <kernel/bootinfo.h>
#include <kernel/percpu.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <asm/setup.h>

#define PVH_MAGIC	 0x336ec578
#define MB2_MAGIC	 0x36d76289

#define BOOT_MAP_SIZE	 (4ULL << 30) /* what boot.S maps */
#define LOW_MEMORY_LIMIT 0x100000

/* A 1 GiB leaf: present, writable, large. */
#define GIB_LEAF    0x83
#define GIB_SHIFT   30
#define TABLE_SLOTS 512

extern u64 boot_pdpt[TABLE_SLOTS];
extern u8 __image_start[], __image_end[];

void boot_main(u32 magic, phys_t info);

static void say(const char *s)
{
	arch_console_write(s, strlen(s));
}

static __noreturn void boot_fail(const char *why)
{
	say("sonde: cannot boot: ");
	say(why[0] ? why : "unknown error");
	say("\r\n");
	arch_poweroff(1);
}

/* The reader for the parsers: what boot.S mapped, and no byte more. */
static int boot_read(const struct boot_reader *reader, phys_t pa, void *buf,
		     size_t n)
{
	(void)reader;
	if (pa > BOOT_MAP_SIZE || n > BOOT_MAP_SIZE - pa)
		return -EFAULT;
	memcpy(buf, phys_to_virt(pa), n);
	return 0;
}

static const struct boot_reader boot_reader = { .read = boot_read };

static int parse(struct bootinfo *bi, u32 magic, phys_t info)
{
	int err;

	if (magic == PVH_MAGIC)
		err = pvh_parse(bi, &boot_reader, info);
	else if (magic == MB2_MAGIC)
		err = multiboot2_parse(bi, phys_to_virt(info),
				       BOOT_MAP_SIZE - info);
	else
		err = bootinfo_fail(bi, -EINVAL,
				    "entered with EAX=%#x: neither PVH nor "
				    "Multiboot2",
				    magic);
	if (err)
		return err;

	return acpi_parse(bi, &boot_reader);
}

/*
 * RAM beyond what boot.S mapped is in the direct map before vm.c's tables are
 * only where the CPU has 1 GiB pages; elsewhere we go without it.
 */
static void map_high_ram(struct bootinfo *bi)
{
	u32 a = 0x80000001, b, c, d;
	u64 i, ram = bootinfo_ram_size(bi);

	__asm__("cpuid" : "+a"(a), "=b"(b), "=c"(c), "=d"(d));
	if (!(d & BIT(26))) {
		bootinfo_clip(bi, BOOT_MAP_SIZE);
		if (bootinfo_ram_size(bi) < ram)
			say("sonde: memory above 4 GiB is not used: this CPU "
			    "has no 1 GiB pages\r\n");
		return;
	}
	for (i = BOOT_MAP_SIZE >> GIB_SHIFT; i < TABLE_SLOTS; i++)
		boot_pdpt[i] = i << GIB_SHIFT | GIB_LEAF;
	bootinfo_clip(bi, (u64)TABLE_SLOTS << GIB_SHIFT);
}

/* Takes the image and a page for smp.c's trampoline out of the free RAM. */
static int reserve(struct bootinfo *bi)
{
	phys_t image = virt_to_phys(__image_start);
	int err;

	err = bootinfo_add(bi, image, __image_end - __image_start,
			   BOOTINFO_IMAGE);
	if (err)
		return err;
	if (bootinfo_find(bi, PAGE_SIZE, PAGE_SIZE, PAGE_SIZE, LOW_MEMORY_LIMIT,
			  &ap_trampoline_pa))
		return 0; /* arch_smp_prepare() will say so, if it matters */
	return bootinfo_add(bi, ap_trampoline_pa, PAGE_SIZE, BOOTINFO_IMAGE);
}

/* From boot.S. */
void boot_main(u32 magic, phys_t info)
{
	struct bootinfo *bi = &boot_info;

	arch_console_init(NULL);
	percpu_init_boot();
	arch_trap_init();
	arch_cpu_init(&cpus[0]);

	if (parse(bi, magic, info))
		boot_fail(bi->error);
	bi->boot_cpu_hw_id = x86_apic_id();
	map_high_ram(bi);
	if (reserve(bi))
		boot_fail(bi->error);

	kernel_main();
}
