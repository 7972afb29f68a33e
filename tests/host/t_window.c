// SPDX-License-Identifier: MIT
/*
 * probe/window.c and probe/pages.c on a model of memory: frames and a page table.
 * After every step each stub must be where it was asked for and say what was
 * written to it, and at every change of the table nobody who runs through the
 * page may see one. The files are compiled into this one, so that cases see the
 * frames.
 */
#include <stdlib.h>
#include <string.h>
#include "../random.h"
#include "../test.h"
#include <lib/errno.h>

/* Instead of <arch/mmu.h>, some of <kernel/>, and site.h. */
#define SONDE_ARCH_MMU_H
#define PAGE_SHIFT  12
#define PAGE_SIZE   (1UL << PAGE_SHIFT)
#define NEAR_BASE   0xffffffff7c000000UL
#define NEAR_SIZE   (32UL << 20)
#define WINDOW_BASE 0xffffffff00000000UL
#define WINDOW_SIZE 0xfff00000UL
#define WINDOW_END  (WINDOW_BASE + WINDOW_SIZE)

#define SONDE_KERNEL_IMAGE_H
#define __image_start 0xffffffff80100000UL
#define __image_end   0xffffffff802e7000UL

#define FRAMES	      8192
static u8 memory[FRAMES][PAGE_SIZE];
static bool in_use[FRAMES];

static void *phys_to_virt(phys_t pa)
{
	return memory[pa >> PAGE_SHIFT];
}

#define SONDE_KERNEL_VM_H
enum { VM_READ = 1, VM_WRITE = 2, VM_EXEC = 4 };
#define VM_UNMAP_BATCH 32
static int vm_page_map(unsigned long va, phys_t pa, unsigned prot);
static void vm_page_move(unsigned long va, phys_t pa);
static void vm_pages_unmap(const unsigned long *va, size_t n);

#define SONDE_KERNEL_FRAMES_H
static phys_t frame_alloc(unsigned order);
static void frame_free(phys_t pa, unsigned order);

#define SONDE_KERNEL_HEAP_H
static void *kzalloc(size_t size);
static void kfree(void *p);

#define SONDE_PROBE_SITE_H
static void text_write_unused(unsigned long addr, const u8 *bytes, size_t n);
const u8 arch_break_insn[] = { 0xcc };

/* Its rb_node and list_head functions come from lib/. */
#include "../../probe/pages.c"
#include "../../probe/window.c"

/* The next allocation but @fail_in fails; -1: none. */
static int fail_in = -1;
static unsigned nr_objects;

static bool fails(void)
{
	return fail_in >= 0 && fail_in-- == 0;
}

static void *kzalloc(size_t size)
{
	if (fails())
		return NULL;
	nr_objects++;
	return calloc(1, size);
}

static void kfree(void *p)
{
	nr_objects -= p != NULL;
	free(p);
}

static phys_t frame_alloc(unsigned order)
{
	EXPECT_EQ(order, 0u);
	for (unsigned i = 1; !fails() && i < FRAMES; i++) {
		if (!in_use[i]) {
			in_use[i] = true;
			memset(memory[i], 0x90, PAGE_SIZE);
			return (phys_t)i << PAGE_SHIFT;
		}
	}
	return 0;
}

static void frame_free(phys_t pa, unsigned order)
{
	EXPECT_EQ(order, 0u);
	EXPECT_TRUE(in_use[pa >> PAGE_SHIFT]);
	in_use[pa >> PAGE_SHIFT] = false;
}

/* The page table: open hashing; an entry without frame is not mapped. */
#define TABLE_SIZE (1u << 17)
static struct entry {
	unsigned long va;
	phys_t pa;
} table[TABLE_SIZE];
static unsigned nr_mapped, nr_moves;

static struct entry *entry_of(unsigned long va)
{
	unsigned i = (u32)(va >> PAGE_SHIFT) * 0x9e3779b1u;

	while (table[i % TABLE_SIZE].va && table[i % TABLE_SIZE].va != va)
		i++;
	table[i % TABLE_SIZE].va = va;
	return &table[i % TABLE_SIZE];
}

static int vm_page_map(unsigned long va, phys_t pa, unsigned prot)
{
	struct entry *e = entry_of(va);

	EXPECT_EQ(va % PAGE_SIZE, 0ul);
	EXPECT_EQ(e->pa, (phys_t)0);
	EXPECT_EQ(prot, (unsigned)(VM_READ | VM_EXEC));
	EXPECT_TRUE(window_contains(va));
	EXPECT_TRUE(in_use[pa >> PAGE_SHIFT]);
	if (fails())
		return -ENOMEM;
	e->pa = pa;
	nr_mapped++;
	return 0;
}

