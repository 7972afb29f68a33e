/* SPDX-License-Identifier: MIT */
/*
 * Slots: see <arch/probe.h>. The longest instruction is 8 bytes, a breakpoint
 * follows it, and 16-byte alignment keeps a prefixed copy from crossing a
 * 64-byte boundary, which would be an alignment interrupt (ISA 3.1 I 1.6).
 */
#ifndef SONDE_PPC64_ASM_PROBE_H
#define SONDE_PPC64_ASM_PROBE_H

#define ARCH_STEP_SIZE 16
/* Behind it the relocated form and a branch back. */
#define ARCH_SLOT_SIZE 64

#endif
