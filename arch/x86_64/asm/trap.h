/* SPDX-License-Identifier: MIT */
/*
 * Between trap.c, cpu.c and vectors.S.
 */
#ifndef SONDE_ASM_TRAP_H
#define SONDE_ASM_TRAP_H

/* Entries of the interrupt stack table (SDM 3A 6.14.5). */
#define IST_NMI 1
#define IST_DF	2
#define IST_MC	3

#ifndef __ASSEMBLY__
#include <lib/compiler.h>

/* What LGDT and LIDT load. */
struct table_register {
	u16 limit;
	u64 base;
} __packed;

/* Makes this CPU use the vectors that arch_trap_init() installed. */
void x86_idt_load(void);
#endif

#endif
