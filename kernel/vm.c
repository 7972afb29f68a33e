// SPDX-License-Identifier: MIT
/*
 * The kernel's address space as a whole: the final page tables, aliases for
 * patching, and a check of all protections. What is handed out in pieces is in
 * vmap.c.
 *
 * All RAM is in the direct map, never executable there, except where the image
 * itself is a part of it. The image has the protection that each of its segments
 * needs, and its frames are read-only in the direct map too unless they are
 * data. Both are mapped in 4 KiB pages.
 *
 * vm_init() runs before there is anybody else, and nothing that it maps changes
 * afterwards, so nothing here takes a lock.
 */
#include <kernel/vm.h>
#include <kernel/bootinfo.h>
#include <kernel/image.h>
#include <kernel/panic.h>
#include <arch/cpu.h>
#include <lib/errno.h>

static const struct segment {
	const char *start, *end;
	unsigned prot;
} image_segments[] = {
	{ __text_start, __text_end, VM_READ | VM_EXEC },
	{ __rodata_start, __rodata_end, VM_READ },
	{ __data_start, __bss_end, VM_READ | VM_WRITE },
};

static bool image_in_direct_map(void)
{
	return phys_to_virt(virt_to_phys(__image_start)) == __image_start;
}

static int map_direct(phys_t start, phys_t end, unsigned prot)
{
	if (start >= end)
		return 0;
	return arch_mmu_map(&kernel_pt, (unsigned long)phys_to_virt(start),
			    start, end - start, prot);
}

/* How the frame @pa of the image may be used through the direct map. */
static unsigned image_direct_prot(phys_t pa)
{
	for (size_t i = 0; i < ARRAY_SIZE(image_segments); i++) {
		const struct segment *s = &image_segments[i];

		if (pa < virt_to_phys(s->start) || pa >= virt_to_phys(s->end))
			continue;
		return image_in_direct_map() ? s->prot : s->prot & ~VM_EXEC;
	}
	return VM_READ | VM_WRITE;
}

/* The whole pages in [start, end); one by one where the image lies. */
static int map_ram(phys_t start, phys_t end)
{
	phys_t image = max(start, virt_to_phys(__image_start));
	phys_t image_end = min(end, virt_to_phys(__image_end));
	int err;

	start = ALIGN_UP(start, PAGE_SIZE);
	end = ALIGN_DOWN(end, PAGE_SIZE);
	if (image >= image_end)
		return map_direct(start, end, VM_READ | VM_WRITE);
	err = map_direct(start, image, VM_READ | VM_WRITE);
	for (; !err && image < image_end; image += PAGE_SIZE)
		err = map_direct(image, image + PAGE_SIZE,
				 image_direct_prot(image));
	return err ? err : map_direct(image, end, VM_READ | VM_WRITE);
}

static bool range_is_ram(const struct bootinfo_range *range)
{
	return range->type == BOOTINFO_RAM || range->type == BOOTINFO_MODULE ||
	       range->type == BOOTINFO_IMAGE || range->type == BOOTINFO_ACPI;
}

/* Neighbouring ranges as one, since they may touch within a page. */
static int map_all_ram(const struct bootinfo *bi)
{
	phys_t start = 0, end = 0;
	int err = 0;

	for (unsigned i = 0; i < bi->memory_count && !err; i++) {
		const struct bootinfo_range *range = &bi->memory[i];

		if (!range_is_ram(range))
			continue;
		if (range->base != end) {
			err = map_ram(start, end);
			start = range->base;
		}
		end = range->base + range->size;
	}
	return err ? err : map_ram(start, end);
}

static int map_image(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(image_segments); i++) {
		const struct segment *s = &image_segments[i];

		for (const char *va = s->start; va < s->end; va += PAGE_SIZE) {
			int err = arch_mmu_map(&kernel_pt, (unsigned long)va,
					       virt_to_phys(va), PAGE_SIZE,
					       s->prot);

			if (err)
				return err;
		}
	}
	return 0;
}

int vm_init(const struct bootinfo *bi)
{
	int err = arch_mmu_init(bi);

	if (!err)
		err = map_all_ram(bi);
	if (!err && !image_in_direct_map())
		err = map_image();
	if (!err)
		err = vmap_init();
	if (!err)
		arch_mmu_enable();
	return err;
}

void *vm_alias_begin(const void *va)
{
	unsigned long page = ALIGN_DOWN((unsigned long)va, PAGE_SIZE);
	unsigned prot;
	size_t size;
	phys_t pa;

	ASSERT(arch_irqs_disabled());
	if (arch_mmu_lookup(&kernel_pt, page, &pa, &prot, &size))
		return NULL;
	return (char *)arch_mmu_alias_set(pa) + ((unsigned long)va - page);
}

void vm_alias_end(void)
{
	arch_mmu_alias_clear();
}

static bool frames_overlap(phys_t pa, size_t size, const struct segment *s)
{
	return pa < virt_to_phys(s->end) && virt_to_phys(s->start) < pa + size;
}

static int check_leaf(unsigned long va, phys_t pa, size_t size, unsigned prot,
		      void *arg)
{
	bool bad = !vm_prot_is_allowed(prot);

	for (size_t i = 0; i < ARRAY_SIZE(image_segments) && !bad; i++) {
		const struct segment *s = &image_segments[i];

		bad = (prot & VM_WRITE) && !(s->prot & VM_WRITE) &&
		      frames_overlap(pa, size, s);
	}
	if (!bad)
		return 0;
	*(unsigned long *)arg = va;
	return -EACCES;
}

int vm_check_protections(unsigned long *bad)
{
	return arch_mmu_walk(&kernel_pt, check_leaf, bad);
}
