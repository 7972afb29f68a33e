// SPDX-License-Identifier: MIT
/* The kernel's address space, as the page tables and the CPUs see it. */
#include "memory.h"
#include <arch/boot.h>
#include <arch/text.h>
#include <kernel/bootinfo.h>
#include <kernel/extable.h>
#include <kernel/heap.h>
#include <kernel/image.h>
#include <kernel/smp.h>
#include <kernel/vm.h>
#include <lib/errno.h>
#include <lib/string.h>

#define RW (VM_READ | VM_WRITE)
#define RX (VM_READ | VM_EXEC)

static bool can_read(const void *p)
{
	u8 byte;

	return peek(&byte, p, 1) == 0;
}

/* Without changing what is there. */
static bool can_write(void *p)
{
	u8 byte;

	return peek(&byte, p, 1) == 0 && poke(p, &byte, 1) == 0;
}

/* Protection of the leaf at @va; VM_NONE if there is none. */
static unsigned prot_at(const void *va)
{
	unsigned prot;
	size_t size;
	phys_t pa;

	if (arch_mmu_lookup(&kernel_pt, (unsigned long)va, &pa, &prot, &size))
		return VM_NONE;
	return prot;
}

static phys_t pa_at(const void *va)
{
	unsigned prot;
	size_t size;
	phys_t pa;

	if (arch_mmu_lookup(&kernel_pt, (unsigned long)va, &pa, &prot, &size))
		return 0;
	return pa;
}

/* The image and the direct map ---------------------------------------------- */

static void expect_pages(const char *from, const char *end, unsigned wanted)
{
	for (const char *va = from; va < end; va += PAGE_SIZE) {
		unsigned prot = VM_NONE;
		size_t size = 0;
		phys_t pa = 0;

		EXPECT_EQ(arch_mmu_lookup(&kernel_pt, (unsigned long)va, &pa,
					  &prot, &size),
			  0);
		EXPECT_EQ(prot, wanted);
		EXPECT_EQ(size, PAGE_SIZE);
		EXPECT_EQ(pa, virt_to_phys(va));
	}
}

TEST(vm, text_is_executable_and_not_writable_in_small_pages)
{
	expect_pages(__text_start, __text_end, RX);
}

TEST(vm, rodata_is_neither_writable_nor_executable)
{
	expect_pages(__rodata_start, __rodata_end, VM_READ);
}

TEST(vm, data_and_bss_are_not_executable)
{
	expect_pages(__data_start, __bss_end, RW);
}

TEST(vm, no_alias_of_text_or_rodata_in_the_direct_map_is_writable)
{
	for (char *va = __text_start; va < __text_end; va += PAGE_SIZE)
		EXPECT_FALSE(prot_at(phys_to_virt(virt_to_phys(va))) &
			     VM_WRITE);
	for (char *va = __rodata_start; va < __rodata_end; va += PAGE_SIZE)
		EXPECT_EQ(prot_at(phys_to_virt(virt_to_phys(va))), VM_READ);
	EXPECT_FALSE(can_write(phys_to_virt(virt_to_phys(__text_start))));
	EXPECT_FALSE(can_write(phys_to_virt(virt_to_phys(__rodata_start))));
}

TEST(vm, all_of_ram_is_in_the_direct_map_and_not_executable)
{
	for (unsigned i = 0; i < boot_info.memory_count; i++) {
		const struct bootinfo_range *range = &boot_info.memory[i];
		phys_t first = ALIGN_UP(range->base, PAGE_SIZE);
		phys_t end = ALIGN_DOWN(range->base + range->size, PAGE_SIZE);

		if (range->type != BOOTINFO_RAM || first >= end)
			continue;
		EXPECT_EQ(prot_at(phys_to_virt(first)), RW);
		EXPECT_EQ(prot_at(phys_to_virt(end - PAGE_SIZE)), RW);
		EXPECT_EQ(pa_at(phys_to_virt(end - 1)), end - 1);
		EXPECT_TRUE(can_write(phys_to_virt(end - 1)));
	}
}

