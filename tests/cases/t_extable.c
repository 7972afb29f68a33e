// SPDX-License-Identifier: MIT
/* The exception table, and access to memory that is not there. */
#include "memory.h"
#include <arch/uaccess.h>
#include <kernel/extable.h>
#include <kernel/image.h>
#include <kernel/smp.h>
#include <kernel/vm.h>
#include <lib/errno.h>
#include <lib/string.h>

/* As in kernel/extable.c, which keeps it to itself. */
struct entry {
	s32 insn, fixup;
};
extern const struct entry __extable_start[], __extable_end[];

static unsigned long insn_of(const struct entry *e)
{
	return (unsigned long)&e->insn + (long)e->insn;
}

static unsigned long fixup_of(const struct entry *e)
{
	return (unsigned long)&e->fixup + (long)e->fixup;
}

TEST(extable, the_table_is_sorted_and_has_no_address_twice)
{
	ASSERT_LT(__extable_start, __extable_end);
	for (const struct entry *e = __extable_start; e + 1 < __extable_end;
	     e++)
		EXPECT_LT(insn_of(e), insn_of(e + 1));
}

TEST(extable, every_entry_is_found_and_its_fixup_is_text)
{
	for (const struct entry *e = __extable_start; e < __extable_end; e++) {
		EXPECT_EQ(extable_find(insn_of(e)), fixup_of(e));
		EXPECT_TRUE(image_is_text(fixup_of(e)));
	}
}

static bool has_entry(unsigned long pc)
{
	for (const struct entry *e = __extable_start; e < __extable_end; e++)
		if (insn_of(e) == pc)
			return true;
	return false;
}

TEST(extable, addresses_without_entry_are_not_found)
{
	static const unsigned long wild[] = { 0, 1, ~0UL, 1UL << 63 };

	for (size_t i = 0; i < ARRAY_SIZE(wild); i++)
		EXPECT_EQ(extable_find(wild[i]), 0);
	EXPECT_EQ(extable_find((unsigned long)extable_find), 0);
	for (const struct entry *e = __extable_start; e < __extable_end; e++)
		for (int off = -1; off <= 1; off += 2)
			if (!has_entry(insn_of(e) + off))
				EXPECT_EQ(extable_find(insn_of(e) + off), 0);
}

TEST(extable, peek_copies_exactly_what_is_asked_for)
{
	u8 from[40], to[40];

	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = i + 1;
	for (size_t n = 0; n <= 24; n++) {
		for (size_t at = 0; at < 8; at++) {
			memset(to, 0xee, sizeof(to));
			EXPECT_EQ(peek(to + 1, from + at, n), 0);
			EXPECT_MEMEQ(to + 1, from + at, n);
			EXPECT_EQ(to[0], 0xee);
			EXPECT_EQ(to[n + 1], 0xee);
		}
	}
}

static const unsigned long nowhere[] = {
	0,
	8,
	0x1000,
	0x7ffffffff000,
	0x800000000000,	    /* x86_64: not canonical */
	0x7ffffffffffffff8, /* likewise */
	0x8000000000000000,
	0xc00fffffffff0000, /* ppc64: beyond the direct map */
	VMAP_BASE,	    /* a guard */
	0xfffffffffffff000,
	0xfffffffffffffff8,
};

TEST(extable, peek_and_poke_of_nowhere_are_refused)
{
	for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++) {
		u64 value = 5;

		EXPECT_EQ(peek(&value, (void *)nowhere[i], 8), -EFAULT);
		EXPECT_EQ(poke((void *)nowhere[i], &value, 8), -EFAULT);
		EXPECT_EQ(peek(&value, (void *)nowhere[i], 1), -EFAULT);
		EXPECT_EQ(value, 5);
	}
}

TEST(extable, nothing_is_read_where_nothing_is_asked_for)
{
	u8 byte = 7;

	for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++) {
		EXPECT_EQ(peek(&byte, (void *)nowhere[i], 0), 0);
		EXPECT_EQ(poke((void *)nowhere[i], &byte, 0), 0);
	}
	EXPECT_EQ(byte, 7);
}

TEST(extable, a_bad_destination_is_refused_like_a_bad_source)
{
	u64 value = 5;

	EXPECT_EQ(peek((void *)8, &value, 8), -EFAULT);
	EXPECT_EQ(poke(&value, (void *)8, 8), -EFAULT);
	EXPECT_EQ(value, 5);
}

