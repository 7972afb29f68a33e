// SPDX-License-Identifier: MIT
/*
 * What registering and removing refuse: each refusal has its error and its reason,
 * and changes nothing; a batch comes whole or not at all.
 */
#include <arch/cpu.h>
#include <kernel/heap.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <tests/cases/probe.h>

static void expect_refused(struct kprobe *p, int err, const char *reason)
{
	u64 before = text_hash();
	int got = register_kprobe(p);

	EXPECT_EQ(got, err);
	if (!strstr(kprobe_reason(), reason))
		FAIL("the reason is \"%s\", without \"%s\"", kprobe_reason(),
		     reason);
	EXPECT_EQ(text_hash(), before);
	if (got == 0)
		unregister_kprobe(p);
}

TEST(probe_refuse, neither_or_both_of_address_and_symbol_are_refused)
{
	struct kprobe none = { .pre_handler = good_pre };
	struct kprobe both = { .pre_handler = good_pre,
			       .addr = entry_of(probe_target),
			       .symbol_name = "probe_target" };

	expect_refused(&none, -EINVAL, "address or a symbol");
	expect_refused(&both, -EINVAL, "address or a symbol");
}

TEST(probe_refuse, one_without_handler_is_refused)
{
	struct kprobe p = { .symbol_name = "probe_target" };

	expect_refused(&p, -EINVAL, "no handler");
}

TEST(probe_refuse, unknown_and_ambiguous_symbols_are_told_apart)
{
	struct kprobe p = { .symbol_name = "probe_targe",
			    .pre_handler = good_pre };

	expect_refused(&p, -ENOENT, "probe_target");
	p.symbol_name = "no such function at all";
	expect_refused(&p, -ENOENT, "no function");
	p.symbol_name = "twin_function";
	expect_refused(&p, -EADDRNOTAVAIL, "several");
}

TEST(probe_refuse, offsets_are_exact_and_bounded)
{
	struct kprobe p = { .symbol_name = "probe_target+0x0",
			    .pre_handler = good_pre };
	struct symbol sym;

	ASSERT_EQ(symtab_find("probe_target", &sym), 0);
	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(p.addr, sym.addr);
	EXPECT_EQ(unregister_kprobe(&p), 0);
	p.symbol_name = "probe_target+0x10000";
	expect_refused(&p, -EINVAL, "bytes only");
	p.symbol_name = "probe_target+zwei";
	expect_refused(&p, -EINVAL, "no number");
}

TEST(probe_refuse,
     a_reason_is_whole_also_with_a_name_as_long_as_that_of_this_one)
{
	struct kprobe p = { .pre_handler = good_pre, .offset = 0x100000 };

	p.symbol_name = "test_probe_refuse_a_reason_is_whole_also_with_a_name_"
			"as_long_as_that_of_this_one";
	EXPECT_EQ(register_kprobe(&p), -EINVAL);
	EXPECT_TRUE(strstr(kprobe_reason(), " bytes only"));
}

TEST(probe_refuse, places_that_are_no_code_are_refused)
{
	struct kprobe p = { .addr = (unsigned long)&target_calls,
			    .pre_handler = good_pre };

	expect_refused(&p, -EINVAL, "not in the kernel's text");
	p.addr = 8;
	expect_refused(&p, -EINVAL, "not in the kernel's text");
	p.addr = ~0UL - 2;
	expect_refused(&p, -EINVAL, "not in the kernel's text");
	p.addr = (unsigned long)__text_end;
	expect_refused(&p, -EINVAL, "not in the kernel's text");
}

TEST(probe_refuse, code_that_a_hit_runs_is_refused)
{
	struct kprobe p = { .symbol_name = "trap", .pre_handler = good_pre };

	expect_refused(&p, -EACCES, "a probe hit itself");
	p.symbol_name = "probe_hit_break";
	expect_refused(&p, -EACCES, "a probe hit itself");
	p = (struct kprobe){ .addr = (unsigned long)__text_start,
			     .pre_handler = good_pre };
	expect_refused(&p, -EACCES, "boot or exception vector");
}