TEST(vm, stacks_and_heap_are_not_executable)
{
	u8 local = 0, *p = kmalloc(16);

	EXPECT_EQ(prot_at(&local), RW);
	EXPECT_EQ(prot_at(p), RW);
	kfree(p);
}

TEST(vm, the_first_page_is_not_mapped)
{
	EXPECT_EQ(prot_at(NULL), VM_NONE);
	EXPECT_FALSE(can_read(NULL));
	EXPECT_FALSE(can_read((void *)(PAGE_SIZE - 1)));
}

TEST(vm, no_page_is_writable_and_executable)
{
	unsigned long bad = 0;

	EXPECT_EQ(vm_check_protections(&bad), 0);
	EXPECT_EQ(bad, 0);
}

TEST(vm, a_writable_alias_of_text_does_not_pass_the_check)
{
	unsigned long flags = arch_irq_save(), bad = 0;
	void *alias = vm_alias_begin(__text_start);
	int err = vm_check_protections(&bad);

	vm_alias_end();
	arch_irq_restore(flags);
	EXPECT_EQ(err, -EACCES);
	EXPECT_EQ(bad, (unsigned long)alias);
	EXPECT_EQ(vm_check_protections(&bad), 0);
}

/* Areas --------------------------------------------------------------------- */

TEST(vm, an_area_is_zero_and_can_be_written)
{
	u8 *p = vm_alloc(3, RW);
	u8 bits = 0;

	ASSERT_TRUE(p);
	EXPECT_EQ((unsigned long)p & (PAGE_SIZE - 1), 0);
	for (size_t i = 0; i < 3 * PAGE_SIZE; i++)
		bits |= p[i];
	EXPECT_EQ(bits, 0);
	memset(p, 0xff, 3 * PAGE_SIZE);
	EXPECT_EQ(p[3 * PAGE_SIZE - 1], 0xff);
	vm_free(p);
}

TEST(vm, pages_and_frames_are_counted_and_given_back)
{
	for (size_t pages = 1; pages < 100; pages *= 3) {
		size_t free = frames_free(), used = vm_pages_used();
		void *p = vm_alloc(pages, RW);

		ASSERT_TRUE(p);
		EXPECT_EQ(frames_free(), free - pages);
		EXPECT_EQ(vm_pages_used(), used + pages);
		vm_free(p);
		EXPECT_EQ(frames_free(), free);
		EXPECT_EQ(vm_pages_used(), used);
	}
}

TEST(vm, an_area_lies_between_guard_pages)
{
	u8 *p = vm_alloc(2, RW), *end = p + 2 * PAGE_SIZE;

	ASSERT_TRUE(p);
	EXPECT_TRUE(vm_is_guard((unsigned long)p - 1));
	EXPECT_TRUE(vm_is_guard((unsigned long)p - PAGE_SIZE));
	EXPECT_TRUE(vm_is_guard((unsigned long)end));
	EXPECT_TRUE(vm_is_guard((unsigned long)end + PAGE_SIZE - 1));
	EXPECT_FALSE(vm_is_guard((unsigned long)p));
	EXPECT_FALSE(vm_is_guard((unsigned long)end - 1));
	EXPECT_FALSE(can_read(p - 1));
	EXPECT_FALSE(can_read(end));
	EXPECT_TRUE(can_write(p));
	EXPECT_TRUE(can_write(end - 1));
	vm_free(p);
	EXPECT_FALSE(vm_is_guard((unsigned long)p - 1));
}

TEST(vm, neighbouring_areas_do_not_share_a_guard_page)
{
	u8 *a = vm_alloc(1, RW), *b = vm_alloc(1, RW);
	u8 *low = min(a, b), *high = max(a, b);

	ASSERT_TRUE(a && b);
	EXPECT_GE(high - low, (long)(3 * PAGE_SIZE));
	vm_free(low);
	EXPECT_TRUE(vm_is_guard((unsigned long)high - 1));
	vm_free(high);
}

