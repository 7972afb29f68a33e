/* SPDX-License-Identifier: MIT */
#ifndef SONDE_ASM_PROBE_H
#define SONDE_ASM_PROBE_H

/* For a step: the longest instruction and a breakpoint behind it. */
#define ARCH_STEP_SIZE 16
/* Behind it the relocated form and a jump back. */
#define ARCH_SLOT_SIZE 96

#endif
