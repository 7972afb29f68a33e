// SPDX-License-Identifier: MIT
/*
 * The C half of booting. boot_firmware() runs where firmware loaded the image,
 * while there is firmware to ask; boot_main() where it was linked, after it was
 * overwritten.
 */
#include <arch/boot.h>
#include <arch/console.h>
#include <arch/cpu.h>
#include <arch/mmu.h>
#include <arch/poweroff.h>
#include <asm/setup.h>
#include <kernel/bootinfo.h>
#include <kernel/image.h>
#include <kernel/percpu.h>
#include <lib/byteorder.h>
#include <lib/printf.h>
#include <lib/string.h>

/* As firmware reads it (IEEE 1275 6.3.1, 32-bit cells). */
struct firmware_args {
	u32 service, nargs, nret, cell[OF_ARGS_MAX];
};

struct firmware {
	struct of_client client;
	u32 entry;
};

static int firmware_call(const struct of_client *client, const char *service,
			 unsigned nargs, unsigned nret, u64 *args)
{
	const struct firmware *fw = container_of(client, struct firmware,
						 client);
	struct firmware_args call = { 0 };

	call.service = cpu_to_be32((u32)(uintptr_t)service);
	call.nargs = cpu_to_be32(nargs);
	call.nret = cpu_to_be32(nret);
	for (unsigned i = 0; i < nargs; i++)
		call.cell[i] = cpu_to_be32((u32)args[i]);
	if (firmware_enter((u32)(uintptr_t)&call, fw->entry))
		return -1;
	for (unsigned i = nargs; i < nargs + nret; i++)
		args[i] = (u64)(s64)(s32)be32_to_cpu(call.cell[i]);
	return 0;
}

/* A failure is in boot_info.error; boot_main() has the means to report it. */
void boot_firmware(unsigned long entry)
{
	struct firmware fw = { { firmware_call }, (u32)entry };

	if (!entry)
		bootinfo_fail(&boot_info, -1,
			      "boot: no Open Firmware entry in r5");
	else if (!openfirmware_parse(&boot_info, &fw.client) &&
		 /* Where we will be; a failure says so in boot_info.error. */
		 !bootinfo_add(&boot_info, 0, __image_end - __image_start,
			       BOOTINFO_IMAGE))
		(void)!bootinfo_add(&boot_info, NEAR_BASE - DIRECT_BASE,
				    NEAR_SIZE, BOOTINFO_RESERVED);
}

static __noreturn void die(const char *why)
{
	char line[sizeof(boot_info.error) + 8];
	size_t n = scnprintf(line, sizeof(line), "%s\n", why);

	arch_console_write(line, n);
	arch_poweroff(1);
}

void boot_main(void)
{
	arch_console_init(&boot_info);
	if (boot_info.error[0])
		die(boot_info.error);
	if (!cpu_has_radix()) {
		bootinfo_fail(&boot_info, -1,
			      "cpu: %s has no radix MMU; use POWER9 or POWER10",
			      arch_cpu_name());
		die(boot_info.error);
	}
	if (mmu_init_boot())
		die("mmu: the hypervisor refused the process table");
	percpu_init_boot();
	for (unsigned i = 0; i < MAX_CPUS; i++)
		__asm__("std 2,%0" : "=m"(cpus[i].toc));
	arch_cpu_init(&cpus[0]);
	kernel_main();
}
