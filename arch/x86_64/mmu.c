// SPDX-License-Identifier: MIT
/*
 * Four-level page tables (SDM 3A 4.5). A table is reached through the direct
 * map, which stands from the start (boot.S); arch_mmu_table_take() apart, it is
 * never freed.
 *
 * 2 MiB leaves are used in the direct map only, so that everything with a
 * protection of its own can change it page by page.
 */
#include <arch/mmu.h>

#include <arch/cpu.h>
#include <kernel/frames.h>
#include <kernel/percpu.h>
#include <lib/errno.h>

#define PTE_PRESENT BIT(0)
#define PTE_WRITE   BIT(1)
#define PTE_USER    BIT(2)
#define PTE_PWT	    BIT(3)
#define PTE_PCD	    BIT(4)
#define PTE_LARGE   BIT(7)
#define PTE_NX	    BIT(63)
#define PTE_PA	    0x000ffffffffff000UL

#define TABLE_SLOTS 512
#define LARGE_SIZE  (1UL << 21)
#define USER_END    (1UL << 47)

/* Levels: 0 has 4 KiB leaves, 1 may have 2 MiB ones, 3 is the root. */
#define LEVEL_ROOT	   3
#define LEVEL_SHIFT(level) (PAGE_SHIFT + 9 * (level))
#define LEVEL_SIZE(level)  (1UL << LEVEL_SHIFT(level))

/* More pages than this, and reloading CR3 is cheaper. */
#define FLUSH_PAGES 64

struct page_table kernel_pt;

static u64 pte_nx;	/* PTE_NX, if the CPU has it */
static u64 *alias_ptes; /* of ALIAS_BASE */

static __always_inline u64 *slot_in(phys_t table, unsigned long va,
				    unsigned level)
{
	u64 *slots = phys_to_virt(table);

	return &slots[va >> LEVEL_SHIFT(level) & (TABLE_SLOTS - 1)];
}

static __always_inline bool is_leaf(u64 pte, unsigned level)
{
	return level == 0 || (pte & PTE_LARGE);
}

/*
 * The slot at *level for @va; or, with *level saying where, the leaf or the
 * empty slot above it at which the way down ends.
 */
static __noprobe u64 *find_slot(struct page_table *pt, unsigned long va,
				unsigned *level)
{
	unsigned at = LEVEL_ROOT;
	u64 *slot = slot_in(pt->root, va, at);

	while (at > *level) {
		u64 pte = READ_ONCE(*slot);

		if (!(pte & PTE_PRESENT) || is_leaf(pte, at))
			break;
		slot = slot_in(pte & PTE_PA, va, --at);
	}
	*level = at;
	return slot;
}

/* The same with tables made where they are missing; NULL: no memory. */
static u64 *make_slot(struct page_table *pt, unsigned long va, unsigned level)
{
	for (;;) {
		unsigned at = level;
		u64 *slot = find_slot(pt, va, &at);
		phys_t table;

		if (at == level || (*slot & PTE_PRESENT))
			return slot;
		table = frame_alloc_zero(0);
		if (!table)
			return NULL;
		/* The leaf decides; only user tables let user mode through. */
		WRITE_ONCE(*slot, table | PTE_PRESENT | PTE_WRITE |
					  (va < USER_END ? PTE_USER : 0));
	}
}

static int pte_of(unsigned prot, u64 *pte)
{
	if (!(prot & VM_READ) || (prot & VM_WRITE && prot & VM_EXEC))
		return -EINVAL;
	*pte = PTE_PRESENT;
	if (prot & VM_WRITE)
		*pte |= PTE_WRITE;
	if (prot & VM_USER)
		*pte |= PTE_USER;
	if (prot & VM_DEVICE)
		*pte |= PTE_PCD | PTE_PWT;
	if (!(prot & VM_EXEC))
		*pte |= pte_nx;
	return 0;
}

static __always_inline unsigned prot_of(u64 pte)
{
	unsigned prot = VM_READ;

	if (pte & PTE_WRITE)
		prot |= VM_WRITE;
	if (pte & PTE_USER)
		prot |= VM_USER;
	if (pte & PTE_PCD)
		prot |= VM_DEVICE;
	if (!(pte & PTE_NX))
		prot |= VM_EXEC;
	return prot;
}

int arch_mmu_init(const struct bootinfo *bi)
{
	(void)bi;
	if (x86_rdmsr(MSR_EFER) & EFER_NXE)
		pte_nx = PTE_NX;
	kernel_pt.root = frame_alloc_zero(0);
	if (!kernel_pt.root)
		return -ENOMEM;

	/* All alias pages are in one table: two pages for each CPU. */
	STATIC_ASSERT(MAX_CPUS * 2 <= TABLE_SLOTS);
	alias_ptes = make_slot(&kernel_pt, ALIAS_BASE, 0);
	return alias_ptes ? 0 : -ENOMEM;
}

static bool large_fits(unsigned long va, phys_t pa, size_t size)
{
	return va >= DIRECT_BASE && va < VMAP_BASE && size >= LARGE_SIZE &&
	       IS_ALIGNED(va | pa, LARGE_SIZE);
}

int arch_mmu_map(struct page_table *pt, unsigned long va, phys_t pa,
		 size_t size, unsigned prot)
{
	u64 leaf, *slot;
	unsigned level;
	int err = pte_of(prot, &leaf);

	if (err)
		return err;
	while (size) {
		level = large_fits(va, pa, size);
		slot = make_slot(pt, va, level);
		if (!slot)
			return -ENOMEM;
		if (*slot & PTE_PRESENT)
			return -EEXIST;
		WRITE_ONCE(*slot, pa | leaf | (level ? PTE_LARGE : 0));
		va += LEVEL_SIZE(level);
		pa += LEVEL_SIZE(level);
		size -= LEVEL_SIZE(level);
	}
	return 0;
}

