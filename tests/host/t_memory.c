// SPDX-License-Identifier: MIT
/*
 * kernel/frames.c and kernel/heap.c on an arena that plays RAM: what cannot be
 * tried in the running kernel, which would rightly panic, and long random runs
 * against a model. The two are compiled into this file, so that a case can start
 * them anew.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "../test.h"
#include "ours.h"
#include <kernel/bootinfo.h>
#include <kernel/lock.h>
#include <lib/errno.h>

#define ARENA_SIZE (64UL << 20)
#define IMAGE_PA   0x100000UL
#define IMAGE_SIZE 0x234000UL

static u8 *arena;

/* Instead of <arch/mmu.h>, <kernel/image.h> and <kernel/panic.h>. */
#define SONDE_ARCH_MMU_H
#define PAGE_SHIFT 12
#define PAGE_SIZE  (1UL << PAGE_SHIFT)

static void *phys_to_virt(phys_t pa)
{
	return arena + pa;
}

static phys_t virt_to_phys(const volatile void *va)
{
	return (const volatile u8 *)va - arena;
}

#define SONDE_KERNEL_IMAGE_H
#define __image_start (arena + IMAGE_PA)
#define __image_end   (arena + IMAGE_PA + IMAGE_SIZE)

#define SONDE_KERNEL_PANIC_H
static jmp_buf panic_jump;
static char panic_text[160];

static __noreturn void __printf(1, 2) panic(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(panic_text, sizeof(panic_text), fmt, ap);
	va_end(ap);
	longjmp(panic_jump, 1);
}

static unsigned long locked;

unsigned long spin_lock_irqsave(struct spinlock *l)
{
	if (locked & BIT(l->rank))
		panic("%s taken twice", l->name);
	locked |= BIT(l->rank);
	return locked;
}

void spin_unlock_irqrestore(struct spinlock *l, unsigned long flags)
{
	if (flags != locked)
		panic("%s freed out of order", l->name);
	locked &= ~BIT(l->rank);
}

#ifndef SONDE_DEBUG
#define SONDE_DEBUG
#endif
#include "../../kernel/frames.c"
#include "../../kernel/heap.c"

int peek(void *dst, const void *src, size_t n)
{
	const u8 *p = src;

	if (p < arena || p + n > arena + ARENA_SIZE)
		return -EFAULT;
	memcpy(dst, src, n);
	return 0;
}

/* Starting anew ------------------------------------------------------------ */

static struct bootinfo bi;

static void forget_everything(void)
{
	if (!arena)
		arena = mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			     0);
	memset(&bi, 0, sizeof(bi));
	memset(block_count, 0, sizeof(block_count));
	total_frames = free_frames = state_count = 0;
	bytes_used = objects_used = 0;
	fail_after = -1;
	INIT_LIST_HEAD(&large_blocks);
	locked = 0;
}

static int add(phys_t base, u64 size, enum bootinfo_memory type)
{
	return bootinfo_add(&bi, base, size, type);
}

/* 64 MiB with the holes of a PC, and the heap on them. */
static bool start(void)
{
	int err;

	forget_everything();
	err = add(0, 0x9fc00, BOOTINFO_RAM);
	err |= add(0x100000, ARENA_SIZE - 0x100000 - 0x20000, BOOTINFO_RAM);
	err |= add(ARENA_SIZE - 0x20000, 0x20000, BOOTINFO_ACPI);
	err |= add(0x700123, 0x4567, BOOTINFO_MODULE);
	err |= frames_init(&bi);
	heap_init();
	EXPECT_EQ(err, 0);
	return !err;
}

static void expect_panic(void (*fn)(u64 a, unsigned b), u64 a, unsigned b,
			 const char *text)
{
	if (setjmp(panic_jump)) {
		locked = 0;
		if (!strstr(panic_text, text))
			FAIL("panic \"%s\" instead of \"%s\"", panic_text,
			     text);
		return;
	}
	panic_text[0] = '\0';
	fn(a, b);
	FAIL("no panic, but \"%s\" expected", text);
}

