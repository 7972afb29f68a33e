// SPDX-License-Identifier: MIT
/*
 * Radix page tables (ISA 3.1 III 6.7), big-endian in memory in both builds:
 *
 *	 51	   39 38     30 29     21 20	 12 11		0
 *	+------------+---------+---------+---------+------------+
 *	| root: 8192 |   512   |   512	 |   512   | page	|
 *	+------------+---------+---------+---------+------------+
 *	   level 3      2: 1 GiB  1: 2 MiB  0: 4 KiB leaves
 *
 * The kernel's quadrant is translated by process 0's tree, addresses from 0 up by
 * the current process's. That is never process 0, whose tree would make a NULL
 * pointer name the vectors. Changes to the tables are serialised by vm.c; lookups
 * take no lock.
 */
#include <arch/mmu.h>
#include <arch/cpu.h>
#include <asm/hcall.h>
#include <asm/setup.h>
#include <asm/spr.h>
#include <kernel/frames.h>
#include <kernel/percpu.h>
#include <lib/byteorder.h>
#include <lib/errno.h>

#define ROOT_SHIFT  39
#define ROOT_BITS   13
#define ROOT_ORDER  (ROOT_BITS + 3 - PAGE_SHIFT)
#define TABLE_BITS  9
#define ROOT_LEVEL  3
#define LEAF_LEVELS 3 /* leaves are at levels 0 to 2 */
#define VA_MASK	    (BIT(52) - 1)

/* Page-table entries (ISA 3.1 III 6.7.10). */
#define PTE_VALID      BIT(63)
#define PTE_LEAF       BIT(62)
#define PTE_ADDRESS    0x01fffffffffff000UL
#define PTE_TABLE      0x0fffffffffffff00UL /* in an entry that is no leaf */
#define PTE_REFERENCED 0x100UL
#define PTE_CHANGED    0x080UL
#define PTE_GUARDED    0x020UL /* non-idempotent, that is: a device */
#define PTE_PRIVILEGED 0x008UL
#define PTE_READ       0x004UL
#define PTE_WRITE      0x002UL
#define PTE_EXEC       0x001UL

/* tlbie, tlbiel: RB (ISA 3.1 III 6.9.3.3). */
#define TLBIE_WHOLE_PID 0x400UL
#define TLBIE_SIZE(ap)	((unsigned long)(ap) << 5)

/* How the process table names a radix tree: 52 address bits, 13 in the root. */
#define PROCESS_RADIX ((2UL << 61) | (5UL << 5) | ROOT_BITS)

/* H_REGISTER_PROC_TBL (PAPR 14): new table, radix, with GTSE. */
#define PROC_TBL_FLAGS	 (0x18 | 4 | 1)
#define PROC_TBL_SIZE_4K 0 /* 2^(12 + n) bytes */

struct page_table kernel_pt;

static u64 process_table[512] __aligned(4096);
/*
 * All there may be, for boot code: 1 GiB leaves, replaced by vm_init(). From then
 * on it is the empty tree of PID_NOBODY.
 */
static u64 boot_root[1 << ROOT_BITS] __aligned(8 << ROOT_BITS);
static u64 boot_gigabytes[1 << TABLE_BITS] __aligned(4096);

/* This CPU's entry for its alias page, since arch_mmu_init(). */
static u64 *alias_pte[MAX_CPUS];

static unsigned long level_size(int level)
{
	return 1UL << (PAGE_SHIFT + TABLE_BITS * level);
}

static u64 *entry_at(u64 *table, int level, unsigned long va)
{
	unsigned bits = level == ROOT_LEVEL ? ROOT_BITS : TABLE_BITS;

	va &= VA_MASK;
	return &table[(va / level_size(level)) & (BIT(bits) - 1)];
}

static u64 entry_load(const u64 *e)
{
	return be64_to_cpu(READ_ONCE(*e));
}

/* The entry is whole before or after, and behind what it points to. */
static void entry_store(u64 *e, u64 v)
{
	__asm__ volatile("ptesync" : : : "memory");
	WRITE_ONCE(*e, cpu_to_be64(v));
	__asm__ volatile("ptesync" : : : "memory");
}

