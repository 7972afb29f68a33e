// SPDX-License-Identifier: MIT
/*
 * Executable memory near text: slots, which hold copies of displaced
 * instructions, and detours.
 *
 * It comes in chunks of the near area, mapped RX and never anything else; patch.c
 * writes them through its alias. Runs of units are handed out. A free unit is
 * full of breakpoints, so that running one by mistake is a trap at an address
 * that belongs to nobody.
 *
 *	exec_alloc()	units of its own
 *	exec_trim()	fewer, when it is known how many it takes
 *	exec_write()	its code is staged: neighbours are written together,
 *	exec_flush()	the last ones before anything leads there
 *	exec_free()	nobody's, but still taken
 *	exec_sweep()	breakpoints, for all that were freed; empty chunks go
 *
 * since each write costs two changes of a mapping, and changes come in batches of
 * many thousands.
 *
 * The first chunk is there from boot on, so that a single probe costs no mapping;
 * others come and go.
 *
 * exec_at() is asked by traps there, in any context; everything else is under
 * probe_mutex. A chunk's entry stays until quiescence, like what is in it.
 */
#include <kernel/heap.h>
#include <kernel/vm.h>
#include <lib/bitmap.h>
#include <lib/errno.h>
#include <lib/list.h>
#include <lib/string.h>
#include "jump.h"
#include "region.h"
#include "site.h"

#define CHUNK_PAGES 16
#define CHUNK_SIZE  (CHUNK_PAGES * PAGE_SIZE)
#define UNIT	    32
#define UNITS	    (CHUNK_SIZE / UNIT)
/* Chunks that are looked into before there is a new one. */
#define TRIES 4

struct chunk {
	struct list_head link;
	struct list_head unswept; /* if nr_gone > 0 */
	u8 *code;
	unsigned used; /* units */
	unsigned nr_gone;
	DECLARE_BITMAP(map, UNITS);
	DECLARE_BITMAP(gone, UNITS); /* freed, not yet swept */
	struct exec *owners[UNITS];
};

/* By page of the near area; NULL: nothing of ours there. */
static struct chunk *chunk_at[NEAR_SIZE >> PAGE_SHIFT];
static LIST_HEAD(chunks); /* those with room first */
static LIST_HEAD(unswept);
static struct chunk *first;
static unsigned nr_used;

static __noprobe struct chunk *chunk_of(unsigned long addr)
{
	if (addr - NEAR_BASE >= NEAR_SIZE)
		return NULL;
	/* Pairs with the release in publish(). */
	return load_acquire(&chunk_at[(addr - NEAR_BASE) >> PAGE_SHIFT]);
}

__noprobe struct exec *exec_at(unsigned long addr)
{
	struct chunk *chunk = chunk_of(addr);

	if (!chunk)
		return NULL;
	return READ_ONCE(
		chunk->owners[(addr - (unsigned long)chunk->code) / UNIT]);
}

bool exec_is_leaving(unsigned long pc)
{
	const struct exec *x = exec_at(pc);

	return x && READ_ONCE(x->leaving);
}

bool exec_is_near(unsigned long addr)
{
	return chunk_of(addr) != NULL;
}

static void publish(const u8 *code, struct chunk *chunk)
{
	unsigned long page = ((unsigned long)code - NEAR_BASE) >> PAGE_SHIFT;

	for (unsigned i = 0; i < CHUNK_PAGES; i++)
		store_release(&chunk_at[page + i], chunk);
}

/* Writing ------------------------------------------------------------------- */

/* On its way to @at. Written with interrupts off, so not much at once. */
static struct {
	unsigned long at;
	size_t n;
	u8 code[1024];
} staged;

static void fill_breaks(u8 *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = arch_break_insn[i % ARCH_BREAK_SIZE];
}

void exec_flush(void)
{
	if (staged.n > 0)
		text_write_unused(staged.at, staged.code, staged.n);
	staged.n = 0;
}

void exec_write(const struct exec *x, const u8 *code, size_t n)
{
	u8 *to;

	if (x->at != staged.at + staged.n ||
	    x->size > sizeof(staged.code) - staged.n)
		exec_flush();
	if (staged.n == 0)
		staged.at = x->at;
	to = staged.code + staged.n;
	memcpy(to, code, n);
	fill_breaks(to + n, x->size - n);
	staged.n += x->size;
}

