/* SPDX-License-Identifier: MIT */
/*
 * Inside the window: its pages, and the frames that they share. window.c knows
 * what is in them. Under probe_mutex, in threads.
 */
#ifndef SONDE_PROBE_PAGES_H
#define SONDE_PROBE_PAGES_H

#include <arch/mmu.h>
#include <lib/list.h>
#include <lib/rbtree.h>

struct window_frame;

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

/* window.c: does @fn like all pieces that are in the page at @va? */
bool pieces_all(unsigned long va, bool (*fn)(const struct piece *p, void *arg),
		void *arg);

void fill_breaks(u8 *to, size_t n);

/* The page at @va, the first at or above it, the one behind; or NULL. */
struct window_page *page_find(unsigned long va);
struct window_page *page_at_or_after(unsigned long va);
struct window_page *page_next(const struct window_page *page);

/* Room for a whole stub at an offset in [from, to] of @page. */
bool page_hole(const struct window_page *page, unsigned from, unsigned to,
	       unsigned *offset);
/* Maps a page at @va that has such room. -ENOMEM. */
int __must_check page_add_with_hole(unsigned long va, unsigned from,
				    unsigned to, unsigned *offset);
/*
 * Sees to it that @p, where no stub is, can be had, by mapping a page or moving
 * it to another frame; and takes it. -ENOMEM.
 */
int __must_check piece_take(const struct piece *p);
/* Takes @p, in a page with room for it; gives it back. */
void piece_keep(const struct piece *p);
void piece_give(const struct piece *p);
/* A stub, or its end, is in @page from now on; no more. */
void page_use(struct window_page *page);
void page_leave(struct window_page *page);

#endif