TEST(vm, only_pages_around_areas_are_guards)
{
	u8 local = 0;

	EXPECT_FALSE(vm_is_guard(0));
	EXPECT_FALSE(vm_is_guard(~0UL));
	EXPECT_FALSE(vm_is_guard((unsigned long)__text_start));
	EXPECT_FALSE(vm_is_guard((unsigned long)&local));
	EXPECT_FALSE(vm_is_guard(VMAP_BASE - 1));
}

TEST(vm, the_running_stack_ends_in_a_guard_page)
{
	unsigned long stack = (unsigned long)current->stack;

	ASSERT_TRUE(stack);
	EXPECT_TRUE(vm_is_guard(stack - 1));
	EXPECT_TRUE(vm_is_guard(stack + THREAD_STACK_SIZE));
	EXPECT_FALSE(can_read((void *)(stack - 1)));
}

TEST(vm, a_freed_area_cannot_be_read_and_is_used_again)
{
	u8 *p = vm_alloc(2, RW), *q;

	ASSERT_TRUE(p);
	EXPECT_TRUE(can_write(p + PAGE_SIZE));
	vm_free(p);
	EXPECT_FALSE(can_read(p));
	EXPECT_FALSE(can_read(p + PAGE_SIZE));
	q = vm_alloc(2, RW);
	EXPECT_EQ(q, p);
	vm_free(q);
	vm_free(NULL);
}

TEST(vm, areas_that_cannot_be_are_refused)
{
	size_t free = frames_free();

	EXPECT_EQ(vm_alloc(0, RW), NULL);
	EXPECT_EQ(vm_alloc(~0UL, RW), NULL);
	EXPECT_EQ(vm_alloc(1UL << 30, RW), NULL);
	EXPECT_EQ(vm_alloc(1, RW | VM_EXEC), NULL);
	EXPECT_EQ(vm_alloc(1, VM_WRITE), NULL);
	EXPECT_EQ(vm_alloc(1, VM_NONE), NULL);
	EXPECT_EQ(frames_free(), free);
}

TEST(vm, without_frames_there_is_no_area_and_nothing_stays)
{
	size_t used = vm_pages_used();
	struct hoard *all = hoard_take(), *one = all;
	size_t some = 1UL << one->order;
	void *none = vm_alloc(1, RW), *part;

	/* With some frames, but not enough of them. */
	all = one->next;
	frame_free(virt_to_phys(one), one->order);
	part = vm_alloc(some + 1, RW);
	EXPECT_EQ(frames_free(), some);
	hoard_free(all);
	EXPECT_EQ(none, NULL);
	EXPECT_EQ(part, NULL);
	EXPECT_EQ(vm_pages_used(), used);
}

TEST(vm, protections_of_areas_hold)
{
	u8 *r = vm_alloc(1, VM_READ), *rx = vm_alloc(1, RX);

	ASSERT_TRUE(r && rx);
	EXPECT_EQ(prot_at(r), VM_READ);
	EXPECT_EQ(prot_at(rx), RX);
	EXPECT_TRUE(can_read(r));
	EXPECT_FALSE(can_write(r));
	EXPECT_TRUE(can_read(rx));
	EXPECT_FALSE(can_write(rx));
	vm_free(r);
	vm_free(rx);
}

