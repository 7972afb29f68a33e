// SPDX-License-Identifier: MIT
/*
 * The window of stubs.
 *
 * A pun leads where the bytes of the text happen to say, so its stub has to be at
 * a given address, or in a small range, anywhere within 2 GiB of text. Sonde owns
 * its address space: all of the window but the near area and the
 * image is kept free for that, and pages are mapped where a stub falls.
 *
 *	virtual pages		A: . S . . . . . .	B: . . . . . T . .
 *				      \			   /
 *	one frame		   : . S . . . T . .
 *
 * Stubs are few bytes and far apart, so virtual pages share frames as long as
 * their stubs do not collide in the page. If one comes where they do, its page
 * moves to another frame with everything that is its own:
 *
 *	U is to be in A where B has T: A's stubs are copied to a frame where they
 *	and U fit, A's entry in the page table changes to it in one store, all CPUs
 *	flush, and only then is what A had in the old frame free.
 *
 * Whoever is running through A sees the same bytes before and after. Where a
 * virtual page shows the stub of another one, nothing leads: to jump there is as
 * wrong as to jump into any other place that is no code.
 *
 * Bytes of frames that belong to no stub are breakpoints. Frames are written as
 * data while no page shows them, and where only other pages' stubs are being
 * run; stubs are written through patch.c's alias. No mapping of the window is
 * ever writable.
 *
 * Empty pages stay until window_trim(), so that many can go with one flush.
 */
#include "window.h"
#include <arch/text.h>
#include <kernel/frames.h>
#include <kernel/heap.h>
#include <kernel/image.h>
#include <kernel/vm.h>
#include <lib/bitmap.h>
#include <lib/errno.h>
#include <lib/list.h>
#include <lib/string.h>
#include "site.h"

/* How many pages of a wide range are looked at before the next idea. */
#define TRIES 64

struct window_frame {
	struct list_head link;
	phys_t pa;
	unsigned pages; /* that show it */
	unsigned low;	/* no room for a whole stub begins below this offset */
	DECLARE_BITMAP(taken, PAGE_SIZE);
};

struct window_page {
	struct rb_node node;
	struct list_head empty; /* while it has no pieces */
	unsigned long va;
	struct window_frame *frame;
	unsigned pieces; /* stubs, or ends of stubs */
};

/* What of a stub lies in one page. */
struct piece {
	unsigned long va; /* of the page */
	unsigned offset, size;
};

static struct rb_root stubs, pages;
static LIST_HEAD(frames);
static LIST_HEAD(empty_pages);
static unsigned nr_stubs, nr_pages, nr_frames;

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

unsigned window_page_count(void)
{
	return nr_pages;
}

unsigned window_frame_count(void)
{
	return nr_frames;
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

static bool piece_fits(const struct window_frame *frame, const struct piece *p)
{
	unsigned end = p->offset + p->size;

	return bitmap_find_next(frame->taken, end, p->offset) == end;
}

/* Does @fn like all pieces that are in the page at @va? */
static bool pieces_all(unsigned long va,
		       bool (*fn)(const struct piece *p, void *arg), void *arg)
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

/* Frames -------------------------------------------------------------------- */

static void fill_breaks(u8 *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = arch_break_insn[i % ARCH_BREAK_SIZE];
}

static struct window_frame *frame_add(void)
{
	struct window_frame *frame = kzalloc(sizeof(*frame));

	if (!frame)
		return NULL;
	frame->pa = frame_alloc(0);
	if (!frame->pa) {
		kfree(frame);
		return NULL;
	}
	fill_breaks(phys_to_virt(frame->pa), PAGE_SIZE);
	list_add_tail(&frame->link, &frames);
	nr_frames++;
	return frame;
}

/* One page less shows it. */
static void frame_put(struct window_frame *frame)
{
	if (--frame->pages > 0)
		return;
	list_del(&frame->link);
	nr_frames--;
	frame_free(frame->pa, 0);
	kfree(frame);
}

/*
 * Room for a whole stub at an offset in [from, to]. Most searches are for any
 * offset at all, and most frames are full from the start up to somewhere.
 */
static bool frame_hole(struct window_frame *frame, unsigned from, unsigned to,
		       unsigned *offset)
{
	bool lowest = from <= frame->low;

	if (lowest)
		from = frame->low;
	if (from > to)
		return false;
	*offset = bitmap_find_zero_area(frame->taken, to + STUB_SIZE, from,
					STUB_SIZE, 1);
	if (lowest)
		frame->low = min(*offset, to + 1);
	return *offset <= to;
}

static void frame_take(struct window_frame *frame, const struct piece *p)
{
	bitmap_set_range(frame->taken, p->offset, p->size);
}

static void frame_give(struct window_frame *frame, const struct piece *p)
{
	unsigned before = p->offset - min(p->offset, STUB_SIZE - 1u);

	bitmap_clear_range(frame->taken, p->offset, p->size);
	frame->low = min(frame->low, before);
}

struct fitting {
	const struct window_frame *frame;
};

static bool fits_too(const struct piece *p, void *arg)
{
	return piece_fits(((struct fitting *)arg)->frame, p);
}

/* A frame for everything in the page @p is in, and for @p; NULL: no memory. */
static struct window_frame *frame_for(const struct piece *p)
{
	struct window_frame *frame;

	list_for_each_entry(frame, &frames, link) {
		struct fitting f = { frame };

		if (piece_fits(frame, p) && pieces_all(p->va, fits_too, &f))
			return frame;
	}
	return frame_add();
}

/* Pages --------------------------------------------------------------------- */

static struct window_page *page_of(struct rb_node *node)
{
	return node ? rb_entry(node, struct window_page, node) : NULL;
}

static bool page_less(const struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct window_page, node)->va <
	       rb_entry(b, struct window_page, node)->va;
}

