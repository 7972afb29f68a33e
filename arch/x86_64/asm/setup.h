/* SPDX-License-Identifier: MIT */
/*
 * Between boot.S, boot.c and smp.c.
 */
#ifndef SONDE_ASM_SETUP_H
#define SONDE_ASM_SETUP_H

#ifndef __ASSEMBLY__
#include <lib/compiler.h>

/* A page below 1 MiB, or 0 if there was none: boot.c. */
extern phys_t ap_trampoline_pa;

/* The APIC id of this CPU before its APIC is mapped (SDM 2A CPUID.01H:EBX). */
static inline u32 x86_apic_id(void)
{
	u32 a = 1, b, c = 0, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return b >> 24;
}
#endif

#endif
