/* SPDX-License-Identifier: MIT */
/*
 * How far the kernel is.
 */
#ifndef SONDE_KERNEL_MAIN_H
#define SONDE_KERNEL_MAIN_H

#include <lib/compiler.h>

enum system_state { SYSTEM_BOOT, SYSTEM_THREADS, SYSTEM_RUNNING, SYSTEM_PANIC };
extern enum system_state system_state;

/* One CPU, no threads, interrupts off: there is nobody to wait for. */
static inline bool system_is_booting(void)
{
	return READ_ONCE(system_state) == SYSTEM_BOOT;
}

/* Prints EXIT: status=@status as the last line and leaves QEMU. */
__noreturn void kernel_exit(int status);

#endif
