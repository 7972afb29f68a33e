/* SPDX-License-Identifier: MIT */
#ifndef SONDE_ASM_PROBE_H
#define SONDE_ASM_PROBE_H

/* The longest instruction and a breakpoint behind it. */
#define ARCH_SLOT_SIZE 16

#endif
