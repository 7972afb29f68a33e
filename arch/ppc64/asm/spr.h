/* SPDX-License-Identifier: MIT */
/*
 * Special purpose registers that have no name of their own in the assembler,
 * and byte order of what hardware and firmware read from memory.
 */
#ifndef SONDE_PPC64_ASM_SPR_H
#define SONDE_PPC64_ASM_SPR_H

#define SPR_DEC	  22
#define SPR_PID	  48
#define SPR_AMR	  29
#define SPR_SPRG0 272
#define SPR_PVR	  287

#ifndef __ASSEMBLY__
#include <lib/compiler.h>

#define mfspr(n)                                                          \
	({                                                                \
		unsigned long spr_v;                                      \
		__asm__ volatile("mfspr %0," STRINGIFY(n) : "=r"(spr_v)); \
		spr_v;                                                    \
	})
#define mtspr(n, v)                                  \
	__asm__ volatile("mtspr " STRINGIFY(n) ",%0" \
			 :                           \
			 : "r"((unsigned long)(v))   \
			 : "memory")

/* Radix tables and firmware arguments are big-endian whatever we are. */
#ifdef __LITTLE_ENDIAN__
#define be32(v) __builtin_bswap32(v)
#define be64(v) __builtin_bswap64(v)
#else
#define be32(v) ((u32)(v))
#define be64(v) ((u64)(v))
#endif
#endif
#endif