static int page_compare(const void *key, const struct rb_node *node)
{
	unsigned long va = *(const unsigned long *)key;
	unsigned long at = rb_entry(node, struct window_page, node)->va;

	return va < at ? -1 : va > at;
}

static struct window_page *page_find(unsigned long va)
{
	return page_of(rb_find(&pages, &va, page_compare));
}

static struct window_page *page_at_or_after(unsigned long va)
{
	struct rb_node *n = rb_find_at_or_before(&pages, &va, page_compare);

	if (n && page_of(n)->va < va)
		return page_of(rb_next(n));
	return page_of(n ? n : rb_first(&pages));
}

/* Maps the page at @va to @frame (NULL: no memory for one). */
static int page_add(unsigned long va, struct window_frame *frame)
{
	struct window_page *page = frame ? kzalloc(sizeof(*page)) : NULL;
	int err = -ENOMEM;

	if (!frame)
		return err;
	frame->pages++;
	if (page)
		err = vm_page_map(va, frame->pa, VM_READ | VM_EXEC);
	if (err) {
		kfree(page);
		frame_put(frame);
		return err;
	}
	page->va = va;
	page->frame = frame;
	rb_add(&pages, &page->node, page_less);
	list_add(&page->empty, &empty_pages);
	nr_pages++;
	return 0;
}

struct move {
	struct window_frame *from, *to;
};

static bool copy_piece(const struct piece *p, void *arg)
{
	const struct move *m = arg;

	memcpy((u8 *)phys_to_virt(m->to->pa) + p->offset,
	       (const u8 *)phys_to_virt(m->from->pa) + p->offset, p->size);
	frame_take(m->to, p);
	return true;
}

static bool forget_piece(const struct piece *p, void *arg)
{
	const struct move *m = arg;

	fill_breaks((u8 *)phys_to_virt(m->from->pa) + p->offset, p->size);
	frame_give(m->from, p);
	return true;
}

/* To another frame that has room for it, with what is its own. */
static int page_move(struct window_page *page, struct window_frame *to)
{
	struct move m = { page->frame, to };

	if (!to)
		return -ENOMEM;
	to->pages++;
	pieces_all(page->va, copy_piece, &m);
	vm_page_move(page->va, to->pa);
	page->frame = to;
	pieces_all(page->va, forget_piece, &m);
	frame_put(m.from);
	return 0;
}

static void page_free(struct window_page *page)
{
	frame_put(page->frame);
	rb_erase(&pages, &page->node);
	kfree(page);
	nr_pages--;
}

void window_trim(void)
{
	while (!list_empty(&empty_pages)) {
		struct window_page *gone[VM_UNMAP_BATCH];
		unsigned long va[VM_UNMAP_BATCH];
		unsigned n = 0;

		while (n < VM_UNMAP_BATCH && !list_empty(&empty_pages)) {
			gone[n] = list_first_entry(&empty_pages,
						   struct window_page, empty);
			list_del(&gone[n]->empty);
			va[n] = gone[n]->va;
			n++;
		}
		vm_pages_unmap(va, n);
		while (n > 0)
			page_free(gone[--n]);
	}
}

/* Placing ------------------------------------------------------------------- */

/* Every page of a stub at @addr is mapped, and its frame has room for it. */
static int place(struct stub *s, unsigned long addr)
{
	struct piece p;

	for (unsigned i = 0; piece_of(addr, i, &p); i++) {
		struct window_page *page = page_find(p.va);

		frame_take(page->frame, &p);
		if (page->pieces++ == 0)
			list_del(&page->empty);
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
		    frame_hole(page->frame, from, to, &offset))
			return place(s, page->va + offset);
		page = page_of(rb_next(&page->node));
	}
	return -ENOSPC;
}

static int take_in_new_page(struct stub *s, unsigned long va, unsigned from,
			    unsigned to)
{
	unsigned offset = from;
	struct window_frame *frame;
	int err;

	list_for_each_entry(frame, &frames, link) {
		if (frame_hole(frame, from, to, &offset)) {
			err = page_add(va, frame);
			return err ? err : place(s, va + offset);
		}
	}
	err = page_add(va, frame_add());
	return err ? err : place(s, va + from);
}

/* In a page that is not mapped yet. */
static int take_new(struct stub *s, unsigned long first, unsigned long last)
{
	unsigned long va = ALIGN_DOWN(first, PAGE_SIZE);
	unsigned from, to;

	for (unsigned i = 0; va <= last && i < TRIES; i++, va += PAGE_SIZE) {
		if (clip(va, first, last, &from, &to) && !page_find(va))
			return take_in_new_page(s, va, from, to);
	}
	return -ENOSPC;
}

/* Sees to it that @p can be had, and takes it. */
static int piece_take(const struct piece *p)
{
	struct window_page *page = page_find(p->va);
	int err = 0;

	if (!page)
		err = page_add(p->va, frame_for(p));
	else if (!piece_fits(page->frame, p))
		err = page_move(page, frame_for(p));
	if (!err)
		frame_take(page_find(p->va)->frame, p);
	return err;
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
			frame_give(page_find(head.va)->frame, &head);
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
		struct window_page *page = page_find(p.va);

		frame_give(page->frame, &p);
		if (--page->pieces == 0)
			list_add(&page->empty, &empty_pages);
	}
	s->addr = 0;
	nr_stubs--;
}
