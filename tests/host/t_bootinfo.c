// SPDX-License-Identifier: MIT
/*
 * boot/bootinfo.c: the memory map against an array of pages, and the command
 * line.
 */
#include <string.h>
#include "../test.h"
#include "firmware.h"
#include "ours.h"
#include <lib/errno.h>

#define PAGES	   64
#define NOTHING	   -1
#define PAGE_AT(n) ((phys_t)(n)*4096)

static bool map_agrees(const struct bootinfo *bi, const int *pages)
{
	for (unsigned i = 0; i < PAGES; i++) {
		const struct bootinfo_range *range =
			bootinfo_range_at(bi, PAGE_AT(i) + 5);

		if ((range ? (int)range->type : NOTHING) != pages[i])
			return false;
	}
	return true;
}

/* No two ranges that could be one. */
static bool map_is_joined(const struct bootinfo *bi)
{
	for (unsigned i = 1; i < bi->memory_count; i++) {
		const struct bootinfo_range *range = &bi->memory[i];

		if (range[-1].base + range[-1].size == range->base &&
		    range[-1].type == range->type)
			return false;
	}
	return true;
}

static void random_map(struct bootinfo *bi, int *pages, u64 *seed)
{
	for (unsigned i = 0; i < PAGES; i++)
		pages[i] = NOTHING;
	for (u64 k = 1 + random_below(seed, 12); k; k--) {
		unsigned first = (unsigned)random_below(seed, PAGES);
		unsigned count = (unsigned)random_below(seed,
							PAGES - first + 1);
		int type = (int)random_below(seed, BOOTINFO_BAD + 1);

		ASSERT_EQ(bootinfo_add(bi, PAGE_AT(first), PAGE_AT(count),
				       (enum bootinfo_memory)type),
			  0);
		for (unsigned i = first; i < first + count; i++)
			pages[i] = max(pages[i], type);
	}
}

TEST(bootinfo, the_larger_claim_on_memory_wins_in_any_order)
{
	u64 seed = 53;
	int pages[PAGES];

	for (int i = 0; i < 20000; i++) {
		struct bootinfo *bi = bootinfo_fresh();

		random_map(bi, pages, &seed);
		ASSERT_STREQ(bootinfo_unsound(bi, 0), NULL);
		ASSERT_TRUE(map_agrees(bi, pages));
		ASSERT_TRUE(map_is_joined(bi));
	}
}

TEST(bootinfo, clipping_forgets_all_above_the_limit)
{
	u64 seed = 59;
	int pages[PAGES];

	for (int i = 0; i < 5000; i++) {
		struct bootinfo *bi = bootinfo_fresh();
		unsigned limit = (unsigned)random_below(&seed, PAGES + 1);

		random_map(bi, pages, &seed);
		bootinfo_clip(bi, PAGE_AT(limit));
		for (unsigned k = limit; k < PAGES; k++)
			pages[k] = NOTHING;
		ASSERT_STREQ(bootinfo_unsound(bi, 0), NULL);
		ASSERT_TRUE(map_agrees(bi, pages));
	}
}

static int scan_find(const int *pages, unsigned count, unsigned align,
		     unsigned low, unsigned high)
{
	for (unsigned at = ALIGN_UP(low, align); at + count <= high;
	     at += align) {
		unsigned n = 0;

		while (n < count && pages[at + n] == BOOTINFO_RAM)
			n++;
		if (n == count)
			return (int)at;
	}
	return NOTHING;
}

TEST(bootinfo, find_returns_the_lowest_ram_that_fits)
{
	u64 seed = 61;
	int pages[PAGES];

	for (int i = 0; i < 20000; i++) {
		struct bootinfo *bi = bootinfo_fresh();
		unsigned count = 1 + (unsigned)random_below(&seed, 8);
		unsigned align = 1U << random_below(&seed, 4);
		unsigned low = (unsigned)random_below(&seed, PAGES);
		unsigned high = low +
				(unsigned)random_below(&seed, PAGES - low + 1);
		phys_t base = 0;
		int err, wanted;

		random_map(bi, pages, &seed);
		err = bootinfo_find(bi, PAGE_AT(count), PAGE_AT(align),
				    PAGE_AT(low), PAGE_AT(high), &base);
		wanted = scan_find(pages, count, align, low, high);
		ASSERT_EQ(err, wanted == NOTHING ? -ENOMEM : 0);
		if (!err)
			ASSERT_EQ(base, PAGE_AT(wanted));
	}
}

