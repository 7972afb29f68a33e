/* SPDX-License-Identifier: MIT */
/*
 * Leaving the machine with a status that QEMU's parent can see. Contract of
 * arch/<A>/poweroff.c. 0 is success; anything else is failure.
 */
#ifndef SONDE_ARCH_POWEROFF_H
#define SONDE_ARCH_POWEROFF_H

#include <lib/compiler.h>

/* Any context, other CPUs in any state. */
__noreturn void arch_poweroff(int status);

#endif
