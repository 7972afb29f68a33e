// SPDX-License-Identifier: MIT
/*
 * The kernel heap: slabs of equal objects for small sizes, whole frames for
 * large ones.
 *
 * Every block of frames that the heap owns begins with a struct block, and every
 * object begins in the first page of its block, so that rounding its address
 * down to a page finds the header:
 *
 *	slab	+-------+--------+--------+--------+--------+---  1 page
 *		| block | slot[] | object | object | object |
 *		+-------+--------+--------+--------+--------+---
 *	large	+-------+------------------------------------+--  2^order pages
 *		| block | object                             |
 *		+-------+------------------------------------+--
 *
 * slot[i] says all about object i: its size as asked for, or that it is free and
 * which one is free next. Nothing of the heap's own lies inside objects: writing
 * outside of one's own memory breaks others' data, but not the heap.
 *
 * Debug builds have 16 red bytes before the first object and after every one,
 * and fill what is not asked for, what is fresh and what is freed with patterns.
 *
 * Slabs without objects go back at once: which frames the heap holds depends
 * only on which objects there are.
 *
 * heap_lock (RANK_HEAP) protects everything here; irq-safe.
 */
#include <kernel/heap.h>
#include <kernel/extable.h>
#include <kernel/frames.h>
#include <kernel/lock.h>
#include <kernel/panic.h>
#include <arch/mmu.h>
#include <lib/errno.h>
#include <lib/list.h>
#include <lib/string.h>

#ifdef SONDE_DEBUG
#define RED_ZONE 16
#else
#define RED_ZONE 0
#endif

#define RED	     0xbb
#define FRESH	     0xa5
#define FREED	     0xdd

#define MAGIC_SLAB   0x51ab51abU
#define MAGIC_LARGE  0x1a46e1a4U

#define SLOT_FREE    0x8000
#define LARGE_OFFSET 64 /* of the object in a large block */
#define LARGE_MAX    ((PAGE_SIZE << FRAME_ORDER_MAX) - LARGE_OFFSET - RED_ZONE)

struct block {
	u32 magic;
	u16 class_index; /* slab: in classes[] */
	u16 order;	 /* large: of the frames */
	struct list_head link;
	size_t size; /* large: as asked for */
	u16 used;    /* slab: objects in use */
	u16 free;    /* slab: first free one; count if there is none */
	u16 slot[];  /* slab: size, or SLOT_FREE | next free one */
};
STATIC_ASSERT(sizeof(struct block) + 16 <= LARGE_OFFSET);

struct size_class {
	size_t stride; /* from one object to the next */
	size_t count;  /* objects in a slab */
	size_t first;  /* offset of the first one */
	/* All slabs; those with a free object come before those without. */
	struct list_head slabs;
};

/* They leave little of a page unused: 4032 / 2, / 3, / 4, ... */
static const u16 strides[] = { 16,  32,	 48,  64,  96,	 128,  192,
			       256, 400, 560, 800, 1008, 1344, 2016 };
static struct size_class classes[ARRAY_SIZE(strides)];

static struct spinlock heap_lock = SPINLOCK("heap", RANK_HEAP);
static LIST_HEAD(large_blocks);
static size_t bytes_used, objects_used;
static int fail_after = -1;

void heap_init(void)
{
	const size_t header = sizeof(struct block) + RED_ZONE;

	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		struct size_class *c = &classes[i];

		c->stride = strides[i];
		c->count = PAGE_SIZE / c->stride + 1;
		do {
			c->count--;
			c->first = header + c->count * sizeof(u16);
			c->first = ALIGN_UP(c->first, 16UL);
		} while (c->first + c->count * c->stride > PAGE_SIZE);
		INIT_LIST_HEAD(&c->slabs);
	}
}

/* Patterns ------------------------------------------------------------------*/

static void fill(u8 *from, const u8 *end, u8 with)
{
	if (RED_ZONE)
		memset(from, with, end - from);
}

static bool is_filled(const u8 *from, const u8 *end, u8 with)
{
	u64 pattern = 0x0101010101010101ULL * with, word, diff = 0;

	if (!RED_ZONE)
		return true;
	for (; (size_t)(end - from) >= sizeof(word); from += sizeof(word)) {
		__builtin_memcpy(&word, from, sizeof(word));
		diff |= word ^ pattern;
	}
	for (; from < end; from++)
		diff |= *from ^ with;
	return diff == 0;
}