static u64 *entry_table(u64 v)
{
	return phys_to_virt(v & PTE_TABLE);
}

static u64 *root_of(const struct page_table *pt)
{
	return phys_to_virt(pt->root);
}

static u64 prot_to_bits(unsigned prot)
{
	u64 v = PTE_VALID | PTE_LEAF | PTE_REFERENCED | PTE_CHANGED;

	if (!(prot & VM_USER))
		v |= PTE_PRIVILEGED;
	if (prot & VM_READ)
		v |= PTE_READ;
	if (prot & VM_WRITE)
		v |= PTE_READ | PTE_WRITE;
	if (prot & VM_EXEC)
		v |= PTE_EXEC;
	if (prot & VM_DEVICE)
		v |= PTE_GUARDED;
	return v;
}

static unsigned prot_from_bits(u64 v)
{
	unsigned prot = v & PTE_PRIVILEGED ? 0 : VM_USER;

	if (v & PTE_READ)
		prot |= VM_READ;
	if (v & PTE_WRITE)
		prot |= VM_WRITE;
	if (v & PTE_EXEC)
		prot |= VM_EXEC;
	if (v & PTE_GUARDED)
		prot |= VM_DEVICE;
	return prot;
}

static bool prot_is_bad(unsigned prot)
{
	return (prot & VM_WRITE) && (prot & VM_EXEC);
}

/* Boot ---------------------------------------------------------------------- */

/* An entry has two doublewords; radix uses the first. */
static void process_table_set(unsigned pid, phys_t root)
{
	entry_store(&process_table[2 * pid], PROCESS_RADIX | root);
}

int mmu_init_boot(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(boot_gigabytes); i++)
		boot_gigabytes[i] =
			cpu_to_be64(i * level_size(2) |
				    prot_to_bits(VM_READ | VM_WRITE | VM_EXEC));
	*entry_at(boot_root, ROOT_LEVEL, DIRECT_BASE) = cpu_to_be64(
		PTE_VALID | virt_to_phys(boot_gigabytes) | TABLE_BITS);
	process_table_set(0, virt_to_phys(boot_root));
	if (hcall(H_REGISTER_PROC_TBL, PROC_TBL_FLAGS,
		  virt_to_phys(process_table), 0, PROC_TBL_SIZE_4K))
		return -EIO;
	return 0;
}

/* Tables -------------------------------------------------------------------- */

/* Where the addresses that @pt translates begin. */
static unsigned long va_base(const struct page_table *pt)
{
	return pt == &kernel_pt ? DIRECT_BASE : 0;
}

static bool va_is_ok(const struct page_table *pt, unsigned long va, size_t size)
{
	unsigned long offset = va - va_base(pt);

	return IS_ALIGNED(va | size, PAGE_SIZE) && offset <= VA_MASK &&
	       size <= VA_MASK + 1 - offset;
}

/*
 * The entry for @va at @level, making the tables on the way if @make. NULL if
 * they are not there or there is no memory for them, or if a larger leaf is in
 * the way: *found is its level then, otherwise -1.
 */
static u64 *walk_to(struct page_table *pt, unsigned long va, int level,
		    bool make, int *found)
{
	u64 *table = root_of(pt);

	*found = -1;
	for (int l = ROOT_LEVEL; l > level; l--) {
		u64 *e = entry_at(table, l, va);
		u64 v = entry_load(e);

		if (!(v & PTE_VALID)) {
			phys_t frame = make ? frame_alloc_zero(0) : 0;

			if (!frame)
				return NULL;
			v = PTE_VALID | frame | TABLE_BITS;
			entry_store(e, v);
		} else if (v & PTE_LEAF) {
			*found = l;
			return NULL;
		}
		table = entry_table(v);
	}
	return entry_at(table, level, va);
}

