/* SPDX-License-Identifier: MIT */
/*
 * Inside the engine: the window, addresses within reach of text where nothing is
 * but stubs, each a jump of STUB_SIZE bytes to a detour.
 *
 * Writers hold probe_mutex, in threads: pages come and go.
 */
#ifndef SONDE_PROBE_WINDOW_H
#define SONDE_PROBE_WINDOW_H

#include <arch/jump.h>
#include <lib/rbtree.h>

#define STUB_SIZE ARCH_JUMP_SIZE

/* Stays where it is in memory while it is placed. */
struct stub {
	struct rb_node node;
	unsigned long addr; /* 0: not placed */
};

/* Ways to place a stub, the one that takes least first. */
enum window_way {
	WINDOW_MAPPED, /* in a page that is there already */
	WINDOW_NEW,    /* in one that is not */
	WINDOW_FORCED, /* across the end of a page, or by moving one away */
	WINDOW_WAYS
};

/*
 * Places @s anywhere in [first, last], in executable memory. -ENOSPC: there is
 * no room that way; -ENOMEM: no memory for a page there.
 */
int __must_check window_take(struct stub *s, enum window_way way,
			     unsigned long first, unsigned long last);
/* Its code, before anything leads there. */
void window_write(const struct stub *s, const u8 *code);
/* Takes it away again, when nobody is in it any more. */
void window_give(struct stub *s);
/* Unmaps the pages that window_give() has left empty. */
void window_trim(void);

/* Is @pc in the window, hence in a stub? Any context. */
bool window_contains(unsigned long pc);

unsigned window_stub_count(void);
unsigned window_page_count(void);
unsigned window_frame_count(void);

#endif