TEST(vm, protection_can_be_changed_page_by_page)
{
	u8 *p = vm_alloc(3, RW), *middle = p + PAGE_SIZE;

	ASSERT_TRUE(p);
	*middle = 0x77;
	EXPECT_EQ(vm_protect(middle, 1, VM_READ), 0);
	EXPECT_FALSE(can_write(middle));
	EXPECT_TRUE(can_write(middle - 1));
	EXPECT_TRUE(can_write(middle + PAGE_SIZE));
	EXPECT_EQ(*middle, 0x77);
	EXPECT_EQ(vm_protect(p, 3, RX), 0);
	EXPECT_FALSE(can_write(p));
	EXPECT_EQ(vm_protect(p, 3, RW), 0);
	EXPECT_TRUE(can_write(middle));
	EXPECT_EQ(*middle, 0x77);
	vm_free(p);
}

TEST(vm, wrong_changes_of_protection_are_refused)
{
	u8 *p = vm_alloc(2, RW), *q = vm_alloc(2, RW);

	ASSERT_TRUE(p && q);
	EXPECT_EQ(vm_protect(p, 2, RW | VM_EXEC), -EINVAL);
	EXPECT_EQ(vm_protect(p, 2, VM_NONE), -EINVAL);
	EXPECT_EQ(vm_protect(p, 0, VM_READ), -EINVAL);
	EXPECT_EQ(vm_protect(p, 3, VM_READ), -EINVAL);
	EXPECT_EQ(vm_protect(p, ~0UL, VM_READ), -EINVAL);
	EXPECT_EQ(vm_protect(p + 1, 1, VM_READ), -EINVAL);
	EXPECT_EQ(vm_protect(p - PAGE_SIZE, 1, VM_READ), -EINVAL);
	EXPECT_EQ(vm_protect(__text_start, 1, RW), -EINVAL);
	EXPECT_TRUE(can_write(p));
	EXPECT_TRUE(can_write(q));
	vm_free(q);
	vm_free(p);
}

TEST(vm, the_near_area_is_within_reach_of_the_image)
{
	long far, p;

	if (NEAR_BASE == VMAP_BASE)
		SKIP("near is the vmap area here");
	p = (long)vm_alloc_near(2, RX);
	ASSERT_TRUE(p);
	far = max(p + (long)(2 * PAGE_SIZE), (long)__image_end) -
	      min(p, (long)__image_start);
	EXPECT_LT(far, 0x7fffffffL);
	EXPECT_TRUE(vm_is_guard(p - 1));
	EXPECT_TRUE(vm_is_guard(p + 2 * PAGE_SIZE));
	vm_free((void *)p);
}

/* All CPUs ------------------------------------------------------------------ */

static u8 *shared;
static unsigned allowed;

static void count_writers(void *unused __unused)
{
	if (can_write(shared))
		__atomic_fetch_add(&allowed, 1, __ATOMIC_RELAXED);
}

/* On how many CPUs @shared can be written. */
static unsigned writers(void)
{
	allowed = 0;
	smp_call_all(count_writers, NULL);
	return allowed;
}

TEST(vm, all_cpus_forget_what_was_changed_or_unmapped)
{
	shared = vm_alloc(2, RW);
	ASSERT_TRUE(shared);
	EXPECT_EQ(writers(), cpu_count);
	EXPECT_EQ(vm_protect(shared, 1, VM_READ), 0);
	EXPECT_EQ(writers(), 0);
	EXPECT_EQ(vm_protect(shared, 1, RW), 0);
	EXPECT_EQ(writers(), cpu_count);
	vm_free(shared);
	EXPECT_EQ(writers(), 0);
}

static void use_areas(void *number)
{
	for (unsigned i = 0; i < 4; i++) {
		size_t pages = 1 + (i + (unsigned long)number) % 5;
		u64 *p = vm_alloc(pages, RW);
		u64 *last = p + (pages * PAGE_SIZE / sizeof(*p) - 1);

		ASSERT_TRUE(p);
		EXPECT_EQ(*p | *last, 0);
		*p = *last = (unsigned long)p ^ i;
		thread_yield();
		EXPECT_EQ(*p, (unsigned long)p ^ i);
		EXPECT_EQ(*last, (unsigned long)p ^ i);
		vm_free(p);
	}
}