/* The leaf that maps @va, its level in *level; NULL if there is none. */
static u64 *leaf_at(struct page_table *pt, unsigned long va, int *level)
{
	u64 *table = root_of(pt);

	if (va - va_base(pt) > VA_MASK)
		return NULL;
	for (int l = ROOT_LEVEL; l >= 0; l--) {
		u64 *e = entry_at(table, l, va);
		u64 v = entry_load(e);

		if (!(v & PTE_VALID))
			return NULL;
		if (v & PTE_LEAF || l == 0) {
			*level = l;
			return e;
		}
		table = entry_table(v);
	}
	return NULL;
}

int arch_mmu_init(const struct bootinfo *bi)
{
	(void)bi;
	kernel_pt.root = frame_alloc_zero(ROOT_ORDER);
	if (!kernel_pt.root)
		return -ENOMEM;
	for (unsigned i = 0; i < MAX_CPUS; i++) {
		int found;

		alias_pte[i] = walk_to(&kernel_pt, ALIAS_BASE + i * 8192, 0,
				       true, &found);
		if (!alias_pte[i])
			return -ENOMEM;
	}
	return 0;
}

/* The largest leaf that fits at @va, @pa with @size bytes to go. */
static int leaf_level(unsigned long va, phys_t pa, size_t size)
{
	int level = LEAF_LEVELS - 1;

	while (level && (size < level_size(level) ||
			 !IS_ALIGNED(va | pa, level_size(level))))
		level--;
	return level;
}

int arch_mmu_map(struct page_table *pt, unsigned long va, phys_t pa,
		 size_t size, unsigned prot)
{
	if (!va_is_ok(pt, va, size) || !IS_ALIGNED(pa, PAGE_SIZE) ||
	    prot_is_bad(prot))
		return -EINVAL;
	while (size) {
		int level = leaf_level(va, pa, size), found;
		u64 *e = walk_to(pt, va, level, true, &found);

		/* Tables of an earlier mapping may stand here: go below. */
		while (e && level && (entry_load(e) & PTE_VALID) &&
		       !(entry_load(e) & PTE_LEAF))
			e = walk_to(pt, va, --level, true, &found);
		if (!e)
			return found >= 0 ? -EEXIST : -ENOMEM;
		if (entry_load(e) & PTE_VALID)
			return -EEXIST;
		entry_store(e, pa | prot_to_bits(prot));
		va += level_size(level);
		pa += level_size(level);
		size -= level_size(level);
	}
	return 0;
}

void arch_mmu_unmap(struct page_table *pt, unsigned long va, size_t size)
{
	unsigned long end = va + size;

	while (va < end) {
		int level = 0;
		u64 *e = leaf_at(pt, va, &level);

		if (e)
			entry_store(e, 0);
		va = ALIGN_DOWN(va, level_size(level)) + level_size(level);
	}
}

int arch_mmu_protect(struct page_table *pt, unsigned long va, size_t size,
		     unsigned prot)
{
	if (!va_is_ok(pt, va, size) || prot_is_bad(prot))
		return -EINVAL;
	for (; size; va += PAGE_SIZE, size -= PAGE_SIZE) {
		int found;
		u64 *e = walk_to(pt, va, 0, false, &found);
		u64 v = e ? entry_load(e) : 0;

		if (!(v & PTE_VALID))
			return found >= 0 ? -EINVAL : -ENOENT;
		entry_store(e, (v & PTE_ADDRESS) | prot_to_bits(prot));
	}
	return 0;
}

void arch_mmu_move(struct page_table *pt, unsigned long va, phys_t pa)
{
	int level;
	u64 *e = leaf_at(pt, va, &level);

	entry_store(e, (entry_load(e) & ~PTE_ADDRESS) | pa);
}

phys_t arch_mmu_table_take(struct page_table *pt, unsigned long va)
{
	int found;
	u64 *e = walk_to(pt, va, 1, false, &found);
	u64 v = e ? entry_load(e) : 0;

	if (!(v & PTE_VALID) || (v & PTE_LEAF))
		return 0;
	for (unsigned i = 0; i < 1 << TABLE_BITS; i++) {
		if (entry_load(entry_table(v) + i) & PTE_VALID)
			return 0;
	}
	entry_store(e, 0);
	return v & PTE_TABLE;
}

