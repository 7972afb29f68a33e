// SPDX-License-Identifier: MIT
/*
 * The window of stubs.
 *
 * A pun leads where the bytes of the text happen to say, so its stub has to be at
 * a given address, or in a small range, anywhere within 2 GiB of text. Sonde owns
 * its address space: all of the window but the near area and the image is kept
 * free for that, and pages are mapped where a stub falls (pages.c).
 *
 * Stubs are written through patch.c's alias.
 */
#include "window.h"
#include <arch/text.h>
#include <kernel/image.h>
#include <lib/errno.h>
#include "pages.h"
#include "site.h"

/* How many pages of a wide range are looked at before the next idea. */
#define TRIES 64

static struct rb_root stubs;
static unsigned nr_stubs;

static const struct zone {
	unsigned long start, end;
} zones[] = {
	{ WINDOW_BASE, NEAR_BASE },
	{ NEAR_BASE + NEAR_SIZE, (unsigned long)__image_start },
	{ (unsigned long)__image_end, WINDOW_BASE + WINDOW_SIZE },
};

bool window_contains(unsigned long pc)
{
	for (unsigned i = 0; ARCH_JUMP_PUNS && i < ARRAY_SIZE(zones); i++) {
		if (pc >= zones[i].start && pc < zones[i].end)
			return true;
	}
	return false;
}

unsigned window_stub_count(void)
{
	return nr_stubs;
}

/* Stubs and their pieces ---------------------------------------------------- */

static struct stub *stub_of(struct rb_node *node)
{
	return node ? rb_entry(node, struct stub, node) : NULL;
}

static bool stub_less(const struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct stub, node)->addr <
	       rb_entry(b, struct stub, node)->addr;
}

static int stub_compare(const void *key, const struct rb_node *node)
{
	unsigned long addr = *(const unsigned long *)key;
	unsigned long at = rb_entry(node, struct stub, node)->addr;

	return addr < at ? -1 : addr > at;
}

/* The last stub with a byte in [first, first + size), or NULL. */
static struct stub *stub_last_in(unsigned long first, unsigned long size)
{
	unsigned long last = first + size - 1;
	struct stub *s =
		stub_of(rb_find_at_or_before(&stubs, &last, stub_compare));

	return s && s->addr + STUB_SIZE > first ? s : NULL;
}

/* Piece @n of a stub at @addr; false: it has only @n. */
static bool piece_of(unsigned long addr, unsigned n, struct piece *p)
{
	unsigned offset = addr % PAGE_SIZE;
	unsigned first = min(PAGE_SIZE - offset, (unsigned long)STUB_SIZE);

	if (n == 0)
		*p = (struct piece){ addr - offset, offset, first };
	else
		*p = (struct piece){ addr + first, 0, STUB_SIZE - first };
	return n <= 1 && p->size > 0;
}

bool pieces_all(unsigned long va, bool (*fn)(const struct piece *p, void *arg),
		void *arg)
{
	struct stub *s = stub_last_in(va, PAGE_SIZE);
	struct piece p;

	for (; s && s->addr + STUB_SIZE > va; s = stub_of(rb_prev(&s->node))) {
		for (unsigned i = 0; piece_of(s->addr, i, &p); i++) {
			if (p.va == va && !fn(&p, arg))
				return false;
		}
	}
	return true;
}

/* Placing ------------------------------------------------------------------- */

/* Every page of a stub at @addr is mapped, and its frame has room for it. */
static int place(struct stub *s, unsigned long addr)
{
	struct piece p;

	for (unsigned i = 0; piece_of(addr, i, &p); i++) {
		piece_keep(&p);
		page_use(page_find(p.va));
	}
	s->addr = addr;
	rb_add(&stubs, &s->node, stub_less);
	nr_stubs++;
	return 0;
}

/* The part of [first, last] where a stub that begins at @va's page ends in it. */
static bool clip(unsigned long va, unsigned long first, unsigned long last,
		 unsigned *from, unsigned *to)
{
	*from = max(first, va) - va;
	*to = min(last - va, PAGE_SIZE - STUB_SIZE);
	return *from <= *to;
}

/* In a page that is mapped already. */
static int take_mapped(struct stub *s, unsigned long first, unsigned long last)
{
	struct window_page *page =
		page_at_or_after(ALIGN_DOWN(first, PAGE_SIZE));
	unsigned from, to, offset;

	for (unsigned i = 0; page && page->va <= last && i < TRIES; i++) {
		if (clip(page->va, first, last, &from, &to) &&
		    page_hole(page, from, to, &offset))
			return place(s, page->va + offset);
		page = page_next(page);
	}
	return -ENOSPC;
}

/* In a page that is not mapped yet. */
static int take_new(struct stub *s, unsigned long first, unsigned long last)
{
	unsigned long va = ALIGN_DOWN(first, PAGE_SIZE);
	unsigned from, to, offset;

	for (unsigned i = 0; va <= last && i < TRIES; i++, va += PAGE_SIZE) {
		int err;

		if (!clip(va, first, last, &from, &to) || page_find(va))
			continue;
		err = page_add_with_hole(va, from, to, &offset);
		return err ? err : place(s, va + offset);
	}
	return -ENOSPC;
}

/* Across the end of a page, or by moving a page away from what collides. */
static int force(struct stub *s, unsigned long addr)
{
	struct piece head, tail;
	int err;

	if (stub_last_in(addr, STUB_SIZE))
		return -ENOSPC;
	piece_of(addr, 0, &head);
	err = piece_take(&head);
	if (!err && piece_of(addr, 1, &tail)) {
		err = piece_take(&tail);
		if (err)
			piece_give(&head);
	}
	return err ? err : place(s, addr);
}

static int take_forced(struct stub *s, unsigned long first, unsigned long last)
{
	int err = -ENOSPC;

	last = min(last, first + TRIES - 1);
	for (unsigned long addr = first; addr <= last && err == -ENOSPC; addr++)
		err = force(s, addr);
	return err;
}

int window_take(struct stub *s, enum window_way way, unsigned long first,
		unsigned long last)
{
	static int (*const ways[])(struct stub * s, unsigned long first,
				   unsigned long last) = {
		[WINDOW_MAPPED] = take_mapped,
		[WINDOW_NEW] = take_new,
		[WINDOW_FORCED] = take_forced,
	};
	int err = -ENOSPC;

	for (unsigned z = 0; z < ARRAY_SIZE(zones) && err == -ENOSPC; z++) {
		unsigned long from = max(first, zones[z].start);
		unsigned long to = min(last, zones[z].end - STUB_SIZE);

		if (from <= to)
			err = ways[way](s, from, to);
	}
	return err;
}

void window_write(const struct stub *s, const u8 *code)
{
	text_write_unused(s->addr, code, STUB_SIZE);
}

void window_give(struct stub *s)
{
	u8 breaks[STUB_SIZE];
	struct piece p;

	fill_breaks(breaks, sizeof(breaks));
	window_write(s, breaks);
	rb_erase(&stubs, &s->node);
	for (unsigned i = 0; piece_of(s->addr, i, &p); i++) {
		piece_give(&p);
		page_leave(page_find(p.va));
	}
	s->addr = 0;
	nr_stubs--;
}
