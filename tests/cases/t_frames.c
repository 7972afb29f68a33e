// SPDX-License-Identifier: MIT
/* The frame allocator in the running kernel. */
#include "memory.h"
#include <arch/boot.h>
#include <kernel/bootinfo.h>
#include <kernel/image.h>
#include <kernel/smp.h>
#include <lib/string.h>

struct blocks {
	size_t of_order[FRAME_ORDER_MAX + 1];
};

static struct blocks blocks_now(void)
{
	struct blocks now;

	for (unsigned i = 0; i <= FRAME_ORDER_MAX; i++)
		now.of_order[i] = frames_free_blocks(i);
	return now;
}

static void expect_blocks(const struct blocks *before)
{
	struct blocks now = blocks_now();

	for (unsigned i = 0; i <= FRAME_ORDER_MAX; i++)
		EXPECT_EQ(now.of_order[i], before->of_order[i]);
}

TEST(frames, free_blocks_add_up_to_free_frames)
{
	size_t sum = 0;

	for (unsigned i = 0; i <= FRAME_ORDER_MAX; i++)
		sum += frames_free_blocks(i) << i;
	EXPECT_EQ(sum, frames_free());
	EXPECT_GT(sum, 0);
	EXPECT_LT(sum, frames_total());
	EXPECT_EQ(frames_free_blocks(FRAME_ORDER_MAX + 1), 0);
}

TEST(frames, most_of_ram_is_handed_out)
{
	u64 ram = bootinfo_ram_size(&boot_info);

	EXPECT_LE((u64)frames_total() << PAGE_SHIFT, ram);
	EXPECT_GT((u64)frames_total() << PAGE_SHIFT, ram - ram / 8);
}

TEST(frames, every_order_is_aligned_and_counted)
{
	struct blocks before = blocks_now();
	unsigned largest = FRAME_ORDER_MAX;
	size_t free = frames_free();

	while (!before.of_order[largest])
		largest--;
	for (unsigned order = 0; order <= largest; order++) {
		phys_t pa = frame_alloc(order);

		ASSERT_TRUE(pa);
		EXPECT_EQ(pa & ((PAGE_SIZE << order) - 1), 0);
		EXPECT_EQ(frames_free(), free - (1UL << order));
		frame_free(pa, order);
		expect_blocks(&before);
	}
}

TEST(frames, an_order_that_is_too_large_gives_none)
{
	EXPECT_EQ(frame_alloc(FRAME_ORDER_MAX + 1), 0);
	EXPECT_EQ(frame_alloc_zero(~0u), 0);
}

#define FEW 64

TEST(frames, frames_do_not_share_memory)
{
	phys_t pa[FEW];

	for (unsigned i = 0; i < FEW; i++) {
		pa[i] = frame_alloc(0);
		ASSERT_TRUE(pa[i]);
		memset(phys_to_virt(pa[i]), i, PAGE_SIZE);
	}
	for (unsigned i = 0; i < FEW; i++) {
		const u8 *p = phys_to_virt(pa[i]);

		EXPECT_EQ(p[0], i);
		EXPECT_EQ(p[PAGE_SIZE / 2], i);
		EXPECT_EQ(p[PAGE_SIZE - 1], i);
		frame_free(pa[i], 0);
	}
}

/* Frees FEW frames in steps of @step, which has no divisor in common. */
static void free_in_steps(unsigned step)
{
	struct blocks before = blocks_now();
	phys_t pa[FEW];

	for (unsigned i = 0; i < FEW; i++) {
		pa[i] = frame_alloc(0);
		ASSERT_TRUE(pa[i]);
	}
	for (unsigned i = 0; i < FEW; i++)
		frame_free(pa[i * step % FEW], 0);
	expect_blocks(&before);
}

TEST(frames, halves_join_again_in_whatever_order_they_come)
{
	free_in_steps(1);
	free_in_steps(FEW - 1);
	free_in_steps(5);
	free_in_steps(37);
}

TEST(frames, a_cut_block_leaves_one_of_each_smaller_order)
{
	struct hoard *all = hoard_take(), **last = &all;
	unsigned order;
	phys_t pa;

	/* Put back the one that was taken first, the largest. */
	while ((*last)->next)
		last = &(*last)->next;
	order = (*last)->order;
	frame_free(virt_to_phys(*last), order);
	*last = NULL;
	EXPECT_EQ(frames_free_blocks(order), 1);
	pa = frame_alloc(0);
	for (unsigned i = 0; i < order; i++)
		EXPECT_EQ(frames_free_blocks(i), 1);
	EXPECT_EQ(frames_free_blocks(order), 0);
	frame_free(pa, 0);
	EXPECT_EQ(frames_free_blocks(order), 1);
	hoard_free(all);
}

