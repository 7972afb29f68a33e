// SPDX-License-Identifier: MIT
/*
 * The vmap and near areas: addresses for stacks, slots and devices.
 *
 * An area is cut into pages, each with one byte of state:
 *
 *	FREE FREE GUARD FIRST NEXT NEXT GUARD GUARD FIRST GUARD FREE ...
 *
 * A page leaves FREE only under vmap_lock, and becomes FREE again only after all
 * CPUs have forgotten what was mapped there. vm_is_guard() reads single bytes
 * without the lock, for reports from any context. All tables of the areas are
 * made at boot, so that later only leaves change and mapping costs no frames but
 * those that are asked for.
 *
 * vmap_lock (RANK_VM) protects the states and the areas' leaves in kernel_pt.
 * Nobody waits for other CPUs with it held.
 */
#include <kernel/vm.h>
#include <arch/cpu.h>
#include <kernel/frames.h>
#include <kernel/image.h>
#include <kernel/lock.h>
#include <kernel/panic.h>
#include <kernel/smp.h>
#include <lib/errno.h>
#include <lib/string.h>

#define VMAP_PAGES (128UL << (20 - PAGE_SHIFT))
#define NEAR_PAGES (NEAR_SIZE >> PAGE_SHIFT)
/* What one table of leaves covers on either machine. */
#define TABLE_SPAN (2UL << 20)
/* And one of those. */
#define UPPER_SPAN (1UL << 30)

enum page_state { PAGE_FREE, PAGE_GUARD, PAGE_FIRST, PAGE_NEXT };

struct area {
	unsigned long base;
	size_t pages;
	u8 *states;
	size_t *low; /* no page below it is free */
};

static u8 vmap_states[VMAP_PAGES], near_states[NEAR_PAGES];
static size_t vmap_low, near_low;
static const struct area areas[] = {
	{ VMAP_BASE, VMAP_PAGES, vmap_states, &vmap_low },
	{ NEAR_BASE, NEAR_PAGES, near_states, &near_low },
};
#define VMAP_AREA (&areas[0])
#define NEAR_AREA (&areas[1])

static struct spinlock vmap_lock = SPINLOCK("vmap", RANK_VM);
static size_t pages_used;

/* Makes the tables for @va by mapping something there once. */
static int make_tables(unsigned long va)
{
	int err = arch_mmu_map(&kernel_pt, va, virt_to_phys(__rodata_start),
			       PAGE_SIZE, VM_READ);

	if (!err)
		arch_mmu_unmap(&kernel_pt, va, PAGE_SIZE);
	return err;
}

static int area_prepare(const struct area *area)
{
	unsigned long end = area->base + (area->pages << PAGE_SHIFT);
	int err = 0;

	for (unsigned long va = area->base; va < end && !err; va += TABLE_SPAN)
		err = make_tables(va);
	return err;
}

/* Only the upper ones for the window, which is large and may stay empty. */
static int window_prepare(void)
{
	for (size_t n = DIV_ROUND_UP(WINDOW_SIZE, UPPER_SPAN); n-- > 0;) {
		unsigned long va = WINDOW_BASE + n * UPPER_SPAN;
		phys_t table;
		int err = make_tables(va);

		if (err)
			return err;
		table = arch_mmu_table_take(&kernel_pt, va);
		if (table)
			frame_free(table, 0);
	}
	return 0;
}

int vmap_init(void)
{
	int err = area_prepare(VMAP_AREA);

	if (!err)
		err = area_prepare(NEAR_AREA);
	return err ? err : window_prepare();
}

/* Areas ---------------------------------------------------------------------*/

/* The area that holds @va and the index of its page there, or NULL. */
static const struct area *area_of(unsigned long va, size_t *index)
{
	for (size_t i = 0; i < ARRAY_SIZE(areas); i++) {
		*index = (va - areas[i].base) >> PAGE_SHIFT;
		if (*index < areas[i].pages)
			return &areas[i];
	}
	return NULL;
}

static unsigned long page_va(const struct area *area, size_t index)
{
	return area->base + (index << PAGE_SHIFT);
}

/* Pages from @index to the end of what was allocated together. */
static size_t pages_from(const struct area *area, size_t index)
{
	size_t n = 1;

	while (area->states[index + n] == PAGE_NEXT)
		n++;
	return n;
}