TEST(bootinfo, a_range_that_wraps_round_is_refused)
{
	struct bootinfo *bi = bootinfo_fresh();

	EXPECT_EQ(bootinfo_add(bi, 0x1000, ~0ULL, BOOTINFO_RAM), -EINVAL);
	EXPECT_STREQ(bi->error,
		     "memory: 0xffffffffffffffff bytes at 0x1000 wrap round");
	EXPECT_EQ(bi->memory_count, 0);
	bi = bootinfo_fresh();
	EXPECT_EQ(bootinfo_add(bi, 0, ~0ULL, BOOTINFO_RAM), 0);
	EXPECT_EQ(bootinfo_add(bi, ~0ULL - 1, 1, BOOTINFO_BAD), 0);
	EXPECT_STREQ(bootinfo_unsound(bi, 0), NULL);
}

TEST(bootinfo, too_many_ranges_are_refused)
{
	struct bootinfo *bi = bootinfo_fresh();
	int err = 0;
	unsigned n;

	for (n = 0; !err && n < 1000; n++)
		err = bootinfo_add(bi, PAGE_AT(2 * n), 4096, BOOTINFO_RAM);
	EXPECT_EQ(err, -ENOSPC);
	EXPECT_EQ(n, BOOTINFO_MEMORY_MAX + 1);
	EXPECT_STREQ(bi->error, "memory: more than 128 ranges");
	EXPECT_STREQ(bootinfo_unsound(bi, err), NULL);
}

TEST(bootinfo, a_full_map_can_still_be_split_only_if_there_is_room)
{
	struct bootinfo *bi = bootinfo_fresh();
	int err;

	for (unsigned n = 0; n < BOOTINFO_MEMORY_MAX; n++)
		EXPECT_EQ(
			bootinfo_add(bi, n * 0x10000ULL, 0x8000, BOOTINFO_RAM),
			0);
	err = bootinfo_add(bi, 0x2000, 0x1000, BOOTINFO_IMAGE);
	EXPECT_EQ(err, -ENOSPC);
	EXPECT_STREQ(bootinfo_unsound(bi, err), NULL);
}

TEST(bootinfo, ram_is_summed_without_what_is_taken)
{
	struct bootinfo *bi = bootinfo_fresh();

	EXPECT_EQ(bootinfo_add(bi, 0x100000, 0x900000, BOOTINFO_RAM), 0);
	EXPECT_EQ(bootinfo_add(bi, 0x200000, 0x100000, BOOTINFO_IMAGE), 0);
	EXPECT_EQ(bootinfo_ram_size(bi), 0x800000);
}

TEST(bootinfo, every_type_of_memory_has_its_own_name)
{
	for (int a = BOOTINFO_RAM; a <= BOOTINFO_BAD; a++) {
		const char *name = bootinfo_memory_name(a);

		EXPECT_TRUE(strcmp(name, "unknown"));
		for (int b = BOOTINFO_RAM; b < a; b++)
			EXPECT_TRUE(strcmp(name, bootinfo_memory_name(b)));
	}
}

TEST(bootinfo, two_cpus_with_one_id_are_refused)
{
	struct bootinfo *bi = bootinfo_fresh();

	EXPECT_EQ(bootinfo_add_cpu(bi, 3, true), 0);
	EXPECT_EQ(bootinfo_add_cpu(bi, 3, true), -EINVAL);
	EXPECT_STREQ(bi->error, "cpus: two have the id 3");
}

TEST(bootinfo, cpus_beyond_the_limit_are_counted)
{
	struct bootinfo *bi = bootinfo_fresh();

	for (u32 i = 0; i < BOOTINFO_CPUS_MAX + 5; i++)
		EXPECT_EQ(bootinfo_add_cpu(bi, i, true), 0);
	EXPECT_EQ(bi->cpu_count, BOOTINFO_CPUS_MAX);
	EXPECT_EQ(bi->cpus_ignored, 5);
}

static struct bootinfo *with_cmdline(const char *s)
{
	struct bootinfo *bi = bootinfo_fresh();

	EXPECT_EQ(bootinfo_set_cmdline(bi, s, strlen(s)), 0);
	return bi;
}

