// SPDX-License-Identifier: MIT
/*
 * Physical page frames: a binary buddy allocator.
 *
 * One byte of state per frame, in an array that is itself placed in RAM, says
 * what a frame is; only the first frame of a block knows its order. Free blocks
 * are linked through their own memory, by way of the direct map, which boot code
 * has to provide for all RAM before frames_init().
 *
 *	state	FREE|2  IN  IN  IN  USED|0  FREE|0  USED|1  IN  NONE ...
 *	frame	  4     5   6   7     8       9       10    11   12
 *
 * A block of order n begins at a multiple of 2^n; its buddy is the other half of
 * the block of order n + 1. So freeing looks at one byte per order.
 *
 * frames_lock (RANK_FRAMES) protects everything here; irq-safe.
 */
#include <kernel/frames.h>
#include <kernel/bootinfo.h>
#include <kernel/image.h>
#include <kernel/lock.h>
#include <kernel/panic.h>
#include <arch/mmu.h>
#include <lib/errno.h>
#include <lib/list.h>
#include <lib/string.h>

/* Left alone: firmware data, the trampoline of other CPUs. Makes 0 no frame. */
#define LOWEST_PA	 0x100000

#define FREE_MAGIC	 0x4652414d45465245UL
#define POISON_ALLOCATED 0xa5
#define POISON_FREED	 0xdf

enum frame_state {
	FRAME_NONE,	   /* not RAM, or not ours to give */
	FRAME_INSIDE,	   /* of a block that begins further down */
	FRAME_FREE = 0x40, /* first of a free block; + its order */
	FRAME_USED = 0x80, /* first of an allocated block; + its order */
};
#define STATE_ORDER 0x3f

/* What lies in the first bytes of a free block. */
struct free_block {
	struct list_head link;
	unsigned long
		magic; /* FREE_MAGIC; gone if somebody still writes here */
};

static struct spinlock frames_lock = SPINLOCK("frames", RANK_FRAMES);
static u8 *states;	   /* by frame number */
static size_t state_count; /* frames below the end of RAM */
static struct list_head free_blocks[FRAME_ORDER_MAX + 1];
static size_t block_count[FRAME_ORDER_MAX + 1];
static size_t total_frames, free_frames;

static struct free_block *block_at(size_t frame)
{
	return phys_to_virt((phys_t)frame << PAGE_SHIFT);
}

static size_t frame_of(const struct free_block *block)
{
	return virt_to_phys(block) >> PAGE_SHIFT;
}

static void block_insert(size_t frame, unsigned order)
{
	struct free_block *block = block_at(frame);

	block->magic = FREE_MAGIC;
	list_add(&block->link, &free_blocks[order]);
	states[frame] = FRAME_FREE | order;
	block_count[order]++;
}

static void block_remove(size_t frame, unsigned order)
{
	struct free_block *block = block_at(frame);

	if (block->magic != FREE_MAGIC)
		panic("frames: free frame %#llx was written to",
		      (phys_t)frame << PAGE_SHIFT);
	block->magic = 0;
	list_del(&block->link);
	states[frame] = FRAME_INSIDE;
	block_count[order]--;
}

/* Hands over [frame, end) in blocks as large as their alignment allows. */
static void frames_add(size_t frame, size_t end)
{
	total_frames += end - frame;
	free_frames += end - frame;
	memset(states + frame, FRAME_INSIDE, end - frame);
	while (frame < end) {
		unsigned order = 0;

		while (order < FRAME_ORDER_MAX &&
		       IS_ALIGNED(frame, 2UL << order) &&
		       frame + (2UL << order) <= end)
			order++;
		block_insert(frame, order);
		frame += 1UL << order;
	}
}

/* Where the last byte of RAM that we may use is, plus one. */
static phys_t ram_end(const struct bootinfo *bi)
{
	phys_t end = 0;

	for (unsigned i = 0; i < bi->memory_count; i++)
		if (bi->memory[i].type == BOOTINFO_RAM)
			end = bi->memory[i].base + bi->memory[i].size;
	return end;
}

/* Finds room for states[] and takes it. */
static int states_place(struct bootinfo *bi)
{
	phys_t pa;
	size_t size;
	int err;

	state_count = ram_end(bi) >> PAGE_SHIFT;
	size = ALIGN_UP(state_count, PAGE_SIZE);
	err = bootinfo_find(bi, size, PAGE_SIZE, LOWEST_PA, ~0ULL, &pa);
	if (err || !size)
		return bootinfo_fail(bi, -ENOMEM,
				     "memory: no RAM above %#x of %llu KiB",
				     LOWEST_PA, bootinfo_ram_size(bi) >> 10);
	states = phys_to_virt(pa);
	memset(states, FRAME_NONE, size);
	return bootinfo_add(bi, pa, size, BOOTINFO_IMAGE);
}

