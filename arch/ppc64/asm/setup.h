/* SPDX-License-Identifier: MIT */
/*
 * What boot.S, boot.c, mmu.c and smp.c share while CPUs come up.
 */
#ifndef SONDE_PPC64_ASM_SETUP_H
#define SONDE_PPC64_ASM_SETUP_H

#include <lib/compiler.h>

struct cpu;

/* The process that runs while the kernel runs for nobody: nothing is mapped. */
#define PID_NOBODY 1

/* boot.S */
extern const char secondary_entry[];
u32 firmware_enter(u32 args, u32 entry);

/* cpu.c: can this CPU do what we need? */
bool cpu_has_radix(void);

/* boot.c, from boot.S */
void boot_firmware(unsigned long entry);
__noreturn void boot_main(void);

/* smp.c, from boot.S */
__noreturn void secondary_main(struct cpu *cpu);

/*
 * mmu.c: tells the hypervisor where the process table is, and maps all there
 * may be, for boot code to stand on until vm.c is done. -EIO if it will not.
 */
int __must_check mmu_init_boot(void);

#endif