static void vm_pages_unmap(const unsigned long *va, size_t n)
{
	EXPECT_LE(n, (size_t)VM_UNMAP_BATCH);
	nr_mapped -= n;
	while (n-- > 0) {
		EXPECT_NE(entry_of(va[n])->pa, (phys_t)0);
		entry_of(va[n])->pa = 0;
	}
}

static u8 *byte_at(unsigned long va)
{
	static u8 nowhere;
	struct entry *e = entry_of(ALIGN_DOWN(va, PAGE_SIZE));

	EXPECT_NE(e->pa, (phys_t)0);
	return e->pa ? &memory[e->pa >> PAGE_SHIFT][va % PAGE_SIZE] : &nowhere;
}

static void text_write_unused(unsigned long addr, const u8 *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*byte_at(addr + i) = bytes[i];
}

/* What should be there ------------------------------------------------------- */

#define STUBS 3000
static struct placed {
	struct stub stub;
	u8 code[STUB_SIZE];
} placed[STUBS]; /* addr 0: not */

static void expect_stub(const struct placed *p)
{
	u8 code[STUB_SIZE];

	for (unsigned i = 0; i < STUB_SIZE; i++)
		code[i] = *byte_at(p->stub.addr + i);
	EXPECT_MEMEQ(code, p->code, STUB_SIZE);
}

static void expect_stubs_of(unsigned long va)
{
	for (unsigned i = 0; i < STUBS; i++) {
		unsigned long addr = placed[i].stub.addr;

		if (addr && addr < va + PAGE_SIZE && addr + STUB_SIZE > va)
			expect_stub(&placed[i]);
	}
}

/* Other CPUs use the old entry or the new one. */
static void vm_page_move(unsigned long va, phys_t pa)
{
	expect_stubs_of(va);
	entry_of(va)->pa = pa;
	expect_stubs_of(va);
	nr_moves++;
}

/* No byte of a frame is anything but a stub's or a breakpoint. */
static void expect_all(void)
{
	static u8 stubs_of[FRAMES][PAGE_SIZE];
	unsigned n = 0, nr_used = 0;

	memset(stubs_of, 0, sizeof(stubs_of));
	for (unsigned i = 0; i < STUBS; i++) {
		unsigned long addr = placed[i].stub.addr;

		if (!addr)
			continue;
		n++;
		expect_stub(&placed[i]);
		for (unsigned b = 0; b < STUB_SIZE; b++)
			(&stubs_of[0][0])[byte_at(addr + b) - &memory[0][0]]++;
	}
	EXPECT_EQ(window_stub_count(), n);
	EXPECT_EQ(window_page_count(), nr_mapped);
	for (unsigned f = 1; f < FRAMES; f++) {
		nr_used += in_use[f];
		for (unsigned b = 0; in_use[f] && b < PAGE_SIZE; b++) {
			ASSERT_LE(stubs_of[f][b], 1);
			if (!stubs_of[f][b])
				ASSERT_EQ(memory[f][b], 0xcc);
		}
	}
	EXPECT_EQ(window_frame_count(), nr_used);
}

static bool is_free(unsigned long addr)
{
	for (unsigned i = 0; i < STUBS; i++) {
		unsigned long at = placed[i].stub.addr;

		if (at && at < addr + STUB_SIZE && addr < at + STUB_SIZE)
			return false;
	}
	return true;
}

static int take(struct placed *p, unsigned long first, unsigned long last,
		u64 *random)
{
	int err = -ENOSPC;

	for (unsigned way = 0; way < WINDOW_WAYS && err == -ENOSPC; way++)
		err = window_take(&p->stub, way, first, last);
	if (err) {
		EXPECT_EQ(p->stub.addr, 0ul);
		return err;
	}
	EXPECT_GE(p->stub.addr, first);
	EXPECT_LE(p->stub.addr, last);
	EXPECT_TRUE(window_contains(p->stub.addr));
	EXPECT_TRUE(window_contains(p->stub.addr + STUB_SIZE - 1));
	for (unsigned i = 0; i < STUB_SIZE; i++)
		p->code[i] = (u8)random_next(random);
	window_write(&p->stub, p->code);
	return 0;
}