TEST(frames, when_all_are_taken_there_are_none_and_all_come_back)
{
	struct blocks before = blocks_now();
	struct hoard *all = hoard_take();
	phys_t one = frame_alloc(0), zeroed = frame_alloc_zero(0);
	size_t free = frames_free();

	hoard_free(all);
	EXPECT_TRUE(all);
	EXPECT_EQ(one, 0);
	EXPECT_EQ(zeroed, 0);
	EXPECT_EQ(free, 0);
	expect_blocks(&before);
}

static bool is_allowed(phys_t pa, size_t size)
{
	phys_t image = virt_to_phys(__image_start);
	phys_t image_end = virt_to_phys(__image_end);
	const struct bootinfo_range *range = bootinfo_range_at(&boot_info, pa);

	return pa >= 0x100000 && (pa >= image_end || pa + size <= image) &&
	       range && range->type == BOOTINFO_RAM &&
	       pa + size <= range->base + range->size;
}

TEST(frames, no_block_overlaps_the_image_or_what_is_reserved)
{
	struct hoard *all = hoard_take();
	unsigned wrong = 0;

	for (struct hoard *h = all; h; h = h->next)
		wrong += !is_allowed(virt_to_phys(h), PAGE_SIZE << h->order);
	hoard_free(all);
	EXPECT_EQ(wrong, 0);
}

TEST(frames, a_zeroed_block_is_zero_after_others_used_it)
{
	for (unsigned order = 0; order < 4; order++) {
		size_t size = PAGE_SIZE << order;
		phys_t pa = frame_alloc(order);
		const u64 *p;
		u64 bits = 0;

		ASSERT_TRUE(pa);
		memset(phys_to_virt(pa), 0xff, size);
		frame_free(pa, order);
		pa = frame_alloc_zero(order);
		ASSERT_TRUE(pa);
		p = phys_to_virt(pa);
		for (size_t i = 0; i < size / sizeof(*p); i++)
			bits |= p[i];
		EXPECT_EQ(bits, 0);
		frame_free(pa, order);
	}
}

TEST(frames, debug_builds_poison_what_is_handed_out)
{
	const u8 *p;
	phys_t pa;

	if (!DEBUG_BUILD)
		SKIP("no poison without DEBUG");
	pa = frame_alloc_zero(0);
	ASSERT_TRUE(pa);
	p = phys_to_virt(pa);
	frame_free(pa, 0);
	EXPECT_EQ(frame_alloc(0), pa);
	EXPECT_NE(p[0], 0);
	EXPECT_EQ(p[0], p[PAGE_SIZE / 2]);
	EXPECT_EQ(p[0], p[PAGE_SIZE - 1]);
	frame_free(pa, 0);
}

/* Takes, stamps, looks whether the stamps stayed, gives back. */
static void use_frames(void *number)
{
	u64 seed = (unsigned long)number + 1;
	struct {
		phys_t pa;
		unsigned order;
	} held[8] = { 0 };

	for (unsigned round = 0; round < 300; round++) {
		unsigned i = random_next(&seed) % ARRAY_SIZE(held);
		u64 *stamp = phys_to_virt(held[i].pa);

		if (held[i].pa) {
			EXPECT_EQ(*stamp, held[i].pa ^ (u64)number);
			frame_free(held[i].pa, held[i].order);
			held[i].pa = 0;
			continue;
		}
		held[i].order = random_next(&seed) % 4;
		held[i].pa = frame_alloc(held[i].order);
		ASSERT_TRUE(held[i].pa);
		stamp = phys_to_virt(held[i].pa);
		*stamp = held[i].pa ^ (u64)number;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(held); i++)
		if (held[i].pa)
			frame_free(held[i].pa, held[i].order);
}

TEST(frames, all_cpus_at_once_get_different_frames)
{
	struct blocks before = blocks_now();

	on_all_cpus(use_frames);
	expect_blocks(&before);
}

static phys_t taken[MAX_CPUS];

static void take_one(void *unused __unused)
{
	taken[smp_processor_id()] = frame_alloc(0);
}

TEST(frames, interrupts_may_allocate_and_another_cpu_may_free)
{
	size_t free = frames_free();

	smp_call_all(take_one, NULL);
	EXPECT_EQ(frames_free(), free - cpu_count);
	for (unsigned i = 0; i < cpu_count; i++) {
		ASSERT_TRUE(taken[i]);
		for (unsigned j = 0; j < i; j++)
			EXPECT_NE(taken[i], taken[j]);
	}
	for (unsigned i = 0; i < cpu_count; i++)
		frame_free(taken[i], 0);
}