int arch_mmu_lookup(struct page_table *pt, unsigned long va, phys_t *pa,
		    unsigned *prot, size_t *size)
{
	int level;
	u64 *e = leaf_at(pt, va, &level);
	u64 v = e ? entry_load(e) : 0;

	if (!(v & PTE_VALID))
		return -ENOENT;
	*size = level_size(level);
	*pa = (v & PTE_ADDRESS) + (va & (*size - 1));
	*prot = prot_from_bits(v);
	return 0;
}

struct walk {
	int (*fn)(unsigned long va, phys_t pa, size_t size, unsigned prot,
		  void *arg);
	void *arg;
};

/* @va: what the first entry of @table stands for. At most four levels deep. */
static int walk_table(const struct walk *w, u64 *table, int level,
		      unsigned long va)
{
	unsigned bits = level == ROOT_LEVEL ? ROOT_BITS : TABLE_BITS;
	int ret = 0;

	for (size_t i = 0; i < BIT(bits) && !ret;
	     i++, va += level_size(level)) {
		u64 v = entry_load(&table[i]);

		if (!(v & PTE_VALID))
			continue;
		if (v & PTE_LEAF || level == 0)
			ret = w->fn(va, v & PTE_ADDRESS, level_size(level),
				    prot_from_bits(v), w->arg);
		else
			ret = walk_table(w, entry_table(v), level - 1, va);
	}
	return ret;
}

int arch_mmu_walk(struct page_table *pt,
		  int (*fn)(unsigned long va, phys_t pa, size_t size,
			    unsigned prot, void *arg),
		  void *arg)
{
	struct walk w = { fn, arg };

	return walk_table(&w, root_of(pt), ROOT_LEVEL, va_base(pt));
}

/* Translations -------------------------------------------------------------- */

/* RIC 0: translations; 2: those, cached table entries and process entries. */
#define tlbie(rb, ric)                                           \
	__asm__ volatile(".machine push; .machine power9;"       \
			 "ptesync; tlbie %0,%1," #ric ",1,1;"    \
			 "eieio; tlbsync; ptesync; .machine pop" \
			 :                                       \
			 : "r"(rb), "r"(0UL)                     \
			 : "memory")
#define tlbiel(rb, ric)                                        \
	__asm__ volatile(".machine push; .machine power9;"     \
			 "ptesync; tlbiel %0,%1," #ric ",1,1;" \
			 "ptesync; isync; .machine pop"        \
			 :                                     \
			 : "r"(rb), "r"(0UL)                   \
			 : "memory")

/* The boot CPU replaces the tables; others start with them replaced. */
void arch_mmu_enable(void)
{
	process_table_set(0, kernel_pt.root);
	entry_store(entry_at(boot_root, ROOT_LEVEL, DIRECT_BASE), 0);
	process_table_set(PID_NOBODY, virt_to_phys(boot_root));
	tlbie(TLBIE_WHOLE_PID, 2);
	arch_cpu_serialize();
}

/* Broadcast: simple, and the others have no right to a stale one either. */
void arch_mmu_flush_local(unsigned long va, size_t size)
{
	if (size > 32 * PAGE_SIZE) {
		tlbie(TLBIE_WHOLE_PID, 0);
		return;
	}
	for (unsigned long end = va + size; va < end; va += PAGE_SIZE)
		tlbie((va & ~(PAGE_SIZE - 1)) | TLBIE_SIZE(0), 0);
}

/* No other CPU ever touches the address: a local flush is enough. */
static void alias_store(unsigned cpu, unsigned long va, u64 v)
{
	entry_store(alias_pte[cpu], v);
	tlbiel(va | TLBIE_SIZE(0), 0);
}

void *arch_mmu_alias_set(phys_t pa)
{
	unsigned cpu = this_cpu()->id;
	unsigned long va = ALIAS_BASE + cpu * 8192;

	alias_store(cpu, va,
		    (pa & PTE_ADDRESS) | prot_to_bits(VM_READ | VM_WRITE));
	return (void *)va;
}

void arch_mmu_alias_clear(void)
{
	unsigned cpu = this_cpu()->id;

	alias_store(cpu, ALIAS_BASE + cpu * 8192, 0);
}