static struct size_class *class_of(const struct block *b)
{
	return &classes[b->class_index];
}

static u8 *slab_object(struct block *b, size_t i)
{
	const struct size_class *c = class_of(b);

	return (u8 *)b + c->first + i * c->stride;
}

static u8 *large_object(struct block *b)
{
	return (u8 *)b + LARGE_OFFSET;
}

/* What is broken about object @i and the bytes around it, or NULL. */
static const char *slab_damage(struct block *b, size_t i)
{
	const struct size_class *c = class_of(b);
	u8 *object = slab_object(b, i), *end = object + c->stride;
	u16 slot = b->slot[i];

	if (!is_filled(object - RED_ZONE, object, RED))
		return "written before its start";
	if (slot & SLOT_FREE) {
		if (!is_filled(object, end - RED_ZONE, FREED))
			return "written after it was freed";
		slot = c->stride - RED_ZONE;
	}
	return is_filled(object + slot, end, RED) ? NULL
						  : "written past its end";
}

static const char *large_damage(struct block *b)
{
	u8 *object = large_object(b), *end = object + b->size;

	if (!is_filled(object - RED_ZONE, object, RED))
		return "written before its start";
	return is_filled(end, end + RED_ZONE, RED) ? NULL
						   : "written past its end";
}

/* Allocation ----------------------------------------------------------------*/

static struct block *slab_create(struct size_class *c)
{
	phys_t pa = frame_alloc(0);
	struct block *b;

	if (!pa)
		return NULL;
	b = phys_to_virt(pa);
	b->magic = MAGIC_SLAB;
	b->class_index = c - classes;
	b->used = 0;
	b->free = 0;
	fill(slab_object(b, 0), slab_object(b, c->count), FREED);
	fill(slab_object(b, 0) - RED_ZONE, slab_object(b, 0), RED);
	for (size_t i = 0; i < c->count; i++) {
		u8 *end = slab_object(b, i + 1);

		b->slot[i] = SLOT_FREE | (i + 1);
		fill(end - RED_ZONE, end, RED);
	}
	list_add(&b->link, &c->slabs);
	return b;
}

static struct block *slab_with_room(struct size_class *c)
{
	struct block *b;

	b = list_first_entry_or_null(&c->slabs, struct block, link);
	return b && b->used < c->count ? b : slab_create(c);
}

static void *slab_alloc(struct size_class *c, size_t size)
{
	struct block *b = slab_with_room(c);
	const char *damage;
	u8 *object;
	u16 i;

	if (!b)
		return NULL;
	i = b->free;
	object = slab_object(b, i);
	damage = slab_damage(b, i);
	if (damage)
		panic("heap: free object %p was %s", object, damage);
	b->free = b->slot[i] & ~SLOT_FREE;
	b->slot[i] = size;
	if (++b->used == c->count)
		list_move_tail(&b->link, &c->slabs);
	fill(object, object + size, FRESH);
	fill(object + size, object + c->stride, RED);
	return object;
}

static void *large_alloc(size_t size)
{
	unsigned order = 0;
	struct block *b;
	phys_t pa;
	u8 *object;

	if (size > LARGE_MAX)
		return NULL;
	while (PAGE_SIZE << order < LARGE_OFFSET + size + RED_ZONE)
		order++;
	pa = frame_alloc(order);
	if (!pa)
		return NULL;
	b = phys_to_virt(pa);
	b->magic = MAGIC_LARGE;
	b->order = order;
	b->size = size;
	list_add(&b->link, &large_blocks);
	object = large_object(b);
	fill(object - RED_ZONE, object, RED);
	fill(object + size, object + size + RED_ZONE, RED);
	return object;
}

static void *alloc_locked(size_t size)
{
	if (fail_after >= 0 && fail_after-- == 0)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (size <= classes[i].stride - RED_ZONE)
			return slab_alloc(&classes[i], size);
	return large_alloc(size);
}

void *kmalloc(size_t size)
{
	unsigned long flags = spin_lock_irqsave(&heap_lock);
	void *p = alloc_locked(size);

	if (p) {
		bytes_used += size;
		objects_used++;
	}
	spin_unlock_irqrestore(&heap_lock, flags);
	return p;
}

void *kzalloc(size_t size)
{
	void *p = kmalloc(size);

	return p ? memset(p, 0, size) : NULL;
}