/* Takes the lowest @pages free pages and two for guards. 0: none left. */
static size_t area_reserve(const struct area *area, size_t pages)
{
	size_t run = 0, first = 0;
	unsigned long flags;

	flags = spin_lock_irqsave(&vmap_lock);
	for (size_t i = *area->low; i < area->pages && !first; i++) {
		run = area->states[i] == PAGE_FREE ? run + 1 : 0;
		if (run == pages + 2)
			first = i - pages;
	}
	if (first) {
		if (first - 1 == *area->low)
			*area->low = first + pages + 1;
		memset(area->states + first, PAGE_NEXT, pages);
		area->states[first] = PAGE_FIRST;
		area->states[first - 1] = PAGE_GUARD;
		area->states[first + pages] = PAGE_GUARD;
	}
	spin_unlock_irqrestore(&vmap_lock, flags);
	return first;
}

/* The reverse, when nothing is mapped there any more on any CPU. */
static void area_release(const struct area *area, size_t first, size_t pages)
{
	unsigned long flags = spin_lock_irqsave(&vmap_lock);

	memset(area->states + first - 1, PAGE_FREE, pages + 2);
	*area->low = min(*area->low, first - 1);
	spin_unlock_irqrestore(&vmap_lock, flags);
}

/* Mapping and unmapping -----------------------------------------------------*/

struct va_range {
	unsigned long va;
	size_t size;
};

static void flush_one_cpu(void *arg)
{
	const struct va_range *range = arg;

	arch_mmu_flush_local(range->va, range->size);
}

/*
 * While there is one CPU only, interrupts may be off. One that comes online after
 * the look started with the tables as they are now, since the look comes after
 * the stores to them.
 */
static void flush_all(unsigned long va, size_t size)
{
	struct va_range range = { va, size };

	smp_mb();
	if (ARCH_FLUSH_BROADCASTS || smp_online() < 2)
		arch_mmu_flush_local(va, size);
	else
		smp_call_all(flush_one_cpu, &range);
}

static int map_page(unsigned long va, phys_t pa, unsigned prot)
{
	int err;
	unsigned long flags;

	flags = spin_lock_irqsave(&vmap_lock);
	err = arch_mmu_map(&kernel_pt, va, pa, PAGE_SIZE, prot);
	if (!err)
		pages_used++;
	spin_unlock_irqrestore(&vmap_lock, flags);
	return err;
}

/* Unmaps @n pages and frees their frames; @n at most VM_UNMAP_BATCH. */
static void unmap_batch(unsigned long va, size_t n)
{
	phys_t pa[VM_UNMAP_BATCH];
	unsigned long flags;

	flags = spin_lock_irqsave(&vmap_lock);
	for (size_t i = 0; i < n; i++) {
		unsigned prot;
		size_t size;
		int err = arch_mmu_lookup(&kernel_pt, va + (i << PAGE_SHIFT),
					  &pa[i], &prot, &size);

		ASSERT(!err && size == PAGE_SIZE);
	}
	arch_mmu_unmap(&kernel_pt, va, n << PAGE_SHIFT);
	pages_used -= n;
	spin_unlock_irqrestore(&vmap_lock, flags);
	/* Nobody may reach a frame any more before others can get it. */
	flush_all(va, n << PAGE_SHIFT);
	for (size_t i = 0; i < n; i++)
		frame_free(pa[i], 0);
}

static void unmap_pages(unsigned long va, size_t n)
{
	while (n) {
		size_t batch = min(n, (size_t)VM_UNMAP_BATCH);

		unmap_batch(va, batch);
		va += batch << PAGE_SHIFT;
		n -= batch;
	}
}

static void *alloc_in(const struct area *area, size_t pages, unsigned prot)
{
	size_t first, mapped;
	unsigned long va;

	if (!pages || pages > area->pages || !vm_prot_is_allowed(prot))
		return NULL;
	first = area_reserve(area, pages);
	if (!first)
		return NULL;
	va = page_va(area, first);
	for (mapped = 0; mapped < pages; mapped++) {
		phys_t pa = frame_alloc_zero(0);

		if (!pa)
			break;
		if (map_page(va + (mapped << PAGE_SHIFT), pa, prot)) {
			frame_free(pa, 0);
			break;
		}
	}
	if (mapped == pages)
		return (void *)va;
	unmap_pages(va, mapped);
	area_release(area, first, pages);
	return NULL;
}

void *vm_alloc(size_t pages, unsigned prot)
{
	return alloc_in(VMAP_AREA, pages, prot);
}

void *vm_alloc_near(size_t pages, unsigned prot)
{
	return alloc_in(NEAR_AREA, pages, prot);
}