static void give_all(void)
{
	for (unsigned i = 0; i < STUBS; i++) {
		if (placed[i].stub.addr)
			window_give(&placed[i].stub);
	}
	window_trim();
	EXPECT_EQ(window_stub_count(), 0u);
	EXPECT_EQ(window_page_count(), 0u);
	EXPECT_EQ(window_frame_count(), 0u);
	EXPECT_EQ(nr_mapped, 0u);
	EXPECT_EQ(nr_objects, 0u);
}

/* Cases ---------------------------------------------------------------------- */

/* A place where few pages see most of the stubs, the edges of zones included. */
static unsigned long random_place(u64 *random)
{
	static const unsigned long edges[] = {
		WINDOW_BASE,   NEAR_BASE,   NEAR_BASE + NEAR_SIZE,
		__image_start, __image_end, WINDOW_END
	};
	unsigned long near = random_below(random, 2 * PAGE_SIZE);

	if (random_below(random, 4) == 0)
		return edges[random_below(random, ARRAY_SIZE(edges))] + near -
		       PAGE_SIZE;
	return 0xffffffff20000000UL + random_below(random, 40) * 0x12345000 +
	       near;
}

TEST(window, stubs_stay_what_they_are_whatever_comes_and_goes)
{
	u64 random = 7;

	for (unsigned step = 0; step < 40000; step++) {
		struct placed *p = &placed[random_below(&random, STUBS)];
		unsigned size = random_below(&random, 4);
		unsigned long first = random_place(&random);
		unsigned long last = first + (1UL << 8 * size) - 1;

		if (p->stub.addr)
			window_give(&p->stub);
		else if (take(p, first, last, &random) && size == 0 &&
			 window_contains(first) && window_contains(first + 4))
			EXPECT_FALSE(is_free(first));
		if (random_below(&random, 500) == 0)
			window_trim();
		if (step % 1000 == 0)
			expect_all();
	}
	EXPECT_GT(nr_moves, 100u);
	expect_all();
	give_all();
}

TEST(window, without_memory_nothing_is_left_behind)
{
	u64 random = 5;

	for (unsigned step = 0; step < 4000; step++) {
		struct placed *p = &placed[step % 400];
		unsigned long first = random_place(&random);
		int err = 0;

		fail_in = (int)random_below(&random, 4);
		if (p->stub.addr)
			window_give(&p->stub);
		else
			err = take(p, first, first + random_below(&random, 3),
				   &random);
		EXPECT_TRUE(err == 0 || err == -ENOMEM || err == -ENOSPC);
		fail_in = -1;
	}
	expect_all();
	give_all();
}

TEST(window, pages_share_a_frame_until_their_stubs_collide)
{
	const unsigned long a = 0xffffffff30000000UL, b = 0xffffffffb0000000UL;
	u64 random = 3;

	ASSERT_EQ(take(&placed[0], a + 16, a + 16, &random), 0);
	ASSERT_EQ(take(&placed[1], b + 32, b + 32, &random), 0);
	EXPECT_EQ(window_page_count(), 2u);
	EXPECT_EQ(window_frame_count(), 1u);
	/* Over the other's offset, and over the end of the page. */
	nr_moves = 0;
	ASSERT_EQ(take(&placed[2], a + 30, a + 30, &random), 0);
	EXPECT_EQ(nr_moves, 1u);
	EXPECT_EQ(window_frame_count(), 2u);
	ASSERT_EQ(take(&placed[3], b + 4093, b + 4093, &random), 0);
	EXPECT_EQ(window_page_count(), 3u);
	/* What is taken is taken; next to it is room. */
	EXPECT_EQ(take(&placed[4], a + 20, a + 20, &random), -ENOSPC);
	EXPECT_EQ(take(&placed[4], a + 21, a + 21, &random), 0);
	expect_all();
	give_all();
}

TEST(window, nothing_is_placed_outside)
{
	u64 random = 1;

	EXPECT_EQ(take(&placed[0], __image_start, __image_end - 1, &random),
		  -ENOSPC);
	EXPECT_EQ(take(&placed[0], __image_start - 4, __image_start, &random),
		  -ENOSPC);
	EXPECT_EQ(take(&placed[0], NEAR_BASE - 4, NEAR_BASE + NEAR_SIZE - 1,
		       &random),
		  -ENOSPC);
	EXPECT_EQ(take(&placed[0], WINDOW_END - 4, ~0UL, &random), -ENOSPC);
	EXPECT_EQ(take(&placed[0], 4096, 8192, &random), -ENOSPC);
	EXPECT_FALSE(window_contains(__image_start));
	EXPECT_FALSE(window_contains(NEAR_BASE));
	EXPECT_FALSE(window_contains(WINDOW_END));
	give_all();
}