struct blocks {
	size_t free, of_order[FRAME_ORDER_MAX + 1];
};

static struct blocks blocks_now(void)
{
	struct blocks now = { frames_free(), { 0 } };

	for (unsigned i = 0; i <= FRAME_ORDER_MAX; i++)
		now.of_order[i] = frames_free_blocks(i);
	return now;
}

static void expect_blocks(const struct blocks *before)
{
	struct blocks now = blocks_now();

	EXPECT_MEMEQ(&now, before, sizeof(now));
}

/* Frames ------------------------------------------------------------------- */

TEST(host_frames, every_frame_is_ram_that_nobody_else_uses)
{
	static phys_t got[ARENA_SIZE / PAGE_SIZE];
	struct blocks before;
	size_t n = 0;

	ASSERT_TRUE(start());
	before = blocks_now();
	while ((got[n] = frame_alloc(0))) {
		const struct bootinfo_range *range = bootinfo_range_at(&bi,
								       got[n]);

		ASSERT_TRUE(range);
		EXPECT_EQ(range->type, BOOTINFO_RAM);
		EXPECT_LE(got[n] + PAGE_SIZE, range->base + range->size);
		EXPECT_GE(got[n], 0x100000);
		n++;
	}
	EXPECT_EQ(n, frames_total());
	EXPECT_EQ(frames_free(), 0);
	while (n--)
		frame_free(got[n], 0);
	expect_blocks(&before);
}

TEST(host_frames, the_image_the_modules_and_the_states_are_left_out)
{
	phys_t states_pa;
	size_t usable;

	ASSERT_TRUE(start());
	states_pa = virt_to_phys(states);
	EXPECT_EQ(bootinfo_range_at(&bi, IMAGE_PA)->type, BOOTINFO_IMAGE);
	EXPECT_EQ(bootinfo_range_at(&bi, states_pa)->type, BOOTINFO_IMAGE);
	EXPECT_EQ(states[IMAGE_PA >> PAGE_SHIFT], FRAME_NONE);
	EXPECT_EQ(states[states_pa >> PAGE_SHIFT], FRAME_NONE);
	EXPECT_EQ(states[0x700], FRAME_NONE);
	EXPECT_EQ(states[0x704], FRAME_NONE);
	EXPECT_NE(states[0x6ff], FRAME_NONE);
	EXPECT_NE(states[0x705], FRAME_NONE);
	usable = (ARENA_SIZE - 0x100000 - 0x20000 - IMAGE_SIZE) >> PAGE_SHIFT;
	usable -= 5; /* the module touches as many pages */
	usable -= ALIGN_UP(state_count, PAGE_SIZE) >> PAGE_SHIFT;
	EXPECT_EQ(frames_total(), usable);
}

TEST(host_frames, ranges_that_end_within_a_page_give_whole_pages_only)
{
	u64 seed = 7;
	size_t whole = 0;

	forget_everything();
	ASSERT_EQ(add(0x400000, 0x100000, BOOTINFO_RAM), 0);
	for (phys_t at = 0x600000; bi.memory_count < 100;) {
		u64 size = random_below(&seed, 0x9000) + 1;

		ASSERT_EQ(add(at, size, BOOTINFO_RAM), 0);
		at += size + random_below(&seed, 0x3000) + 1;
	}
	ASSERT_EQ(frames_init(&bi), 0);
	for (unsigned i = 0; i < bi.memory_count; i++) {
		phys_t from = ALIGN_UP(bi.memory[i].base, PAGE_SIZE);
		phys_t to = bi.memory[i].base + bi.memory[i].size;

		if (bi.memory[i].type == BOOTINFO_RAM && to > from)
			whole += (to - from) >> PAGE_SHIFT;
	}
	EXPECT_EQ(frames_total(), whole);
}