void vm_free(void *p)
{
	const struct area *area;
	size_t first, pages = 0;
	unsigned long flags;

	if (!p)
		return;
	area = area_of((unsigned long)p, &first);
	flags = spin_lock_irqsave(&vmap_lock);
	if (area && area->states[first] == PAGE_FIRST) {
		pages = pages_from(area, first);
		/* No second vm_free() finds it, and nobody gets it yet. */
		memset(area->states + first, PAGE_GUARD, pages);
	}
	spin_unlock_irqrestore(&vmap_lock, flags);
	if (!pages || page_va(area, first) != (unsigned long)p)
		panic("vm_free(%p): not allocated, or already free", p);
	unmap_pages(page_va(area, first), pages);
	area_release(area, first, pages);
}

size_t vm_pages_used(void)
{
	return READ_ONCE(pages_used);
}

int vm_protect(void *p, size_t pages, unsigned prot)
{
	unsigned long va = (unsigned long)p;
	const struct area *area;
	size_t first;
	int err = -EINVAL;
	unsigned long flags;

	area = area_of(va, &first);
	if (!area || !pages || !IS_ALIGNED(va, PAGE_SIZE) ||
	    !vm_prot_is_allowed(prot))
		return -EINVAL;
	flags = spin_lock_irqsave(&vmap_lock);
	if (area->states[first] >= PAGE_FIRST &&
	    pages <= pages_from(area, first))
		err = arch_mmu_protect(&kernel_pt, va, pages << PAGE_SHIFT,
				       prot);
	spin_unlock_irqrestore(&vmap_lock, flags);
	if (!err)
		flush_all(va, pages << PAGE_SHIFT);
	return err;
}

/* Single pages --------------------------------------------------------------*/

int vm_page_map(unsigned long va, phys_t pa, unsigned prot)
{
	return vm_prot_is_allowed(prot) ? map_page(va, pa, prot) : -EINVAL;
}

void vm_page_move(unsigned long va, phys_t pa)
{
	unsigned long flags = spin_lock_irqsave(&vmap_lock);

	arch_mmu_move(&kernel_pt, va, pa);
	spin_unlock_irqrestore(&vmap_lock, flags);
	flush_all(va, PAGE_SIZE);
}

struct pages_flush {
	const unsigned long *va;
	size_t n;
};

static void flush_list(void *arg)
{
	const struct pages_flush *list = arg;

	for (size_t i = 0; i < list->n; i++)
		arch_mmu_flush_local(list->va[i], PAGE_SIZE);
}

void vm_pages_unmap(const unsigned long *va, size_t n)
{
	struct pages_flush list = { va, n };
	phys_t tables[VM_UNMAP_BATCH];
	unsigned long flags;

	ASSERT(n <= VM_UNMAP_BATCH);
	flags = spin_lock_irqsave(&vmap_lock);
	for (size_t i = 0; i < n; i++)
		arch_mmu_unmap(&kernel_pt, va[i], PAGE_SIZE);
	for (size_t i = 0; i < n; i++)
		tables[i] = arch_mmu_table_take(&kernel_pt, va[i]);
	pages_used -= n;
	spin_unlock_irqrestore(&vmap_lock, flags);
	smp_mb();
	smp_call_all(flush_list, &list);
	for (size_t i = 0; i < n; i++) {
		if (tables[i])
			frame_free(tables[i], 0);
	}
}

volatile void *vm_map_device(phys_t pa, size_t size)
{
	size_t offset = pa & (PAGE_SIZE - 1);
	size_t pages = DIV_ROUND_UP(offset + size, PAGE_SIZE);
	size_t first;
	int err;
	unsigned long flags;

	if (!size || size > VMAP_PAGES << PAGE_SHIFT)
		return NULL;
	first = area_reserve(VMAP_AREA, pages);
	if (!first)
		return NULL;
	flags = spin_lock_irqsave(&vmap_lock);
	err = arch_mmu_map(&kernel_pt, page_va(VMAP_AREA, first), pa - offset,
			   pages << PAGE_SHIFT, VM_READ | VM_WRITE | VM_DEVICE);
	if (err)
		arch_mmu_unmap(&kernel_pt, page_va(VMAP_AREA, first),
			       pages << PAGE_SHIFT);
	spin_unlock_irqrestore(&vmap_lock, flags);
	if (!err)
		return (void *)(page_va(VMAP_AREA, first) + offset);
	flush_all(page_va(VMAP_AREA, first), pages << PAGE_SHIFT);
	area_release(VMAP_AREA, first, pages);
	return NULL;
}

bool vm_is_guard(unsigned long addr)
{
	size_t index;
	const struct area *area = area_of(addr, &index);

	return area && READ_ONCE(area->states[index]) == PAGE_GUARD;
}
