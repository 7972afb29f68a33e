/* SPDX-License-Identifier: MIT */
/*
 * How far the kernel is.
 */
#ifndef SONDE_KERNEL_MAIN_H
#define SONDE_KERNEL_MAIN_H

#include <lib/compiler.h>

enum system_state { SYSTEM_BOOT, SYSTEM_THREADS, SYSTEM_RUNNING, SYSTEM_PANIC };
extern enum system_state system_state;

/* Prints EXIT: status=@status as the last line and leaves QEMU. */
__noreturn void kernel_exit(int status);

#endif