static void poison(unsigned long addr, size_t n)
{
	exec_flush();
	fill_breaks(staged.code, min(n, sizeof(staged.code)));
	while (n > 0) {
		size_t here = min(n, sizeof(staged.code));

		text_write_unused(addr, staged.code, here);
		addr += here;
		n -= here;
	}
}

/* Chunks -------------------------------------------------------------------- */

static struct chunk *chunk_add(void)
{
	struct chunk *chunk = kzalloc(sizeof(*chunk));

	if (!chunk)
		return NULL;
	chunk->code = vm_alloc_near(CHUNK_PAGES, VM_READ | VM_EXEC);
	if (!chunk->code) {
		kfree(chunk);
		return NULL;
	}
	poison((unsigned long)chunk->code, CHUNK_SIZE);
	publish(chunk->code, chunk);
	list_add(&chunk->link, &chunks);
	return chunk;
}

static void chunk_remove(struct chunk *chunk)
{
	list_del(&chunk->link);
	publish(chunk->code, NULL);
	vm_free(chunk->code);
	kfree(chunk);
}

int probe_init(void)
{
	first = chunk_add();
	if (!first)
		return -ENOMEM;
	return ARCH_JUMP_PUNS ? region_init() : 0;
}

/* Runs of units ------------------------------------------------------------- */

/* Room for @n units: a chunk and the first of them, or NULL. */
static struct chunk *find_room(size_t n, size_t *i)
{
	for (unsigned tries = 0; tries < TRIES && !list_empty(&chunks);
	     tries++) {
		struct chunk *chunk = list_first_entry(&chunks, struct chunk,
						       link);

		*i = bitmap_find_zero_area(chunk->map, UNITS, 0, n, 1);
		if (*i < UNITS)
			return chunk;
		list_move_tail(&chunk->link, &chunks);
	}
	*i = 0;
	return chunk_add();
}

static void set_owner(struct chunk *chunk, size_t i, size_t n, struct exec *x)
{
	for (; n > 0; n--)
		WRITE_ONCE(chunk->owners[i++], x);
}

int exec_alloc(struct exec *x, size_t size)
{
	size_t n = DIV_ROUND_UP(size, UNIT), i;
	struct chunk *chunk = find_room(n, &i);

	if (!chunk)
		return -ENOSPC;
	bitmap_set_range(chunk->map, i, n);
	set_owner(chunk, i, n, x);
	chunk->used += n;
	nr_used += n;
	x->at = (unsigned long)chunk->code + i * UNIT;
	x->size = n * UNIT;
	x->leaving = false;
	return 0;
}

void exec_trim(struct exec *x, size_t size)
{
	struct chunk *chunk = chunk_of(x->at);
	size_t i = (x->at - (unsigned long)chunk->code) / UNIT;
	size_t keep = DIV_ROUND_UP(size, UNIT), n = x->size / UNIT - keep;

	set_owner(chunk, i + keep, n, NULL);
	bitmap_clear_range(chunk->map, i + keep, n);
	chunk->used -= n;
	nr_used -= n;
	x->size = keep * UNIT;
}

void exec_free(struct exec *x)
{
	struct chunk *chunk = chunk_of(x->at);
	size_t n = x->size / UNIT;
	size_t i = (x->at - (unsigned long)chunk->code) / UNIT;

	set_owner(chunk, i, n, NULL);
	bitmap_set_range(chunk->gone, i, n);
	if (chunk->nr_gone == 0)
		list_add(&chunk->unswept, &unswept);
	chunk->nr_gone += n;
	nr_used -= n;
	x->at = 0;
}

static void chunk_sweep(struct chunk *chunk)
{
	size_t i, end;

	list_del(&chunk->unswept);
	chunk->used -= chunk->nr_gone;
	chunk->nr_gone = 0;
	if (chunk->used == 0 && chunk != first) {
		chunk_remove(chunk);
		return;
	}
	for_each_bit(i, chunk->gone, UNITS) {
		end = bitmap_find_next_zero(chunk->gone, UNITS, i);
		poison((unsigned long)chunk->code + i * UNIT, (end - i) * UNIT);
		bitmap_clear_range(chunk->gone, i, end - i);
		bitmap_clear_range(chunk->map, i, end - i);
	}
	list_del(&chunk->link);
	list_add(&chunk->link, &chunks);
}

void exec_sweep(void)
{
	exec_flush();
	while (!list_empty(&unswept))
		chunk_sweep(list_first_entry(&unswept, struct chunk, unswept));
}

unsigned exec_units_used(void)
{
	return nr_used;
}