TEST(probe_refuse,
     the_middle_of_an_instruction_is_refused_whatever_its_neighbours)
{
	unsigned long entry = entry_of(probe_target);
	unsigned long second = second_of(probe_target);
	struct kprobe first = { .addr = entry, .pre_handler = good_pre };
	struct kprobe p = { .addr = second, .pre_handler = good_pre };
	struct kprobe inner = { .addr = second + 1, .pre_handler = good_pre };

	for (unsigned state = 0; state < 4; state++) {
		if (state == 1)
			ASSERT_EQ(register_kprobe(&first), 0);
		if (state == 2)
			EXPECT_EQ(disable_kprobe(&first), 0);
		if (state == 3)
			EXPECT_EQ(unregister_kprobe(&first), 0);
		EXPECT_EQ(register_kprobe(&p), 0);
		EXPECT_EQ(unregister_kprobe(&p), 0);
		inner.addr = second + 1;
		expect_refused(&inner, -EILSEQ, "instruction");
	}
}

TEST(probe_refuse, registering_twice_and_removing_twice_are_harmless)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = good_pre };

	EXPECT_EQ(unregister_kprobe(&p), -EINVAL);
	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(register_kprobe(&p), -EBUSY);
	probe_target(1, 2, 3);
	EXPECT_EQ(p.nhit, 1);
	EXPECT_EQ(unregister_kprobe(&p), 0);
	EXPECT_EQ(unregister_kprobe(&p), -EINVAL);
	/* The same struct may be used again. */
	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

static int from_handler[2];

static int meddle(struct kprobe *p, struct pt_regs *regs __unused)
{
	static struct kprobe other = { .symbol_name = "probe_caller",
				       .pre_handler = good_pre };

	from_handler[0] = unregister_kprobe(p);
	from_handler[1] = register_kprobe(&other);
	return 0;
}

TEST(probe_refuse, a_handler_cannot_register_or_unregister)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = meddle };
	unsigned long flags;

	ASSERT_EQ(register_kprobe(&p), 0);
	probe_target(1, 2, 3);
	EXPECT_EQ(from_handler[0], -EDEADLK);
	EXPECT_EQ(from_handler[1], -EDEADLK);
	flags = arch_irq_save();
	EXPECT_EQ(disable_kprobe(&p), -EDEADLK);
	arch_irq_restore(flags);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

TEST(probe_refuse, a_batch_is_registered_whole_or_not_at_all)
{
	enum { N = 6 };
	static struct kprobe probes[N];
	struct kprobe *batch[N];
	u64 before = text_hash();

	for (unsigned bad = 0; bad <= N; bad++) {
		for (unsigned i = 0; i < N; i++) {
			probes[i] = (struct kprobe){
				.symbol_name = i & 1 ? "probe_caller"
						     : "probe_target",
				.pre_handler = good_pre
			};
			batch[i] = &probes[i];
		}
		if (bad < N)
			probes[bad].symbol_name = "nowhere_at_all";
		EXPECT_EQ(register_kprobes(batch, N), bad < N ? -ENOENT : 0);
		probe_caller(1);
		for (unsigned i = 0; i < N; i++)
			EXPECT_EQ(probes[i].nhit, bad < N ? 0 : 1);
		if (bad < N)
			EXPECT_EQ(text_hash(), before);
	}
	EXPECT_EQ(unregister_kprobes(batch, N), 0);
	EXPECT_EQ(text_hash(), before);
}

TEST(probe_refuse, without_memory_registering_fails_whole_and_removing_succeeds)
{
	struct kprobe a = { .symbol_name = "probe_target",
			    .pre_handler = good_pre };
	struct kprobe b = a;
	u64 before = text_hash();
	unsigned failures = 0;
	int err;

	for (int n = 0; n < 20; n++) {
		heap_fail_after(n);
		err = register_kprobe(&a);
		heap_fail_after(-1);
		if (err == 0) {
			heap_fail_after(0);
			EXPECT_EQ(unregister_kprobe(&a), 0);
			heap_fail_after(-1);
		} else {
			EXPECT_TRUE(err == -ENOMEM || err == -ENOSPC);
			failures++;
		}
		EXPECT_EQ(text_hash(), before);
	}
	EXPECT_GE(failures, 2); /* the site, its probes */
	/* One of two on a site, taken out without memory for a new array. */
	ASSERT_EQ(register_kprobe(&a), 0);
	ASSERT_EQ(register_kprobe(&b), 0);
	heap_fail_after(0);
	EXPECT_EQ(unregister_kprobe(&a), 0);
	heap_fail_after(-1);
	probe_target(1, 2, 3);
	EXPECT_EQ(a.nhit, 0);
	EXPECT_EQ(b.nhit, 1);
	EXPECT_EQ(unregister_kprobe(&b), 0);
	EXPECT_EQ(text_hash(), before);
}