TEST(host_frames, without_ram_there_is_an_error_and_a_reason)
{
	forget_everything();
	EXPECT_EQ(frames_init(&bi), -ENOMEM);
	EXPECT_TRUE(bi.error[0]);

	forget_everything();
	ASSERT_EQ(add(0, 0x9f000, BOOTINFO_RAM), 0);
	EXPECT_EQ(frames_init(&bi), -ENOMEM);
	EXPECT_TRUE(bi.error[0]);

	/* Just enough for the states. */
	forget_everything();
	ASSERT_EQ(add(0x800000, 0x1000, BOOTINFO_RAM), 0);
	EXPECT_EQ(frames_init(&bi), -ENOMEM);
	EXPECT_TRUE(bi.error[0]);
}

TEST(host_frames, blocks_are_aligned_to_their_size)
{
	struct blocks before;

	ASSERT_TRUE(start());
	before = blocks_now();
	for (unsigned order = 0; order <= FRAME_ORDER_MAX; order++) {
		phys_t pa = frame_alloc(order);

		ASSERT_TRUE(pa);
		EXPECT_EQ(pa % (PAGE_SIZE << order), 0);
		EXPECT_EQ(frames_free(), before.free - (1UL << order));
		frame_free(pa, order);
		expect_blocks(&before);
	}
	EXPECT_EQ(frame_alloc(FRAME_ORDER_MAX + 1), 0);
}

struct held {
	phys_t pa;
	unsigned order;
};

/* Marks the frames of @h as taken by @owner, or says who has one already. */
static void claim(u8 *owners, const struct held *h, u8 from, u8 to)
{
	size_t frame = h->pa >> PAGE_SHIFT;

	for (size_t i = 0; i < 1UL << h->order; i++) {
		EXPECT_EQ(owners[frame + i], from);
		owners[frame + i] = to;
	}
}

TEST(host_frames, random_use_never_gives_a_frame_twice_and_joins_all_again)
{
	static u8 owners[ARENA_SIZE / PAGE_SIZE];
	static struct held held[512];
	struct blocks before;
	size_t n = 0, used = 0;
	u64 seed = 1;

	ASSERT_TRUE(start());
	before = blocks_now();
	for (unsigned round = 0; round < 200000; round++) {
		struct held *h = &held[n];
		size_t i;

		if (n < ARRAY_SIZE(held) && random_below(&seed, 2)) {
			h->order = random_below(&seed, 8);
			h->pa = block_alloc(h->order);
			if (!h->pa)
				continue;
			claim(owners, h, 0, 1);
			used += 1UL << h->order;
			n++;
		} else if (n) {
			i = random_below(&seed, n);
			claim(owners, &held[i], 1, 0);
			used -= 1UL << held[i].order;
			frame_free(held[i].pa, held[i].order);
			held[i] = held[--n];
		}
		EXPECT_EQ(frames_free(), before.free - used);
	}
	while (n--) {
		claim(owners, &held[n], 1, 0);
		frame_free(held[n].pa, held[n].order);
	}
	expect_blocks(&before);
}

TEST(host_frames, memory_is_poisoned_or_zeroed)
{
	phys_t pa;

	ASSERT_TRUE(start());
	pa = frame_alloc(1);
	ASSERT_TRUE(pa);
	EXPECT_EQ(arena[pa], POISON_ALLOCATED);
	EXPECT_EQ(arena[pa + PAGE_SIZE - 1], POISON_ALLOCATED);
	frame_free(pa, 1);
	EXPECT_EQ(arena[pa + PAGE_SIZE - 1], POISON_FREED);
	EXPECT_EQ(frame_alloc_zero(1), pa);
	for (size_t i = 0; i < 2 * PAGE_SIZE; i++)
		ASSERT_EQ(arena[pa + i], 0);
	frame_free(pa, 1);
}

static void free_frame(u64 pa, unsigned order)
{
	frame_free(pa, order);
}

static void alloc_frame(u64 unused, unsigned order)
{
	(void)unused;
	(void)frame_alloc(order);
}

TEST(host_frames, a_double_free_is_told_even_after_joining)
{
	phys_t a, b;

	ASSERT_TRUE(start());
	a = frame_alloc(1);
	b = frame_alloc(3);
	frame_free(a, 1);
	expect_panic(free_frame, a, 1, "already free");
	expect_panic(free_frame, a + PAGE_SIZE, 0, "already free");
	frame_free(b, 3);
	expect_panic(free_frame, b, 3, "already free");
	expect_panic(free_frame, b + PAGE_SIZE, 0, "already free");
}

