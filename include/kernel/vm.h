/* SPDX-License-Identifier: MIT */
/*
 * The kernel's address space: the final page tables with their protections, the
 * vmap area with guard pages, temporary aliases for patching text.
 */
#ifndef SONDE_KERNEL_VM_H
#define SONDE_KERNEL_VM_H

#include <lib/compiler.h>
#include <arch/mmu.h>

struct bootinfo;

/* Boot CPU, once: builds kernel_pt (text RX, rodata R, data RW-NX) and uses it. */
int __must_check vm_init(const struct bootinfo *bi);

/* vmap.c: its part of vm_init(). */
int __must_check vmap_init(void);

/* Nothing is ever writable and executable, or less than readable. */
static inline bool vm_prot_is_allowed(unsigned prot)
{
	const unsigned wx = VM_WRITE | VM_EXEC;

	return (prot & VM_READ) && (prot & wx) != wx;
}

/*
 * Maps @pages fresh zeroed frames with @prot, an unmapped guard page on either
 * side. NULL when out of memory or if @prot is not allowed. Boot code, and
 * threads with interrupts on: vm_free() waits for other CPUs to flush.
 */
void *vm_alloc(size_t pages, unsigned prot) __must_check;
/* The same where a pc-relative operand reaches the image: for copied code. */
void *vm_alloc_near(size_t pages, unsigned prot) __must_check;
/* @p as returned, or NULL. Unmaps, flushes on all CPUs, frees the frames. */
void vm_free(void *p);
size_t vm_pages_used(void);

/* Changes protection of whole pages inside a vm_alloc()ed area, all CPUs. */
int __must_check vm_protect(void *p, size_t pages, unsigned prot);

/*
 * Single pages outside of all areas, where the caller wants them: the window of
 * probe/window.c. Frames are the caller's. vm_page_map() may fail for want of
 * memory; vm_page_move() keeps the protection; both stay what they are until
 * vm_pages_unmap(), which also frees tables that map nothing any more. The last
 * two wait for other CPUs to flush.
 */
int __must_check vm_page_map(unsigned long va, phys_t pa, unsigned prot);
void vm_page_move(unsigned long va, phys_t pa);
/* At most VM_UNMAP_BATCH. */
#define VM_UNMAP_BATCH 32
void vm_pages_unmap(const unsigned long *va, size_t n);

/* Device registers: uncached mapping at a fresh address. NULL on failure. */
volatile void *vm_map_device(phys_t pa, size_t size);

/*
 * A writable alias of the page that holds @va, at the same offset in its page,
 * on this CPU only. The caller has interrupts off until vm_alias_end(). NULL if
 * @va is not mapped. Never crosses into the next page: callers write page by
 * page.
 */
void *vm_alias_begin(const void *va);
void vm_alias_end(void);

/* Is @addr in a guard page of the vmap area? For reports of stack overflow. */
bool vm_is_guard(unsigned long addr);

/*
 * Looks at every leaf: -EACCES with *bad if one is writable and executable, or
 * if any alias of image text or rodata is writable.
 */
int vm_check_protections(unsigned long *bad);

#endif
