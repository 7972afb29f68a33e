/* SPDX-License-Identifier: MIT */
/*
 * Page tables. Contract of arch/<A>/mmu.c and <asm/mmu.h>.
 *
 * Pages are 4 KiB everywhere kernel text or anything with a protection of its
 * own lives; larger leaves are allowed in the direct map. Nothing is ever
 * writable and executable: arch_mmu_map() refuses (-EINVAL).
 *
 * Address map			x86_64			ppc64 (radix)
 *   image			0xffffffff80100000	0xc000000000000000
 *   direct map of RAM		0xffff888000000000	0xc000000000000000
 *   vmap area (stacks)		0xffffc90000000000	0xc008000000000000
 *   per-CPU alias pages	0xfffffe0000000000	0xc00a000000000000
 *   near area (slots)		0xffffffff7c000000	0xc000000000800000
 *   window (stubs of jumps)	0xffffffff00000000	none
 *
 * <asm/mmu.h> also defines VMAP_BASE, NEAR_BASE and NEAR_SIZE, all multiples of
 * 2 MiB, for vmap.c to hand out: between the near area and the image branches
 * and pc-relative operands reach both ways. The WINDOW_SIZE bytes from
 * WINDOW_BASE on, less the near area and the image, are for probe/window.c.
 */
#ifndef SONDE_ARCH_MMU_H
#define SONDE_ARCH_MMU_H

#include <lib/compiler.h>

#define PAGE_SHIFT 12
#define PAGE_SIZE  (1UL << PAGE_SHIFT)

enum vm_prot {
	VM_NONE = 0,
	VM_READ = BIT(0),
	VM_WRITE = BIT(1),
	VM_EXEC = BIT(2),
	VM_USER = BIT(3),
	VM_DEVICE = BIT(4), /* uncached, guarded */
};

struct page_table {
	phys_t root;
};

extern struct page_table kernel_pt;

/* RAM only; image addresses are understood by virt_to_phys() too. */
static inline void *phys_to_virt(phys_t pa);
static inline phys_t virt_to_phys(const volatile void *va);

struct bootinfo;

/*
 * Boot, before anything else here: empties kernel_pt. Page-table frames come
 * from @alloc (zeroed 4 KiB frames; larger roots by order), which may fail.
 */
int __must_check arch_mmu_init(const struct bootinfo *bi);

/*
 * Maps [va, va+size) to [pa, ...), all page aligned. Splits nothing: mapping
 * over a present page is -EEXIST. -ENOMEM leaves what was mapped so far, the
 * caller unmaps. Takes no lock: vm.c serialises.
 */
int __must_check arch_mmu_map(struct page_table *pt, unsigned long va,
			      phys_t pa, size_t size, unsigned prot);
/* Clears present pages; the caller flushes. Never fails. */
void arch_mmu_unmap(struct page_table *pt, unsigned long va, size_t size);
/* Changes protection of 4 KiB pages. -ENOENT where nothing is mapped. */
int __must_check arch_mmu_protect(struct page_table *pt, unsigned long va,
				  size_t size, unsigned prot);
/*
 * Points the 4 KiB page at @va, which is mapped, at another frame by one store;
 * the caller flushes.
 */
void arch_mmu_move(struct page_table *pt, unsigned long va, phys_t pa);
/*
 * Takes out the table of 4 KiB leaves that covers @va if none of them is
 * present. Returns its frame, to be freed after a flush on all CPUs, or 0.
 */
phys_t arch_mmu_table_take(struct page_table *pt, unsigned long va);
/*
 * What is at @va: 0 and *pa (of @va itself, inside a large leaf too), *prot,
 * *size (leaf size); -ENOENT. Lock-free.
 */
int arch_mmu_lookup(struct page_table *pt, unsigned long va, phys_t *pa,
		    unsigned *prot, size_t *size);
/* Calls @fn for each leaf in address order until it returns non-zero. */
int arch_mmu_walk(struct page_table *pt,
		  int (*fn)(unsigned long va, phys_t pa, size_t size,
			    unsigned prot, void *arg),
		  void *arg);

/* This CPU uses kernel_pt from here on (first switch from the boot tables). */
void arch_mmu_enable(void);

/*
 * Forgets cached translations on this CPU; on all if ARCH_FLUSH_BROADCASTS, a
 * constant of <asm/mmu.h>.
 */
void arch_mmu_flush_local(unsigned long va, size_t size);

/*
 * This CPU's alias page: points it at frame @pa, writable, and flushes it on
 * this CPU. Returns its address. Interrupts off until arch_mmu_alias_clear(),
 * which unmaps it again. No allocation: the tables stand since boot.
 */
void *arch_mmu_alias_set(phys_t pa);
void arch_mmu_alias_clear(void);

#include <asm/mmu.h>

#endif
