/* SPDX-License-Identifier: MIT */
/*
 * Instructions that may fault, and where to go on if they do. Entries are two
 * 32-bit offsets relative to themselves, made by EXTABLE in asm:
 *
 *	.pushsection extable, "a"; .long insn - ., fixup - .; .popsection
 */
#ifndef SONDE_KERNEL_EXTABLE_H
#define SONDE_KERNEL_EXTABLE_H

#ifdef __ASSEMBLY__
#define EXTABLE(insn, fixup)       \
	.pushsection extable, "a"; \
	.balign 4;                 \
	.long insn -.;             \
	.long fixup -.;            \
	.popsection
#else
#include <lib/compiler.h>

/* Sorts the table. Boot CPU, before anything may fault. */
void extable_init(void);
/* Fix-up address for a fault at @pc, or 0. Any context; no-probe. */
unsigned long extable_find(unsigned long pc);

void extable_each_fixup(void (*fn)(unsigned long fixup));

/* Fault-safe access to any address: 0 or -EFAULT. Any context. */
int __must_check peek(void *dst, const void *src, size_t n);
int __must_check poke(void *dst, const void *src, size_t n);
#endif
#endif