void arch_mmu_unmap(struct page_table *pt, unsigned long va, size_t size)
{
	unsigned long end = va + size;
	unsigned level;
	u64 *slot;

	while (va < end) {
		level = 0;
		slot = find_slot(pt, va, &level);
		WRITE_ONCE(*slot, 0);
		va = ALIGN_DOWN(va, LEVEL_SIZE(level)) + LEVEL_SIZE(level);
	}
}

int arch_mmu_protect(struct page_table *pt, unsigned long va, size_t size,
		     unsigned prot)
{
	unsigned long end = va + size;
	unsigned level;
	u64 leaf, *slot;
	int err = pte_of(prot, &leaf);

	if (err)
		return err;
	for (; va < end; va += PAGE_SIZE) {
		level = 0;
		slot = find_slot(pt, va, &level);
		if (!(*slot & PTE_PRESENT))
			return -ENOENT;
		if (level)
			return -EINVAL;
		WRITE_ONCE(*slot, (*slot & PTE_PA) | leaf);
	}
	return 0;
}

void arch_mmu_move(struct page_table *pt, unsigned long va, phys_t pa)
{
	unsigned level = 0;
	u64 *slot = find_slot(pt, va, &level);

	WRITE_ONCE(*slot, (*slot & ~PTE_PA) | pa);
}

/* INVLPG of any address drops what was cached of upper levels (SDM 3A 4.10.4). */
phys_t arch_mmu_table_take(struct page_table *pt, unsigned long va)
{
	unsigned level = 1;
	u64 *slot = find_slot(pt, va, &level), pte = *slot;
	const u64 *leaves = phys_to_virt(pte & PTE_PA);

	if (level != 1 || !(pte & PTE_PRESENT) || is_leaf(pte, level))
		return 0;
	for (unsigned i = 0; i < TABLE_SLOTS; i++) {
		if (leaves[i] & PTE_PRESENT)
			return 0;
	}
	WRITE_ONCE(*slot, 0);
	return pte & PTE_PA;
}

__noprobe int arch_mmu_lookup(struct page_table *pt, unsigned long va,
			      phys_t *pa, unsigned *prot, size_t *size)
{
	unsigned level = 0;
	u64 pte = READ_ONCE(*find_slot(pt, va, &level));

	if (!(pte & PTE_PRESENT))
		return -ENOENT;
	*size = LEVEL_SIZE(level);
	*pa = (pte & PTE_PA) + (va & (*size - 1));
	*prot = prot_of(pte);
	return 0;
}

/* What arch_mmu_walk() hands down: one level per call, at most four deep. */
struct walk {
	int (*fn)(unsigned long va, phys_t pa, size_t size, unsigned prot,
		  void *arg);
	void *arg;
};

static int walk_table(const struct walk *w, phys_t table, unsigned level,
		      unsigned long va)
{
	const u64 *slots = phys_to_virt(table);
	unsigned i;
	int err = 0;

	for (i = 0; i < TABLE_SLOTS && !err; i++, va += LEVEL_SIZE(level)) {
		u64 pte = READ_ONCE(slots[i]);

		if (!(pte & PTE_PRESENT))
			continue;
		if (level == LEVEL_ROOT && i >= TABLE_SLOTS / 2)
			va |= -1UL << 48; /* the canonical hole */
		if (is_leaf(pte, level))
			err = w->fn(va, pte & PTE_PA, LEVEL_SIZE(level),
				    prot_of(pte), w->arg);
		else
			err = walk_table(w, pte & PTE_PA, level - 1, va);
	}
	return err;
}

int arch_mmu_walk(struct page_table *pt,
		  int (*fn)(unsigned long va, phys_t pa, size_t size,
			    unsigned prot, void *arg),
		  void *arg)
{
	struct walk w = { fn, arg };

	return walk_table(&w, pt->root, LEVEL_ROOT, 0);
}

static void load_root(phys_t root)
{
	__asm__ volatile("mov %0, %%cr3" : : "r"(root) : "memory");
}

void arch_mmu_enable(void)
{
	load_root(kernel_pt.root);
}

static __always_inline void flush_page(unsigned long va)
{
	__asm__ volatile("invlpg (%0)" : : "r"(va) : "memory");
}

void arch_mmu_flush_local(unsigned long va, size_t size)
{
	unsigned long end = va + size;
	phys_t root;

	if (size > FLUSH_PAGES * PAGE_SIZE) {
		__asm__ volatile("mov %%cr3, %0" : "=r"(root));
		load_root(root);
		return;
	}
	for (; va < end; va += PAGE_SIZE)
		flush_page(va);
}

/* Every second page stays unmapped, so that nothing runs into a neighbour. */
__noprobe void *arch_mmu_alias_set(phys_t pa)
{
	unsigned n = arch_this_cpu()->id * 2;
	unsigned long va = ALIAS_BASE + n * PAGE_SIZE;

	WRITE_ONCE(alias_ptes[n], pa | PTE_PRESENT | PTE_WRITE | pte_nx);
	flush_page(va);
	return (void *)va;
}

__noprobe void arch_mmu_alias_clear(void)
{
	unsigned n = arch_this_cpu()->id * 2;

	WRITE_ONCE(alias_ptes[n], 0);
	flush_page(ALIAS_BASE + n * PAGE_SIZE);
}
