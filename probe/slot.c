// SPDX-License-Identifier: MIT
/*
 * Slots: executable memory near text for copies of displaced instructions.
 *
 * Slots come from pages that are mapped RX and never anything else; patch.c
 * writes them through its alias. A free slot is full of breakpoints, so that
 * running one by mistake is a trap at an address that belongs to nobody.
 * Everything here is under probe_mutex.
 */
#include <kernel/heap.h>
#include <kernel/vm.h>
#include <lib/bitmap.h>
#include <lib/list.h>
#include "site.h"

#define SLOTS_PER_PAGE (PAGE_SIZE / ARCH_SLOT_SIZE)

struct slot_page {
	struct list_head link;
	u8 *code;
	unsigned used;
	DECLARE_BITMAP(map, SLOTS_PER_PAGE);
};

static LIST_HEAD(pages); /* those with room first */
static unsigned nr_used;

static void poison(unsigned long addr, size_t n)
{
	u8 traps[ARCH_SLOT_SIZE];

	for (size_t i = 0; i < ARCH_SLOT_SIZE; i++)
		traps[i] = arch_break_insn[i % ARCH_BREAK_SIZE];
	for (size_t done = 0; done < n; done += ARCH_SLOT_SIZE)
		text_write_unused(addr + done, traps, ARCH_SLOT_SIZE);
}

static struct slot_page *page_add(void)
{
	struct slot_page *page = kzalloc(sizeof(*page));

	if (!page)
		return NULL;
	page->code = vm_alloc_near(1, VM_READ | VM_EXEC);
	if (!page->code) {
		kfree(page);
		return NULL;
	}
	poison((unsigned long)page->code, PAGE_SIZE);
	list_add(&page->link, &pages);
	return page;
}

static struct slot_page *page_of(unsigned long addr)
{
	struct slot_page *page;

	list_for_each_entry(page, &pages, link) {
		if (ALIGN_DOWN(addr, PAGE_SIZE) == (unsigned long)page->code)
			return page;
	}
	return NULL;
}

unsigned long slot_alloc(void)
{
	struct slot_page *page =
		list_empty(&pages)
			? NULL
			: list_first_entry(&pages, struct slot_page, link);
	size_t i;

	if (!page || page->used == SLOTS_PER_PAGE)
		page = page_add();
	if (!page)
		return 0;
	i = bitmap_find_next_zero(page->map, SLOTS_PER_PAGE, 0);
	bitmap_set(page->map, i);
	nr_used++;
	if (++page->used == SLOTS_PER_PAGE)
		list_move_tail(&page->link, &pages);
	return (unsigned long)page->code + i * ARCH_SLOT_SIZE;
}

void slot_write(unsigned long slot, const u8 *code)
{
	text_write_unused(slot, code, ARCH_SLOT_SIZE);
}

void slot_free(unsigned long slot)
{
	struct slot_page *page = page_of(slot);

	poison(slot, ARCH_SLOT_SIZE);
	bitmap_clear(page->map, slot % PAGE_SIZE / ARCH_SLOT_SIZE);
	nr_used--;
	list_del(&page->link);
	if (--page->used == 0) {
		vm_free(page->code);
		kfree(page);
	} else {
		list_add(&page->link, &pages);
	}
}

bool slot_contains(unsigned long addr)
{
	return page_of(addr) != NULL;
}

unsigned slot_count(void)
{
	return nr_used;
}