TEST(cmdline, values_are_found_by_key)
{
	struct bootinfo *bi =
		with_cmdline("test=all quiet patch=stop testing=1");
	char buf[16];

	EXPECT_EQ(cmdline_get(bi, "test", buf, sizeof(buf)), 3);
	EXPECT_STREQ(buf, "all");
	EXPECT_EQ(cmdline_get(bi, "patch", buf, sizeof(buf)), 4);
	EXPECT_STREQ(buf, "stop");
	EXPECT_EQ(cmdline_get(bi, "quiet", buf, sizeof(buf)), 0);
	EXPECT_STREQ(buf, "");
	EXPECT_EQ(cmdline_get(bi, "tes", buf, sizeof(buf)), -ENOENT);
	EXPECT_EQ(cmdline_get(bi, "all", buf, sizeof(buf)), -ENOENT);
	EXPECT_TRUE(cmdline_has(bi, "quiet"));
	EXPECT_TRUE(cmdline_has(bi, "patch"));
	EXPECT_FALSE(cmdline_has(bi, "stop"));
	EXPECT_EQ(cmdline_tail(bi), NULL);
}

TEST(cmdline, the_last_of_equal_keys_counts)
{
	struct bootinfo *bi = with_cmdline("a=1 a=2 b a=3");
	char buf[4];

	EXPECT_EQ(cmdline_get(bi, "a", buf, sizeof(buf)), 1);
	EXPECT_STREQ(buf, "3");
}

TEST(cmdline, quotes_may_stand_round_the_word_or_the_value)
{
	struct bootinfo *bi = with_cmdline("\"a=b c\" d='e f' g=\"\"");
	char buf[8];

	EXPECT_EQ(cmdline_get(bi, "a", buf, sizeof(buf)), 3);
	EXPECT_STREQ(buf, "b c");
	EXPECT_EQ(cmdline_get(bi, "d", buf, sizeof(buf)), 3);
	EXPECT_STREQ(buf, "e f");
	EXPECT_EQ(cmdline_get(bi, "g", buf, sizeof(buf)), 0);
}

TEST(cmdline, words_come_one_after_the_other)
{
	const char *s = with_cmdline(" a=1 'b c' long -- d")->cmdline;
	char word[4];

	EXPECT_EQ(cmdline_next(&s, word, sizeof(word)), 1);
	EXPECT_STREQ(word, "a=1");
	EXPECT_EQ(cmdline_next(&s, word, sizeof(word)), 1);
	EXPECT_STREQ(word, "b c");
	EXPECT_EQ(cmdline_next(&s, word, sizeof(word)), -E2BIG);
	EXPECT_STREQ(word, "lon");
	EXPECT_EQ(cmdline_next(&s, word, sizeof(word)), 0);
	EXPECT_EQ(cmdline_next(&s, word, sizeof(word)), 0);
}

TEST(cmdline, what_follows_two_dashes_is_the_tail)
{
	char buf[8];

	EXPECT_STREQ(cmdline_tail(with_cmdline("a=1 --  probe add x; help")),
		     "probe add x; help");
	EXPECT_STREQ(cmdline_tail(with_cmdline("-- a=1 \"-- b\"")),
		     "a=1 \"-- b\"");
	EXPECT_STREQ(cmdline_tail(with_cmdline("a \"-- b\" -- c")), "c");
	EXPECT_STREQ(cmdline_tail(with_cmdline("a --")), "");
	EXPECT_STREQ(cmdline_tail(with_cmdline("a --b")), NULL);
	EXPECT_STREQ(cmdline_tail(with_cmdline("")), NULL);
	EXPECT_EQ(cmdline_get(with_cmdline("-- a=1"), "a", buf, sizeof(buf)),
		  -ENOENT);
}

TEST(cmdline, what_does_not_fit_or_end_is_refused)
{
	static char text[BOOTINFO_CMDLINE_MAX + 1];
	struct bootinfo *bi = with_cmdline("a=12345678 b='x");
	char buf[8];

	EXPECT_EQ(cmdline_get(bi, "b", buf, sizeof(buf)), -EINVAL);
	bi = with_cmdline("a=12345678");
	EXPECT_EQ(cmdline_get(bi, "a", buf, sizeof(buf)), -E2BIG);
	EXPECT_STREQ(buf, "1234567");
	memset(text, 'x', sizeof(text) - 1);
	EXPECT_EQ(bootinfo_set_cmdline(bi, text, sizeof(text)), -E2BIG);
	EXPECT_STREQ(bi->error, "command line: longer than 2047 bytes");
	text[BOOTINFO_CMDLINE_MAX - 1] = '\0';
	EXPECT_EQ(bootinfo_set_cmdline(bi, text, sizeof(text)), 0);
	text[1] = '=';
	EXPECT_EQ(bootinfo_set_cmdline(bi, text, sizeof(text)), 0);
	EXPECT_EQ(cmdline_get(bi, "x", buf, sizeof(buf)), -E2BIG);
}
