// SPDX-License-Identifier: MIT
/* The heap in the running kernel. */
#include "memory.h"
#include <kernel/heap.h>
#include <kernel/smp.h>
#include <lib/errno.h>
#include <lib/string.h>

static const size_t sizes[] = {
	1,    8,    16,	  24,	48,   100,  200,  500,
	1000, 1500, 2000, 2048, 4000, 4096, 5000, 20000
};

TEST(heap, objects_are_aligned_to_16_bytes)
{
	void *p[ARRAY_SIZE(sizes)];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		p[i] = kmalloc(sizes[i]);
		ASSERT_TRUE(p[i]);
		EXPECT_EQ((unsigned long)p[i] & 15, 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		kfree(p[i]);
}

TEST(heap, objects_keep_their_contents_while_others_come_and_go)
{
	u8 *p[ARRAY_SIZE(sizes)];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		p[i] = kmalloc(sizes[i]);
		ASSERT_TRUE(p[i]);
		memset(p[i], i + 1, sizes[i]);
		kfree(kmalloc(sizes[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (size_t at = 0; at < sizes[i]; at++)
			ASSERT_EQ(p[i][at], i + 1);
		kfree(p[i]);
	}
}

TEST(heap, bytes_and_objects_are_counted_exactly)
{
	size_t bytes = heap_bytes_used(), objects = heap_objects_used();
	void *a = kmalloc(100), *b = kmalloc(7000);

	EXPECT_TRUE(a && b);
	EXPECT_EQ(heap_bytes_used(), bytes + 7100);
	EXPECT_EQ(heap_objects_used(), objects + 2);
	kfree(a);
	EXPECT_EQ(heap_bytes_used(), bytes + 7000);
	EXPECT_EQ(heap_objects_used(), objects + 1);
	kfree(b);
	EXPECT_EQ(heap_bytes_used(), bytes);
	EXPECT_EQ(heap_objects_used(), objects);
}

TEST(heap, kfree_of_null_does_nothing)
{
	size_t objects = heap_objects_used();

	kfree(NULL);
	EXPECT_EQ(heap_objects_used(), objects);
}

TEST(heap, objects_of_no_bytes_are_different)
{
	void *a = kmalloc(0), *b = kmalloc(0);

	EXPECT_TRUE(a);
	EXPECT_TRUE(b);
	EXPECT_NE(a, b);
	kfree(a);
	kfree(b);
}

static u64 bits_in(const u8 *p, size_t n)
{
	u64 bits = 0;

	for (size_t i = 0; i < n; i++)
		bits |= p[i];
	return bits;
}

TEST(heap, kzalloc_and_kcalloc_clear_used_memory)
{
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		u8 *p = kmalloc(sizes[i]);

		ASSERT_TRUE(p);
		memset(p, 0xff, sizes[i]);
		kfree(p);
		p = kzalloc(sizes[i]);
		ASSERT_TRUE(p);
		EXPECT_EQ(bits_in(p, sizes[i]), 0);
		kfree(p);
		p = kcalloc(3, sizes[i]);
		ASSERT_TRUE(p);
		EXPECT_EQ(bits_in(p, 3 * sizes[i]), 0);
		kfree(p);
	}
}

TEST(heap, sizes_that_cannot_be_are_refused)
{
	size_t objects = heap_objects_used();

	EXPECT_EQ(kmalloc(~0UL), NULL);
	EXPECT_EQ(kmalloc(~0UL - 100), NULL);
	EXPECT_EQ(kzalloc(1UL << 40), NULL);
	EXPECT_EQ(kcalloc(1UL << 32, 1UL << 32), NULL);
	EXPECT_EQ(kcalloc((~0UL >> 1) + 2, 2), NULL);
	EXPECT_EQ(heap_objects_used(), objects);
}

TEST(heap, large_objects_take_frames_and_give_them_back)
{
	for (size_t size = PAGE_SIZE; size <= 1 << 20; size *= 4) {
		size_t free = frames_free();
		u8 *p = kmalloc(size);

		ASSERT_TRUE(p);
		p[0] = 1;
		p[size - 1] = 2;
		EXPECT_LE(frames_free() + size / PAGE_SIZE, free);
		kfree(p);
		EXPECT_EQ(frames_free(), free);
	}
}

#define MANY 600

TEST(heap, many_objects_are_freed_in_any_order_and_no_frame_stays)
{
	static void *p[MANY];
	size_t free = frames_free();
	void *bad;

	for (unsigned i = 0; i < MANY; i++) {
		p[i] = kmalloc(sizes[i % 11]);
		ASSERT_TRUE(p[i]);
	}
	EXPECT_LT(frames_free(), free);
	for (unsigned i = 0; i < MANY; i++) {
		kfree(p[i * 7 % MANY]);
		if (i % 100 == 0)
			EXPECT_EQ(heap_check(&bad), 0);
	}
	EXPECT_EQ(frames_free(), free);
}

TEST(heap, a_sound_heap_passes_its_check)
{
	void *bad = &bad;

	EXPECT_EQ(heap_check(&bad), 0);
	EXPECT_EQ(bad, NULL);
}

/* The check finds that a byte at @offset of @p was written to. */
static void expect_found(u8 *p, long offset)
{
	void *bad = NULL;

	p[offset] ^= 1;
	EXPECT_EQ(heap_check(&bad), -EILSEQ);
	EXPECT_TRUE(bad);
	p[offset] ^= 1;
	EXPECT_EQ(heap_check(&bad), 0);
}

TEST(heap, a_byte_past_the_end_is_found)
{
	if (!DEBUG_BUILD)
		SKIP("no red zones without DEBUG");
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		u8 *p = kmalloc(sizes[i]);

		ASSERT_TRUE(p);
		expect_found(p, sizes[i]);
		expect_found(p, sizes[i] + 15);
		kfree(p);
	}
}

TEST(heap, a_byte_before_the_start_is_found)
{
	if (!DEBUG_BUILD)
		SKIP("no red zones without DEBUG");
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		u8 *p = kmalloc(sizes[i]);

		ASSERT_TRUE(p);
		expect_found(p, -1);
		expect_found(p, -16);
		kfree(p);
	}
}