TEST(host_frames, a_wrong_free_is_told_and_why)
{
	phys_t pa;

	ASSERT_TRUE(start());
	pa = frame_alloc(3);
	expect_panic(free_frame, pa, 2, "another order");
	expect_panic(free_frame, pa, FRAME_ORDER_MAX + 1, "no such block");
	expect_panic(free_frame, pa + 8, 3, "no such block");
	expect_panic(free_frame, pa + PAGE_SIZE, 0, "middle of a block");
	expect_panic(free_frame, 0, 0, "not RAM");
	expect_panic(free_frame, IMAGE_PA, 0, "not RAM");
	expect_panic(free_frame, 1ULL << 50, 0, "not RAM");
	frame_free(pa, 3);
}

TEST(host_frames, writing_to_a_free_frame_is_told_when_it_is_handed_out)
{
	phys_t pa;

	ASSERT_TRUE(start());
	pa = frame_alloc(0);
	frame_free(pa, 0);
	memset(arena + pa, 0, 64);
	expect_panic(alloc_frame, 0, 0, "was written to");
}

/* Heap --------------------------------------------------------------------- */

static void expect_whole_heap(void)
{
	void *bad = NULL;

	EXPECT_EQ(heap_check(&bad), 0);
	EXPECT_EQ(bad, NULL);
	EXPECT_EQ(locked, 0);
}

struct object {
	u8 *p;
	size_t size;
	u8 with;
};

static void object_check(const struct object *o)
{
	for (size_t i = 0; i < o->size; i++)
		ASSERT_EQ(o->p[i], o->with);
}

static size_t random_size(u64 *seed)
{
	size_t limit = 16UL << random_below(seed, 10);

	return random_below(seed, limit + 1);
}

TEST(host_heap, random_use_keeps_contents_and_gives_all_frames_back)
{
	static struct object objects[2000];
	struct blocks before;
	size_t n = 0, bytes = 0;
	u64 seed = 3;

	ASSERT_TRUE(start());
	before = blocks_now();
	for (unsigned round = 0; round < 100000; round++) {
		struct object *o = &objects[n];

		if (n < ARRAY_SIZE(objects) && random_below(&seed, 2)) {
			o->size = random_size(&seed);
			o->with = random_next(&seed) >> 40;
			o->p = kmalloc(o->size);
			ASSERT_TRUE(o->p);
			EXPECT_EQ((unsigned long)o->p % 16, 0);
			memset(o->p, o->with, o->size);
			bytes += o->size;
			n++;
		} else if (n) {
			o = &objects[random_below(&seed, n)];
			object_check(o);
			bytes -= o->size;
			kfree(o->p);
			*o = objects[--n];
		}
		EXPECT_EQ(heap_bytes_used(), bytes);
		EXPECT_EQ(heap_objects_used(), n);
		if (round % 5000 == 0)
			expect_whole_heap();
	}
	while (n--) {
		object_check(&objects[n]);
		kfree(objects[n].p);
	}
	expect_whole_heap();
	EXPECT_EQ(heap_bytes_used(), 0);
	expect_blocks(&before);
}

TEST(host_heap, every_size_up_to_three_pages_has_its_own_bytes)
{
	struct blocks before;

	ASSERT_TRUE(start());
	before = blocks_now();
	for (size_t size = 0; size < 3 * PAGE_SIZE; size++) {
		u8 *a = kmalloc(size), *b = kzalloc(size);

		ASSERT_TRUE(a && b);
		memset(a, 0x11, size);
		for (size_t i = 0; i < size; i++)
			ASSERT_EQ(b[i], 0);
		kfree(a);
		kfree(b);
	}
	expect_blocks(&before);
}

static void free_object(u64 p, unsigned unused)
{
	(void)unused;
	kfree((void *)(uintptr_t)p);
}

static void alloc_object(u64 size, unsigned unused)
{
	(void)unused;
	kfree(kmalloc(size));
}

