// SPDX-License-Identifier: MIT
/* Signature probes: arguments as the function itself gets them. */
#include <arch/insn.h>
#include <kernel/heap.h>
#include <kernel/symtab.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/jprobe.h>
#include <tests/test.h>

struct big {
	long a, b, c, d;
};

static __noclone long many_arguments(int a, long b, u8 c, const char *d, long e,
				     short f, long g, long h, int i, long j,
				     long k, s8 l)
{
	barrier();
	return a + b + c + (long)strlen(d) + e + f + g + h + i + j + k + l;
}

static __noclone long by_value(int first, struct big big, int last)
{
	barrier();
	return first + big.a + big.b + big.c + big.d + last;
}

static __noclone long no_arguments(void)
{
	barrier();
	return 5;
}

static long seen[12];
static const char *seen_text;
static unsigned seen_calls;

static void see_many(int a, long b, u8 c, const char *d, long e, short f,
		     long g, long h, int i, long j, long k, s8 l)
{
	const long all[] = { a, b, c, 0, e, f, g, h, i, j, k, l };

	memcpy(seen, all, sizeof(all));
	seen_text = d;
	seen_calls++;
}

static void see_by_value(int first, struct big big, int last)
{
	const long all[] = { first, big.a, big.b, big.c, big.d, last };

	memcpy(seen, all, sizeof(all));
	big.a = big.d = 0; /* a copy of ours */
	seen_calls++;
}

static void see_nothing(void)
{
	seen_calls++;
}

TEST(jprobe, all_of_twelve_arguments_are_seen)
{
	struct jprobe jp = { .kp = { .symbol_name = "many_arguments" },
			     .entry = see_many };

	seen_calls = 0;
	ASSERT_EQ(register_jprobe(&jp), 0);
	EXPECT_EQ(
		many_arguments(1, -2, 3, "four", 5, -6, 7, 8, -9, 10, 11, -12),
		20);
	EXPECT_EQ(unregister_jprobe(&jp), 0);
	EXPECT_EQ(seen_calls, 1);
	EXPECT_STREQ(seen_text, "four");
	EXPECT_EQ(seen[0], 1);
	EXPECT_EQ(seen[1], -2);
	EXPECT_EQ(seen[2], 3);
	EXPECT_EQ(seen[5], -6);
	EXPECT_EQ(seen[6], 7);
	EXPECT_EQ(seen[7], 8);
	EXPECT_EQ(seen[8], -9);
	EXPECT_EQ(seen[9], 10);
	EXPECT_EQ(seen[10], 11);
	EXPECT_EQ(seen[11], -12);
}

TEST(jprobe, a_struct_by_value_is_a_copy)
{
	struct jprobe jp = { .kp = { .symbol_name = "by_value" },
			     .entry = see_by_value };
	struct big big = { 10, 20, 30, 40 };

	ASSERT_EQ(register_jprobe(&jp), 0);
	EXPECT_EQ(by_value(1, big, 2), 103);
	EXPECT_EQ(unregister_jprobe(&jp), 0);
	EXPECT_EQ(seen[0], 1);
	EXPECT_EQ(seen[1], 10);
	EXPECT_EQ(seen[4], 40);
	EXPECT_EQ(seen[5], 2);
}

static int count_only(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 1;
}

TEST(jprobe, several_share_an_address_with_anything_else)
{
	struct jprobe a = { .kp = { .symbol_name = "no_arguments" },
			    .entry = see_nothing };
	struct jprobe b = a;
	struct kprobe k = { .symbol_name = "no_arguments",
			    .pre_handler = count_only };

	seen_calls = 0;
	ASSERT_EQ(register_jprobe(&a), 0);
	ASSERT_EQ(register_kprobe(&k), 0);
	ASSERT_EQ(register_jprobe(&b), 0);
	EXPECT_EQ(no_arguments(), 5);
	EXPECT_EQ(seen_calls, 2);
	EXPECT_EQ(k.nhit, 1);
	EXPECT_EQ(unregister_jprobe(&a), 0);
	EXPECT_EQ(no_arguments(), 5);
	EXPECT_EQ(seen_calls, 3);
	EXPECT_EQ(unregister_jprobe(&b), 0);
	EXPECT_EQ(unregister_kprobe(&k), 0);
}