TEST(heap, a_byte_written_after_kfree_is_found)
{
	u8 *keep, *p;

	if (!DEBUG_BUILD)
		SKIP("no patterns without DEBUG");
	/* The first one keeps the slab of the second. */
	keep = kmalloc(100);
	p = kmalloc(100);
	ASSERT_TRUE(keep && p);
	kfree(p);
	expect_found(p, 0);
	expect_found(p, 99);
	kfree(keep);
}

TEST(heap, fresh_memory_is_filled_in_debug_builds)
{
	u8 *p;

	if (!DEBUG_BUILD)
		SKIP("no patterns without DEBUG");
	p = kzalloc(64);
	ASSERT_TRUE(p);
	kfree(p);
	p = kmalloc(64);
	ASSERT_TRUE(p);
	EXPECT_NE(p[0], 0);
	EXPECT_EQ(p[0], p[63]);
	kfree(p);
}

TEST(heap, exactly_the_wanted_allocation_fails)
{
	for (int n = 0; n < 4; n++) {
		heap_fail_after(n);
		for (int i = 0; i < 6; i++) {
			void *p = i & 1 ? kzalloc(10) : kmalloc(6000);

			if (i == n)
				EXPECT_EQ(p, NULL);
			else
				EXPECT_TRUE(p);
			kfree(p);
		}
	}
	heap_fail_after(0);
	heap_fail_after(-1);
	kfree(kcalloc(2, 2));
	EXPECT_EQ(heap_check(&(void *){ NULL }), 0);
}

TEST(heap, without_frames_large_objects_fail_and_slabs_with_room_serve)
{
	void *keep = kmalloc(40), *large, *small;
	struct hoard *all = hoard_take();

	large = kmalloc(PAGE_SIZE);
	small = kmalloc(40);
	hoard_free(all);
	EXPECT_EQ(large, NULL);
	EXPECT_TRUE(small);
	kfree(small);
	kfree(keep);
}

/* Each thread puts objects where all others take them from. */
static u32 *exchange[16];

static void use_heap(void *number)
{
	u64 seed = (unsigned long)number + 1;

	for (unsigned round = 0; round < 400; round++) {
		size_t at = random_next(&seed) % ARRAY_SIZE(exchange);
		u32 size = 2 + random_next(&seed) % 700;
		u32 *p = kmalloc(size * sizeof(*p));

		ASSERT_TRUE(p);
		p[0] = size;
		p[size - 1] = ~size;
		/* Pairs with itself elsewhere: contents before the address. */
		p = __atomic_exchange_n(&exchange[at], p, __ATOMIC_ACQ_REL);
		if (!p)
			continue;
		EXPECT_EQ(p[p[0] - 1], ~p[0]);
		kfree(p);
	}
}

TEST(heap, all_cpus_at_once_free_what_others_allocated)
{
	size_t free = frames_free(), bytes = heap_bytes_used();
	void *bad;

	on_all_cpus(use_heap);
	EXPECT_EQ(heap_check(&bad), 0);
	for (size_t i = 0; i < ARRAY_SIZE(exchange); i++) {
		kfree(exchange[i]);
		exchange[i] = NULL;
	}
	EXPECT_EQ(heap_bytes_used(), bytes);
	EXPECT_EQ(frames_free(), free);
}

static void *gotten[MAX_CPUS];

static void get_one(void *unused __unused)
{
	gotten[smp_processor_id()] = kzalloc(128);
}

static void free_next(void *unused __unused)
{
	kfree(gotten[(smp_processor_id() + 1) % cpu_count]);
}

TEST(heap, interrupts_may_allocate_and_free)
{
	size_t objects = heap_objects_used();

	smp_call_all(get_one, NULL);
	EXPECT_EQ(heap_objects_used(), objects + cpu_count);
	for (unsigned i = 0; i < cpu_count; i++)
		ASSERT_TRUE(gotten[i]);
	smp_call_all(free_next, NULL);
	EXPECT_EQ(heap_objects_used(), objects);
}