/* One byte at @offset of a fresh object of @size is changed: who tells? */
static void expect_damage(size_t size, long offset, const char *text)
{
	void *bad = NULL;
	u8 *p;

	if (!start())
		return;
	p = kmalloc(size);
	ASSERT_TRUE(p);
	p[offset] ^= 0x40;
	EXPECT_EQ(heap_check(&bad), -EILSEQ);
	expect_panic(free_object, (uintptr_t)p, 0, text);
	p[offset] ^= 0x40;
	expect_whole_heap();
	kfree(p);
}

TEST(host_heap, one_byte_too_far_is_told)
{
	static const size_t sizes[] = {
		0, 1, 15, 16, 17, 100, 255, 1999, 2000, 2001, PAGE_SIZE, 70000
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		expect_damage(sizes[i], sizes[i], "past its end");
		expect_damage(sizes[i], sizes[i] + 15, "past its end");
		expect_damage(sizes[i], -1, "before its start");
		expect_damage(sizes[i], -16, "before its start");
	}
}

TEST(host_heap, writing_to_a_freed_object_is_told)
{
	void *bad = NULL;
	u8 *keep, *p;

	ASSERT_TRUE(start());
	keep = kmalloc(100);
	p = kmalloc(100);
	kfree(p);
	expect_whole_heap();
	p[99] = 1;
	EXPECT_EQ(heap_check(&bad), -EILSEQ);
	EXPECT_EQ(bad, p);
	expect_panic(alloc_object, 100, 0, "after it was freed");
	kfree(keep);
}

TEST(host_heap, a_wrong_kfree_is_told_and_why)
{
	static const size_t sizes[] = { 40, 3 * PAGE_SIZE };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		u8 *keep, *p;

		ASSERT_TRUE(start());
		keep = kmalloc(sizes[0]);
		p = kmalloc(sizes[i]);
		expect_panic(free_object, (uintptr_t)p + 16, 0,
			     "not the start");
		expect_panic(free_object, (uintptr_t)p - 48, 0,
			     "not the start");
		kfree(p);
		expect_panic(free_object, (uintptr_t)p, 0, "already free");
		kfree(keep);
		expect_panic(free_object, (uintptr_t)keep, 0, "already free");
		expect_panic(free_object, 0x1234, 0, "not from the heap");
		kfree(NULL);
	}
}

TEST(host_heap, out_of_memory_is_null_and_passes)
{
	static void *got[70000];
	struct blocks before;
	size_t n = 0;

	ASSERT_TRUE(start());
	before = blocks_now();
	while ((got[n] = kmalloc(1000)))
		n++;
	EXPECT_EQ(kmalloc(PAGE_SIZE), NULL);
	EXPECT_EQ(n, before.free * 3); /* 1344 bytes each */
	kfree(got[--n]);
	got[n] = kmalloc(1000);
	EXPECT_TRUE(got[n++]);
	while (n--)
		kfree(got[n]);
	expect_blocks(&before);
	expect_whole_heap();
}

TEST(host_heap, sizes_that_overflow_are_refused)
{
	ASSERT_TRUE(start());
	EXPECT_EQ(kmalloc(LARGE_MAX + 1), NULL);
	EXPECT_EQ(kmalloc(~0UL), NULL);
	EXPECT_EQ(kmalloc(~0UL - 64), NULL);
	EXPECT_EQ(kcalloc(1UL << 32, 1UL << 32), NULL);
	EXPECT_EQ(kcalloc(~0UL, 2), NULL);
	EXPECT_EQ(heap_objects_used(), 0);
	kfree(kmalloc(LARGE_MAX));
	EXPECT_EQ(heap_objects_used(), 0);
}

TEST(host_heap, the_wanted_allocation_fails_once)
{
	void *a, *b;

	ASSERT_TRUE(start());
	heap_fail_after(1);
	a = kmalloc(10);
	EXPECT_TRUE(a);
	EXPECT_EQ(kzalloc(10), NULL);
	b = kmalloc(10);
	EXPECT_TRUE(b);
	kfree(a);
	kfree(b);
}
