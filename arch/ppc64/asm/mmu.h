/* SPDX-License-Identifier: MIT */
/*
 * Addresses: see <arch/mmu.h>. The image is the lowest part of the direct map.
 */
#ifndef SONDE_PPC64_ASM_MMU_H
#define SONDE_PPC64_ASM_MMU_H

#define DIRECT_BASE 0xc000000000000000UL
#define VMAP_BASE   0xc008000000000000UL
#define ALIAS_BASE  0xc00a000000000000UL
/*
 * A branch reaches 32 MiB, which is RAM of the direct map: boot.c keeps the
 * frames there from everybody, so that vm_init() leaves a hole.
 */
#define NEAR_BASE	      (DIRECT_BASE + (8UL << 20))
#define NEAR_SIZE	      (22UL << 20)
#define WINDOW_BASE	      NEAR_BASE
#define WINDOW_SIZE	      0UL /* there is none */

#define ARCH_FLUSH_BROADCASTS 1 /* tlbie */

static inline void *phys_to_virt(phys_t pa)
{
	return (void *)(DIRECT_BASE + (unsigned long)pa);
}

static inline phys_t virt_to_phys(const volatile void *va)
{
	return (unsigned long)va - DIRECT_BASE;
}

#endif
