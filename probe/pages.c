// SPDX-License-Identifier: MIT
/*
 * Pages of the window, mapped where a stub falls.
 *
 * Stubs are few bytes and far apart, so virtual pages share frames as long as
 * their stubs do not collide in the page:
 *
 *	virtual pages		A: . S . . . . . .	B: . . . . . T . .
 *				      \			   /
 *	one frame		   : . S . . . T . .
 *
 * If one comes where they do, its page moves to another frame with everything that
 * is its own:
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
 * run. No mapping is ever writable.
 *
 * Empty pages stay until window_trim(), so that many can go with one flush.
 */
#include "pages.h"
#include <arch/text.h>
#include <kernel/frames.h>
#include <kernel/heap.h>
#include <kernel/vm.h>
#include <lib/bitmap.h>
#include <lib/errno.h>
#include <lib/string.h>
#include "window.h"

/* Frames that are looked into before there is a new one. */
#define FRAME_TRIES 16

struct window_frame {
	struct list_head link;
	phys_t pa;
	unsigned pages; /* that show it */
	unsigned low;	/* no room for a whole stub begins below this offset */
	DECLARE_BITMAP(taken, PAGE_SIZE);
};

static struct rb_root pages;
static LIST_HEAD(frames); /* those with room first */
static LIST_HEAD(empty_pages);
static unsigned nr_pages, nr_frames;

unsigned window_page_count(void)
{
	return nr_pages;
}

unsigned window_frame_count(void)
{
	return nr_frames;
}

/* Frames -------------------------------------------------------------------- */

void fill_breaks(u8 *to, size_t n)
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
	list_add(&frame->link, &frames);
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

static bool piece_fits(const struct window_frame *frame, const struct piece *p)
{
	unsigned end = p->offset + p->size;

	return bitmap_find_next(frame->taken, end, p->offset) == end;
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

struct window_page *page_find(unsigned long va)
{
	return page_of(rb_find(&pages, &va, page_compare));
}

struct window_page *page_at_or_after(unsigned long va)
{
	struct rb_node *n = rb_find_at_or_before(&pages, &va, page_compare);

	if (n && page_of(n)->va < va)
		return page_of(rb_next(n));
	return page_of(n ? n : rb_first(&pages));
}

struct window_page *page_next(const struct window_page *page)
{
	return page_of(rb_next(&page->node));
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

/* For stubs ----------------------------------------------------------------- */

bool page_hole(const struct window_page *page, unsigned from, unsigned to,
	       unsigned *offset)
{
	return frame_hole(page->frame, from, to, offset);
}

int page_add_with_hole(unsigned long va, unsigned from, unsigned to,
		       unsigned *offset)
{
	for (unsigned tries = 0; tries < FRAME_TRIES && !list_empty(&frames);
	     tries++) {
		struct window_frame *frame =
			list_first_entry(&frames, struct window_frame, link);

		if (frame_hole(frame, from, to, offset))
			return page_add(va, frame);
		list_move_tail(&frame->link, &frames);
	}
	*offset = from;
	return page_add(va, frame_add());
}

void piece_keep(const struct piece *p)
{
	frame_take(page_find(p->va)->frame, p);
}

void piece_give(const struct piece *p)
{
	frame_give(page_find(p->va)->frame, p);
}

int piece_take(const struct piece *p)
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

void page_use(struct window_page *page)
{
	if (page->pieces++ == 0)
		list_del(&page->empty);
}

void page_leave(struct window_page *page)
{
	if (--page->pieces == 0)
		list_add(&page->empty, &empty_pages);
}