int frames_init(struct bootinfo *bi)
{
	int err = bootinfo_add(bi, virt_to_phys(__image_start),
			       __image_end - __image_start, BOOTINFO_IMAGE);

	if (!err)
		err = states_place(bi);
	if (err)
		return err;
	for (unsigned i = 0; i <= FRAME_ORDER_MAX; i++)
		INIT_LIST_HEAD(&free_blocks[i]);
	for (unsigned i = 0; i < bi->memory_count; i++) {
		const struct bootinfo_range *range = &bi->memory[i];
		phys_t start = max(range->base, (phys_t)LOWEST_PA);
		phys_t end = range->base + range->size;

		start = ALIGN_UP(start, PAGE_SIZE);
		end = ALIGN_DOWN(end, PAGE_SIZE);
		if (range->type == BOOTINFO_RAM && start < end)
			frames_add(start >> PAGE_SHIFT, end >> PAGE_SHIFT);
	}
	if (!total_frames)
		return bootinfo_fail(bi, -ENOMEM, "memory: no RAM left");
	return 0;
}

/* The first page only: enough to be noticed, and large blocks stay cheap. */
static void poison(phys_t pa, u8 with)
{
#ifdef SONDE_DEBUG
	memset(phys_to_virt(pa), with, PAGE_SIZE);
#else
	(void)pa, (void)with;
#endif
}

/* The first block that is large enough, cut in halves down to @order. */
static phys_t block_take(unsigned order)
{
	unsigned have = order;
	size_t frame;

	while (list_empty(&free_blocks[have]))
		if (++have > FRAME_ORDER_MAX)
			return 0;
	frame = frame_of(
		list_first_entry(&free_blocks[have], struct free_block, link));
	block_remove(frame, have);
	while (have > order) {
		have--;
		block_insert(frame + (1UL << have), have);
	}
	states[frame] = FRAME_USED | order;
	free_frames -= 1UL << order;
	return (phys_t)frame << PAGE_SHIFT;
}

static phys_t block_alloc(unsigned order)
{
	unsigned long flags;
	phys_t pa;

	if (order > FRAME_ORDER_MAX)
		return 0;
	flags = spin_lock_irqsave(&frames_lock);
	pa = block_take(order);
	spin_unlock_irqrestore(&frames_lock, flags);
	return pa;
}

phys_t frame_alloc(unsigned order)
{
	phys_t pa = block_alloc(order);

	if (pa)
		poison(pa, POISON_ALLOCATED);
	return pa;
}

phys_t frame_alloc_zero(unsigned order)
{
	phys_t pa = block_alloc(order);

	if (pa)
		memset(phys_to_virt(pa), 0, PAGE_SIZE << order);
	return pa;
}

/* Whether @frame lies in a free block, at whatever place. */
static bool frame_is_free(size_t frame)
{
	for (unsigned order = 0; order <= FRAME_ORDER_MAX; order++) {
		u8 state = states[ALIGN_DOWN(frame, 1UL << order)];

		if ((state & FRAME_FREE) && (state & STATE_ORDER) >= order)
			return true;
	}
	return false;
}

/* What is wrong with freeing [@pa, order), or NULL. */
static const char *free_refusal(phys_t pa, unsigned order)
{
	size_t frame = pa >> PAGE_SHIFT;

	if (order > FRAME_ORDER_MAX || !IS_ALIGNED(pa, PAGE_SIZE << order))
		return "no such block";
	if (frame >= state_count || states[frame] == FRAME_NONE)
		return "not RAM that was ever handed out";
	if (states[frame] == (FRAME_USED | order))
		return NULL;
	if (states[frame] & FRAME_USED)
		return "allocated with another order";
	return frame_is_free(frame) ? "already free"
				    : "in the middle of a block";
}

/* Joins the block with its buddy, and the result with its own, and so on. */
static void block_give(size_t frame, unsigned order)
{
	free_frames += 1UL << order;
	states[frame] = FRAME_INSIDE;
	for (; order < FRAME_ORDER_MAX; order++) {
		size_t buddy = frame ^ (1UL << order);

		if (buddy >= state_count ||
		    states[buddy] != (FRAME_FREE | order))
			break;
		block_remove(buddy, order);
		frame = min(frame, buddy);
	}
	block_insert(frame, order);
}

void frame_free(phys_t pa, unsigned order)
{
	unsigned long flags = spin_lock_irqsave(&frames_lock);
	const char *refusal = free_refusal(pa, order);

	if (refusal)
		panic("frame_free(%#llx, %u): %s", pa, order, refusal);
	poison(pa, POISON_FREED);
	block_give(pa >> PAGE_SHIFT, order);
	spin_unlock_irqrestore(&frames_lock, flags);
}

size_t frames_total(void)
{
	return total_frames;
}

size_t frames_free(void)
{
	return READ_ONCE(free_frames);
}

size_t frames_free_blocks(unsigned order)
{
	return order <= FRAME_ORDER_MAX ? READ_ONCE(block_count[order]) : 0;
}