TEST(jprobe, without_entry_or_inside_a_function_it_is_refused)
{
	struct jprobe jp = { .kp = { .symbol_name = "no_arguments" } };
	struct jprobe inside = { .entry = see_nothing };
	struct symbol sym;
	struct insn insn;

	EXPECT_EQ(register_jprobe(&jp), -EINVAL);
	EXPECT_STREQ(kprobe_reason(), "it has no handler");
	ASSERT_EQ(symtab_lookup((unsigned long)many_arguments, &sym), 0);
	ASSERT_EQ(arch_insn_decode(&insn, (const void *)symbol_entry(&sym),
				   INSN_MAX_BYTES, symbol_entry(&sym)),
		  0);
	inside.kp.addr = symbol_entry(&sym) + insn.len;
	EXPECT_EQ(register_jprobe(&inside), -EINVAL);
	EXPECT_TRUE(strstr(kprobe_reason(), "not the entry of a function"));
	EXPECT_EQ(unregister_jprobe(&inside), -EINVAL);
}

/* On ppc64 a function begins before its entry, and that is its address. */
TEST(jprobe, a_function_may_be_named_by_its_address)
{
	struct jprobe jp = { .entry = see_nothing };
	struct symbol sym;

	ASSERT_EQ(symtab_find("no_arguments", &sym), 0);
	jp.kp.addr = sym.addr;
	seen_calls = 0;
	ASSERT_EQ(register_jprobe(&jp), 0);
	EXPECT_EQ(no_arguments(), 5);
	EXPECT_EQ(seen_calls, 1);
	EXPECT_EQ(unregister_jprobe(&jp), 0);
}

static struct jprobe twice = { .kp = { .symbol_name = "no_arguments" },
			       .entry = see_nothing };
static bool was_disabled;

static int look_at_twice(struct kprobe *p __unused,
			 struct pt_regs *regs __unused)
{
	was_disabled |= twice.kp.flags & KPROBE_FLAG_DISABLED;
	return 0;
}

/* Or a change of its address by others would find it so, and disarm it. */
TEST(jprobe, registered_again_it_is_enabled_all_the_time)
{
	struct kprobe look = { .symbol_name = "register_kprobe",
			       .pre_handler = look_at_twice };

	was_disabled = false;
	ASSERT_EQ(register_jprobe(&twice), 0);
	ASSERT_EQ(register_kprobe(&look), 0);
	EXPECT_EQ(register_jprobe(&twice), -EBUSY);
	EXPECT_EQ(unregister_kprobe(&look), 0);
	EXPECT_EQ(unregister_jprobe(&twice), 0);
	EXPECT_EQ(look.nhit, 1);
	EXPECT_FALSE(was_disabled);
}

static void see_bad(const char *text)
{
	seen_calls += *(volatile const char *)text;
}

TEST(jprobe, a_handler_that_faults_is_abandoned_alone)
{
	struct jprobe bad = { .kp = { .symbol_name = "many_arguments" },
			      .entry = see_bad };
	struct jprobe good = { .kp = { .symbol_name = "many_arguments" },
			       .entry = see_many };

	seen_calls = 0;
	ASSERT_EQ(register_jprobe(&bad), 0);
	ASSERT_EQ(register_jprobe(&good), 0);
	EXPECT_EQ(many_arguments(0, 0, 0, "", 0, 0, 0, 0, 0, 0, 0, 0), 0);
	EXPECT_EQ(many_arguments(0, 0, 0, "", 0, 0, 0, 0, 0, 0, 0, 0), 0);
	EXPECT_EQ(seen_calls, 2);
	EXPECT_EQ(bad.kp.verdict, KPROBE_FAULTED);
	EXPECT_EQ(unregister_jprobe(&bad), 0);
	EXPECT_EQ(unregister_jprobe(&good), 0);
}

TEST(jprobe, without_memory_it_is_registered_whole_or_not_at_all)
{
	struct jprobe jp = { .kp = { .symbol_name = "many_arguments" },
			     .entry = see_many };
	int err = -ENOMEM;

	for (int n = 0; n < 20 && err; n++) {
		heap_fail_after(n);
		err = register_jprobe(&jp);
		heap_fail_after(-1);
		EXPECT_EQ(unregister_jprobe(&jp), err ? -EINVAL : 0);
	}
	EXPECT_EQ(err, 0);
}