TEST(vm, all_cpus_at_once_get_different_areas)
{
	size_t used = vm_pages_used();

	on_all_cpus(use_areas);
	EXPECT_EQ(vm_pages_used(), used);
}

/* Aliases ------------------------------------------------------------------- */

TEST(vm, an_alias_shows_the_same_bytes_and_ends)
{
	unsigned long flags;
	u8 *p = vm_alloc(1, VM_READ), *alias;
	bool there;

	ASSERT_TRUE(p);
	flags = arch_irq_save();
	alias = vm_alias_begin(p + 123);
	there = alias != NULL;
	if (there)
		*alias = 0x42;
	vm_alias_end();
	EXPECT_FALSE(can_read(alias));
	arch_irq_restore(flags);
	EXPECT_TRUE(there);
	EXPECT_EQ((unsigned long)alias & (PAGE_SIZE - 1), 123);
	EXPECT_EQ(p[122], 0);
	EXPECT_EQ(p[123], 0x42);
	EXPECT_EQ(p[124], 0);
	vm_free(p);
}

static const volatile u32 constant = 0x1234;

TEST(vm, an_alias_reaches_constants_and_text_of_the_image)
{
	unsigned long flags = arch_irq_save();
	volatile u32 *word = vm_alias_begin((const void *)&constant);
	void *alias;
	bool same;

	*word = 0x5678;
	EXPECT_EQ(constant, 0x5678);
	*word = 0x1234;
	vm_alias_end();
	alias = vm_alias_begin(__text_start);
	same = !memcmp(alias, __text_start, 64);
	vm_alias_end();
	arch_irq_restore(flags);
	EXPECT_EQ(constant, 0x1234);
	EXPECT_TRUE(same);
}

TEST(vm, there_is_no_alias_of_what_is_not_mapped)
{
	unsigned long flags = arch_irq_save();
	void *of_null = vm_alias_begin(NULL);
	void *of_guard = vm_alias_begin((void *)VMAP_BASE);

	arch_irq_restore(flags);
	EXPECT_EQ(of_null, NULL);
	EXPECT_EQ(of_guard, NULL);
}

static void write_through_alias(void *area)
{
	u8 *page = (u8 *)area + smp_processor_id() * PAGE_SIZE;

	for (unsigned i = 0; i < 20; i++) {
		u8 *alias = vm_alias_begin(page + i);

		*alias += smp_processor_id() + i + 1;
		vm_alias_end();
	}
}

TEST(vm, each_cpu_has_an_alias_of_its_own)
{
	u8 *area = vm_alloc(MAX_CPUS, VM_READ);

	ASSERT_TRUE(area);
	smp_call_all(write_through_alias, area);
	for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
		for (unsigned i = 0; i < 20; i++)
			EXPECT_EQ(area[cpu * PAGE_SIZE + i],
				  cpu < cpu_count ? cpu + i + 1 : 0);
	vm_free(area);
}

TEST(vm, code_written_through_an_alias_runs)
{
	u8 code[ARCH_TEXT_SITE_SIZE];
	u8 *text = vm_alloc_near(1, RX);

	ASSERT_TRUE(text);
	for (unsigned value = 1; value < 4; value++) {
		unsigned (*fn)(void) = (unsigned (*)(void))text;
		unsigned long flags = arch_irq_save();
		void *alias = vm_alias_begin(text);

		arch_text_site_code(code, value);
		for (unsigned at = 0; at < sizeof(code); at += ARCH_TEXT_ATOM)
			arch_text_write((u8 *)alias + at, text + at, code + at,
					ARCH_TEXT_ATOM);
		vm_alias_end();
		arch_cpu_serialize();
		/* Here, not after the loop: other CPUs are not synchronised. */
		EXPECT_EQ(fn(), value);
		arch_irq_restore(flags);
	}
	vm_free(text);
}