void *kcalloc(size_t n, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(n, size, &bytes) ? NULL : kzalloc(bytes);
}

/* Freeing -------------------------------------------------------------------*/

/* The block of @p, if its header can be read and looks like one. */
static struct block *block_of(void *p)
{
	struct block *b = (void *)ALIGN_DOWN((unsigned long)p, PAGE_SIZE);
	u32 magic;

	if (peek(&magic, &b->magic, sizeof(magic)))
		return NULL;
	return magic == MAGIC_SLAB || magic == MAGIC_LARGE ? b : NULL;
}

static void block_destroy(struct block *b, unsigned order)
{
	list_del(&b->link);
	b->magic = 0;
	frame_free(virt_to_phys(b), order);
}

/* What is wrong with freeing @p, or NULL and its index. */
static const char *slab_refusal(struct block *b, u8 *p, size_t *index)
{
	const struct size_class *c = class_of(b);
	size_t offset = p - (u8 *)b - c->first;

	*index = offset / c->stride;
	if (p < (u8 *)b + c->first || *index >= c->count || offset % c->stride)
		return "not the start of an object";
	if (b->slot[*index] & SLOT_FREE)
		return "already free";
	return slab_damage(b, *index);
}

static const char *slab_free(struct block *b, u8 *p)
{
	struct size_class *c = class_of(b);
	const char *refusal;
	size_t i;

	refusal = slab_refusal(b, p, &i);
	if (refusal)
		return refusal;
	bytes_used -= b->slot[i];
	fill(p, p + c->stride - RED_ZONE, FREED);
	b->slot[i] = SLOT_FREE | b->free;
	b->free = i;
	if (b->used-- == c->count) {
		list_del(&b->link);
		list_add(&b->link, &c->slabs);
	}
	if (!b->used)
		block_destroy(b, 0);
	return NULL;
}

static const char *large_free(struct block *b, u8 *p)
{
	const char *refusal = p == large_object(b)
				      ? large_damage(b)
				      : "not the start of an object";

	if (refusal)
		return refusal;
	bytes_used -= b->size;
	block_destroy(b, b->order);
	return NULL;
}

void kfree(void *p)
{
	const char *refusal = "not from the heap, or already free";
	struct block *b;
	unsigned long flags;

	if (!p)
		return;
	flags = spin_lock_irqsave(&heap_lock);
	b = block_of(p);
	if (b)
		refusal = b->magic == MAGIC_SLAB ? slab_free(b, p)
						 : large_free(b, p);
	if (refusal)
		panic("kfree(%p): %s", p, refusal);
	objects_used--;
	spin_unlock_irqrestore(&heap_lock, flags);
}

/* Looking -------------------------------------------------------------------*/

size_t heap_bytes_used(void)
{
	return READ_ONCE(bytes_used);
}

size_t heap_objects_used(void)
{
	return READ_ONCE(objects_used);
}

/* The first damaged object of @b, or NULL; @b itself if its list is broken. */
static void *slab_check(struct block *b)
{
	const struct size_class *c = class_of(b);
	size_t left = c->count - b->used, i;

	for (i = 0; i < c->count; i++)
		if (slab_damage(b, i))
			return slab_object(b, i);
	for (i = b->free; i < c->count && left; left--) {
		if (!(b->slot[i] & SLOT_FREE))
			return b;
		i = b->slot[i] & ~SLOT_FREE;
	}
	return i == c->count && !left ? NULL : b;
}

static void *check_locked(void)
{
	struct block *b;
	void *bad;

	for (struct size_class *c = classes; c < classes + ARRAY_SIZE(classes);
	     c++)
		list_for_each_entry(b, &c->slabs, link) {
			bad = slab_check(b);
			if (bad)
				return bad;
		}
	list_for_each_entry(b, &large_blocks, link)
		if (large_damage(b))
			return large_object(b);
	return NULL;
}

int heap_check(void **bad)
{
	unsigned long flags = spin_lock_irqsave(&heap_lock);

	*bad = check_locked();
	spin_unlock_irqrestore(&heap_lock, flags);
	return *bad ? -EILSEQ : 0;
}

void heap_fail_after(int n)
{
	unsigned long flags = spin_lock_irqsave(&heap_lock);

	fail_after = n;
	spin_unlock_irqrestore(&heap_lock, flags);
}
