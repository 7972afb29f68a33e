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
	u8 *code;
	unsigned used; /* units */
	DECLARE_BITMAP(map, UNITS);
	struct exec *owners[UNITS];
};

/* By page of the near area; NULL: nothing of ours there. */
static struct chunk *chunk_at[NEAR_SIZE >> PAGE_SHIFT];
static LIST_HEAD(chunks); /* those with room first */
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

static void poison(unsigned long addr, size_t n)
{
	u8 traps[8 * UNIT];

	for (size_t i = 0; i < sizeof(traps); i++)
		traps[i] = arch_break_insn[i % ARCH_BREAK_SIZE];
	while (n > 0) {
		size_t here = min(n, sizeof(traps));

		text_write_unused(addr, traps, here);
		addr += here;
		n -= here;
	}
}

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

void exec_free(struct exec *x)
{
	struct chunk *chunk = chunk_of(x->at);
	size_t n = x->size / UNIT;
	size_t i = (x->at - (unsigned long)chunk->code) / UNIT;

	poison(x->at, x->size);
	bitmap_clear_range(chunk->map, i, n);
	set_owner(chunk, i, n, NULL);
	chunk->used -= n;
	nr_used -= n;
	x->at = 0;
	if (chunk->used == 0 && chunk != first) {
		chunk_remove(chunk);
	} else {
		list_del(&chunk->link);
		list_add(&chunk->link, &chunks);
	}
}

unsigned exec_units_used(void)
{
	return nr_used;
}