TEST(extable, a_copy_into_a_guard_page_says_how_much_was_not_copied)
{
	u8 *page = vm_alloc(1, VM_READ | VM_WRITE);
	u8 *end = page + PAGE_SIZE, buf[32];

	ASSERT_TRUE(page);
	memset(page, 0x5a, PAGE_SIZE);
	for (size_t there = 0; there <= 17; there++) {
		for (size_t beyond = 1; beyond <= 9; beyond++) {
			size_t n = there + beyond;

			memset(buf, 0, sizeof(buf));
			EXPECT_EQ(arch_copy_safe(buf, end - there, n), beyond);
			EXPECT_MEMEQ(buf, end - there, there);
			EXPECT_EQ(buf[there], 0);
			EXPECT_EQ(arch_copy_safe(end - there, buf, n), beyond);
		}
	}
	vm_free(page);
}

TEST(extable, poke_changes_what_is_asked_for_and_nothing_else)
{
	u8 to[16] = { 0 };

	EXPECT_EQ(poke(to + 3, "abcdefg", 7), 0);
	EXPECT_MEMEQ(to, "\0\0\0abcdefg\0\0\0\0\0", 15);
}

TEST(extable, poke_of_text_and_rodata_is_refused)
{
	static const u32 constant = 0x12345678;
	u8 before[4], zero[4] = { 0 };

	EXPECT_EQ(poke((void *)&constant, zero, 4), -EFAULT);
	EXPECT_EQ(READ_ONCE(constant), 0x12345678);
	EXPECT_EQ(peek(before, __text_start, 4), 0);
	EXPECT_EQ(poke(__text_start, zero, 4), -EFAULT);
	EXPECT_MEMEQ(__text_start, before, 4);
}

TEST(extable, single_accesses_have_the_width_that_is_asked_for)
{
	static const u64 pattern = 0x8182838485868788;
	static u64 word;
	u64 value;

	for (unsigned size = 1; size <= 8; size *= 2) {
		u64 mask = size == 8 ? ~0ULL : (1ULL << size * 8) - 1;

		for (unsigned at = 0; at < 8; at += size) {
			u8 *p = (u8 *)&word + at;

			word = 0;
			EXPECT_EQ(arch_poke(p, pattern, size), 0);
			EXPECT_EQ(arch_peek(p, &value, size), 0);
			EXPECT_EQ(value, pattern & mask);
			EXPECT_EQ(arch_poke(p, 0, size), 0);
			EXPECT_EQ(word, 0);
		}
	}
}

TEST(extable, single_accesses_to_nowhere_are_refused)
{
	u64 value = 9;

	for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++) {
		for (unsigned size = 1; size <= 8; size *= 2) {
			void *p = (void *)nowhere[i];

			EXPECT_EQ(arch_peek(p, &value, size), -EFAULT);
			EXPECT_EQ(arch_poke(p, 1, size), -EFAULT);
		}
	}
	EXPECT_EQ(value, 9);
}

TEST(extable, a_fixup_leaves_the_interrupt_flag_alone)
{
	unsigned long flags;
	bool off;
	u8 byte;

	EXPECT_FALSE(arch_irqs_disabled());
	EXPECT_EQ(peek(&byte, NULL, 1), -EFAULT);
	EXPECT_FALSE(arch_irqs_disabled());
	flags = arch_irq_save();
	EXPECT_EQ(peek(&byte, NULL, 1), -EFAULT);
	off = arch_irqs_disabled();
	arch_irq_restore(flags);
	EXPECT_TRUE(off);
}

static unsigned refused;

static void peek_nowhere(void *unused __unused)
{
	u64 value;

	for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++)
		if (peek(&value, (void *)nowhere[i], 8) == -EFAULT)
			__atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
}

TEST(extable, interrupts_on_all_cpus_may_fault)
{
	refused = 0;
	smp_call_all(peek_nowhere, NULL);
	EXPECT_EQ(refused, cpu_count * ARRAY_SIZE(nowhere));
}

static void peek_often(void *number)
{
	u64 good = (unsigned long)number, value;

	for (unsigned i = 0; i < 500; i++) {
		EXPECT_EQ(peek(&value, (void *)nowhere[i % 4], 8), -EFAULT);
		EXPECT_EQ(peek(&value, &good, 8), 0);
		EXPECT_EQ(value, good);
	}
}

TEST(extable, threads_on_all_cpus_may_fault_at_once)
{
	on_all_cpus(peek_often);
}
