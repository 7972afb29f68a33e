/* SPDX-License-Identifier: MIT */
/*
 * From firmware to kernel_main(). Contract of arch/<A>/boot.S and boot.c.
 *
 * boot.S enters C on a small static stack with paging as the linker script
 * assumes; boot.c brings up the console, fills boot_info through the parsers in
 * boot/, sets up the boot CPU (arch_cpu_init(&cpus[0])) and calls kernel_main().
 * Anything wrong or missing: one line saying what, then arch_poweroff(1).
 */
#ifndef SONDE_ARCH_BOOT_H
#define SONDE_ARCH_BOOT_H

#include <lib/compiler.h>

struct bootinfo;
extern struct bootinfo boot_info; /* kernel/main.c */

/* The end of that stack, which has THREAD_STACK_SIZE bytes. */
extern char boot_stack_top[];

/* kernel/main.c: interrupts off, boot CPU, static stack. */
__noreturn void kernel_main(void);

#endif
