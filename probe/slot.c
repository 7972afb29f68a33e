// SPDX-License-Identifier: MIT
/*
 * Slots: executable memory near text for copies of displaced instructions.
 *
 * Slots come from pages of the near area, mapped RX and never anything else;
 * patch.c writes them through its alias. A free slot is full of breakpoints, so
 * that running one by mistake is a trap at an address that belongs to nobody.
 *
 * The first page is there from boot on, so that a single probe costs no mapping;
 * others come and go.
 *
 * slot_site() is asked by traps in slots, in any context; everything else is
 * under probe_mutex. A page's entry stays until quiescence, like its slots.
 */
#include <kernel/heap.h>
#include <kernel/vm.h>
#include <lib/bitmap.h>
#include <lib/errno.h>
#include <lib/list.h>
#include "jump.h"
#include "region.h"
#include "site.h"

#define SLOTS_PER_PAGE (PAGE_SIZE / ARCH_SLOT_SIZE)

struct slot_page {
	struct list_head link;
	u8 *code;
	unsigned used;
	DECLARE_BITMAP(map, SLOTS_PER_PAGE);
	struct site *sites[SLOTS_PER_PAGE];
};

/* By page of the near area; NULL: no slots there. */
static struct slot_page *page_at[NEAR_SIZE >> PAGE_SHIFT];
static LIST_HEAD(pages); /* those with room first */
static unsigned nr_used;

static __noprobe struct slot_page *page_of(unsigned long addr)
{
	if (addr - NEAR_BASE >= NEAR_SIZE)
		return NULL;
	/* Pairs with the release in page_add(). */
	return load_acquire(&page_at[(addr - NEAR_BASE) >> PAGE_SHIFT]);
}

__noprobe struct site *slot_site(unsigned long addr)
{
	struct slot_page *page = page_of(addr);
	unsigned long i = addr % PAGE_SIZE / ARCH_SLOT_SIZE;

	return page && i < SLOTS_PER_PAGE ? READ_ONCE(page->sites[i]) : NULL;
}

bool slot_is_leaving(unsigned long pc)
{
	const struct site *s = slot_site(pc);

	return s && READ_ONCE(s->leaving);
}

static void page_publish(const u8 *code, struct slot_page *page)
{
	unsigned long n = ((unsigned long)code - NEAR_BASE) >> PAGE_SHIFT;

	/* Pairs with the acquire in page_of(). */
	store_release(&page_at[n], page);
}

static void poison(unsigned long addr, size_t n)
{
	u8 traps[ARCH_SLOT_SIZE];

	for (size_t i = 0; i < ARCH_SLOT_SIZE; i++)
		traps[i] = arch_break_insn[i % ARCH_BREAK_SIZE];
	while (n > 0) {
		size_t here = min(n, sizeof(traps));

		text_write_unused(addr, traps, here);
		addr += here;
		n -= here;
	}
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
	page_publish(page->code, page);
	list_add(&page->link, &pages);
	return page;
}

static struct slot_page *first;

int probe_init(void)
{
	first = page_add();
	if (!first)
		return -ENOMEM;
	return ARCH_JUMP_PUNS ? region_init() : 0;
}

unsigned long slot_alloc(struct site *s)
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
	page->sites[i] = s;
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
	size_t i = slot % PAGE_SIZE / ARCH_SLOT_SIZE;

	poison(slot, ARCH_SLOT_SIZE);
	page->sites[i] = NULL;
	bitmap_clear(page->map, i);
	nr_used--;
	list_del(&page->link);
	if (--page->used == 0 && page != first) {
		page_publish(page->code, NULL);
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
