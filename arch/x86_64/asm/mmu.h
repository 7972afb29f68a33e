/* SPDX-License-Identifier: MIT */
/*
 * Address arithmetic of <arch/mmu.h>. Both maps stand from the first C
 * instruction on: the boot tables have the direct map too (see boot.S).
 */
#ifndef SONDE_ASM_MMU_H
#define SONDE_ASM_MMU_H

#include <asm/x86.h>

#define DIRECT_BASE 0xffff888000000000UL
#define VMAP_BASE   0xffffc90000000000UL
#define ALIAS_BASE  0xfffffe0000000000UL
/*
 * Below the image, so that stubs everywhere in the window reach the near area
 * with a jmp rel32; not right below it, because small negative displacements are
 * frequent in code, and each names a stub.
 */
#define NEAR_BASE 0xffffffff7c000000UL
#define NEAR_SIZE (32UL << 20)
/* Up there NULL pointers with negative offsets must still fault. */
#define WINDOW_BASE	      0xffffffff00000000UL
#define WINDOW_SIZE	      0xfff00000UL

#define ARCH_FLUSH_BROADCASTS 0 /* INVLPG is local */

static inline void *phys_to_virt(phys_t pa)
{
	return (void *)(pa + DIRECT_BASE);
}

static inline phys_t virt_to_phys(const volatile void *va)
{
	unsigned long a = (unsigned long)va;

	return a >= KERNEL_VMA ? a - KERNEL_VMA : a - DIRECT_BASE;
}

#endif
