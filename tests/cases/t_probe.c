// SPDX-License-Identifier: MIT
/*
 * Breakpoint probes as clients see them: what a hit gives a handler, what
 * registration refuses, and that nothing is left behind.
 */
#include <arch/cpu.h>
#include <arch/insn.h>
#include <kernel/heap.h>
#include <kernel/image.h>
#include <kernel/panic.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <lib/errno.h>
#include <lib/hash.h>
#include <lib/string.h>
#include <probe/kprobe.h>
#include <probe/opt.h>
#include <probe/patch.h>
#include <tests/test.h>

/* What is probed: three arguments, and an effect that must happen once. */
static unsigned long target_calls;

static __noclone long probe_target(long a, long b, long c)
{
	__atomic_fetch_add(&target_calls, 1, __ATOMIC_RELAXED);
	return a * 100 + b * 10 + c;
}

static __noclone long probe_caller(long a)
{
	return probe_target(a, 2, 3) + 1;
}

/* Of text that nobody is about to change. */
static u64 text_hash(void)
{
	if (opt_mode() == OPT_ON)
		EXPECT_EQ(opt_sync(), 0);
	return hash_fnv1a64(HASH_FNV1A64_INIT, __text_start,
			    (size_t)(__text_end - __text_start));
}

/* What the last hit looked like. */
static struct {
	unsigned long pc, args[3];
	bool irqs_off;
	unsigned order; /* digits, one per handler that ran */
} seen;

static int note_pre(struct kprobe *p __unused, struct pt_regs *regs)
{
	seen.pc = instruction_pointer(regs);
	for (unsigned i = 0; i < 3; i++)
		seen.args[i] = regs_get_kernel_argument(regs, i);
	seen.irqs_off = arch_irqs_disabled();
	seen.order = seen.order * 10 + 1;
	return 0;
}

static int second_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	seen.order = seen.order * 10 + 2;
	return -1; /* nobody cares */
}

static void note_post(struct kprobe *p __unused, struct pt_regs *regs,
		      unsigned long flags __unused)
{
	seen.pc = instruction_pointer(regs);
	seen.irqs_off = arch_irqs_disabled();
	seen.order = seen.order * 10 + 3;
}

static unsigned long entry_of(const void *fn)
{
	struct symbol sym;

	ASSERT(symtab_lookup((unsigned long)fn, &sym) == 0);
	return symbol_entry(&sym);
}

/* The address of the second instruction of @fn's entry. */
static unsigned long second_of(const void *fn)
{
	unsigned long entry = entry_of(fn);
	struct insn insn;

	ASSERT(arch_insn_decode(&insn, (const void *)entry, INSN_MAX_BYTES,
				entry) == 0);
	return entry + insn.len;
}

TEST(probe, a_hit_shows_the_registers_before_the_instruction)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = note_pre };

	memset(&seen, 0, sizeof(seen));
	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(probe_target(4, 5, 6), 456);
	EXPECT_EQ(unregister_kprobe(&p), 0);
	EXPECT_EQ(seen.pc, entry_of(probe_target));
	EXPECT_EQ(seen.args[0], 4);
	EXPECT_EQ(seen.args[1], 5);
	EXPECT_EQ(seen.args[2], 6);
	EXPECT_TRUE(seen.irqs_off);
	EXPECT_EQ(p.nhit, 1);
	EXPECT_EQ(p.nmissed, 0);
}

TEST(probe, after_unregistering_nobody_is_called)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = note_pre };
	u64 before = text_hash();

	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_NE(text_hash(), before);
	EXPECT_EQ(unregister_kprobe(&p), 0);
	EXPECT_EQ(text_hash(), before);
	EXPECT_EQ(probe_target(1, 1, 1), 111);
	EXPECT_EQ(p.nhit, 0);
}

TEST(probe, a_post_handler_runs_behind_the_instruction)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .post_handler = note_post };

	memset(&seen, 0, sizeof(seen));
	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(probe_target(1, 2, 3), 123);
	EXPECT_EQ(unregister_kprobe(&p), 0);
	EXPECT_EQ(seen.pc, second_of(probe_target));
	EXPECT_EQ(seen.order, 3);
	EXPECT_TRUE(seen.irqs_off);
}

TEST(probe, several_on_one_address_run_in_order_whatever_they_return)
{
	struct kprobe a = { .symbol_name = "probe_target",
			    .pre_handler = second_pre };
	struct kprobe b = { .symbol_name = "probe_target",
			    .pre_handler = note_pre,
			    .post_handler = note_post };
	struct kprobe *both[] = { &a, &b };

	memset(&seen, 0, sizeof(seen));
	ASSERT_EQ(register_kprobes(both, 2), 0);
	EXPECT_EQ(probe_target(7, 8, 9), 789);
	EXPECT_EQ(seen.order, 213);
	EXPECT_EQ(unregister_kprobe(&a), 0);
	EXPECT_EQ(probe_target(7, 8, 9), 789);
	EXPECT_EQ(seen.order, 21313);
	EXPECT_EQ(unregister_kprobe(&b), 0);
	EXPECT_EQ(a.nhit, 1);
	EXPECT_EQ(b.nhit, 2);
}

static int change_arg(struct kprobe *p __unused, struct pt_regs *regs)
{
	regs_argument_set(regs, 0, 9);
	return 0;
}

TEST(probe, what_a_handler_writes_to_registers_takes_effect)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = change_arg };

	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(probe_caller(1), 924);
	EXPECT_EQ(unregister_kprobe(&p), 0);
	EXPECT_EQ(probe_caller(1), 124);
}

static __noclone long instead(long a, long b, long c)
{
	return a + b + c;
}

static int go_elsewhere(struct kprobe *p __unused, struct pt_regs *regs)
{
	instruction_pointer_set(regs, entry_of(instead));
	return 1;
}

TEST(probe, only_a_control_probe_changes_the_pc)
{
	struct kprobe plain = { .symbol_name = "probe_target",
				.pre_handler = go_elsewhere };
	struct kprobe control = { .symbol_name = "probe_target",
				  .pre_handler = go_elsewhere,
				  .flags = KPROBE_FLAG_CONTROL };
	struct kprobe other = control;

	ASSERT_EQ(register_kprobe(&plain), 0);
	EXPECT_EQ(probe_target(1, 2, 3), 123);
	ASSERT_EQ(register_kprobe(&control), 0);
	EXPECT_EQ(probe_target(1, 2, 3), 6);
	EXPECT_EQ(register_kprobe(&other), -EBUSY);
	EXPECT_EQ(plain.nhit, 2);
	EXPECT_EQ(control.nhit, 1);
	EXPECT_EQ(unregister_kprobe(&control), 0);
	EXPECT_EQ(probe_target(1, 2, 3), 123);
	EXPECT_EQ(unregister_kprobe(&plain), 0);
}

static int call_again(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	seen.order += (unsigned)probe_target(0, 0, 5);
	return 0;
}

TEST(probe, a_hit_in_a_handler_runs_the_instruction_and_counts_as_missed)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = call_again };
	struct kprobe q = { .symbol_name = "probe_target",
			    .pre_handler = call_again };

	memset(&seen, 0, sizeof(seen));
	ASSERT_EQ(register_kprobe(&p), 0);
	ASSERT_EQ(register_kprobe(&q), 0);
	EXPECT_EQ(probe_target(1, 2, 3), 123);
	EXPECT_EQ(probe_target(1, 2, 3), 123);
	EXPECT_EQ(seen.order, 20);
	EXPECT_EQ(p.nhit, 2);
	EXPECT_EQ(q.nhit, 2);
	EXPECT_EQ(p.nmissed, 4); /* once per handler and hit */
	EXPECT_EQ(q.nmissed, 4);
	EXPECT_EQ(unregister_kprobe(&p), 0);
	EXPECT_EQ(unregister_kprobe(&q), 0);
}

TEST(probe, a_disabled_one_is_not_called_and_leaves_no_breakpoint)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = note_pre,
			    .flags = KPROBE_FLAG_DISABLED };
	u64 before = text_hash();

	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(text_hash(), before);
	probe_target(1, 2, 3);
	EXPECT_EQ(p.nhit, 0);
	EXPECT_EQ(enable_kprobe(&p), 0);
	EXPECT_NE(text_hash(), before);
	probe_target(1, 2, 3);
	EXPECT_EQ(p.nhit, 1);
	EXPECT_EQ(disable_kprobe(&p), 0);
	EXPECT_EQ(text_hash(), before);
	probe_target(1, 2, 3);
	EXPECT_EQ(p.nhit, 1);
	EXPECT_EQ(p.nmissed, 0);
	EXPECT_EQ(unregister_kprobe(&p), 0);
	EXPECT_EQ(enable_kprobe(&p), -EINVAL);
}

TEST(probe, disabling_one_does_not_touch_its_neighbour)
{
	struct kprobe a = { .symbol_name = "probe_target",
			    .pre_handler = note_pre };
	struct kprobe b = a;

	ASSERT_EQ(register_kprobe(&a), 0);
	ASSERT_EQ(register_kprobe(&b), 0);
	EXPECT_EQ(disable_kprobe(&a), 0);
	probe_target(1, 2, 3);
	EXPECT_EQ(a.nhit, 0);
	EXPECT_EQ(b.nhit, 1);
	EXPECT_EQ(unregister_kprobe(&a), 0);
	EXPECT_EQ(unregister_kprobe(&b), 0);
}

static void both_ways(bool irqs_on, unsigned long *before, unsigned long *after)
{
	unsigned long flags = arch_irq_save();

	if (irqs_on)
		arch_irq_enable();
	*before = arch_irqs_disabled();
	probe_target(1, 2, 3);
	*after = arch_irqs_disabled();
	arch_irq_restore(flags);
}

TEST(probe, the_interrupt_flag_of_the_probed_code_survives)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = note_pre,
			    .post_handler = note_post };
	unsigned long before, after;

	ASSERT_EQ(register_kprobe(&p), 0);
	both_ways(true, &before, &after);
	EXPECT_FALSE(before);
	EXPECT_FALSE(after);
	both_ways(false, &before, &after);
	EXPECT_TRUE(before);
	EXPECT_TRUE(after);
	EXPECT_EQ(p.nhit, 2);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

/* Every instruction of a function in turn, and all of them at once ----------- */

static __noclone long many_instructions(long n)
{
	static volatile long memory[4];
	long sum = 0;

	for (long i = 0; i < n; i++) {
		memory[i & 3] += i;
		sum += probe_target(i, memory[i & 3], sum & 7);
		if (sum & 16)
			sum ^= memory[0];
	}
	for (unsigned i = 0; i < 4; i++)
		memory[i] = 0;
	return sum;
}

static int count_only(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
}

#define INSNS_MAX 160

TEST(probe, each_instruction_of_a_function_and_all_at_once_do_no_harm)
{
	static struct kprobe probes[INSNS_MAX];
	static struct kprobe *accepted[INSNS_MAX];
	long native = many_instructions(10);
	u64 before = text_hash();
	unsigned n = 0, refused = 0;
	struct symbol sym;
	struct insn insn;

	ASSERT_EQ(symtab_lookup((unsigned long)many_instructions, &sym), 0);
	for (unsigned long pc = sym.addr; pc < sym.addr + sym.size;
	     pc += insn.len) {
		struct kprobe p = { .addr = pc, .pre_handler = count_only };

		if (arch_insn_decode(&insn, (const void *)pc, INSN_MAX_BYTES,
				     pc) < 0)
			break; /* what follows a function on ppc64 */
		if (register_kprobe(&p) < 0) {
			refused++;
			continue;
		}
		EXPECT_EQ(many_instructions(10), native);
		EXPECT_EQ(unregister_kprobe(&p), 0);
		ASSERT_LT(n, INSNS_MAX);
		probes[n] = (struct kprobe){ .addr = pc,
					     .pre_handler = count_only };
		accepted[n] = &probes[n];
		n++;
	}
	EXPECT_GT(n, 15);
	EXPECT_LE(refused, n / 10);
	ASSERT_EQ(register_kprobes(accepted, n), 0);
	EXPECT_EQ(many_instructions(10), native);
	EXPECT_EQ(unregister_kprobes(accepted, n), 0);
	EXPECT_GT(probes[0].nhit + probes[1].nhit + probes[2].nhit, 0);
	EXPECT_EQ(text_hash(), before);
}

/* Refusals: each has its error and its reason, and changes nothing ----------- */

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

TEST(probe, neither_or_both_of_address_and_symbol_are_refused)
{
	struct kprobe none = { .pre_handler = count_only };
	struct kprobe both = { .pre_handler = count_only,
			       .addr = entry_of(probe_target),
			       .symbol_name = "probe_target" };

	expect_refused(&none, -EINVAL, "address or a symbol");
	expect_refused(&both, -EINVAL, "address or a symbol");
}

TEST(probe, one_without_handler_is_refused)
{
	struct kprobe p = { .symbol_name = "probe_target" };

	expect_refused(&p, -EINVAL, "no handler");
}

TEST(probe, unknown_and_ambiguous_symbols_are_told_apart)
{
	struct kprobe p = { .symbol_name = "probe_targe",
			    .pre_handler = count_only };

	expect_refused(&p, -ENOENT, "probe_target");
	p.symbol_name = "no such function at all";
	expect_refused(&p, -ENOENT, "no function");
	p.symbol_name = "twin_function";
	expect_refused(&p, -EADDRNOTAVAIL, "several");
}

TEST(probe, offsets_are_exact_and_bounded)
{
	struct kprobe p = { .symbol_name = "probe_target+0x0",
			    .pre_handler = count_only };
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

TEST(probe, places_that_are_no_code_are_refused)
{
	struct kprobe p = { .addr = (unsigned long)&target_calls,
			    .pre_handler = count_only };

	expect_refused(&p, -EINVAL, "not in the kernel's text");
	p.addr = 8;
	expect_refused(&p, -EINVAL, "not in the kernel's text");
	p.addr = ~0UL - 2;
	expect_refused(&p, -EINVAL, "not in the kernel's text");
	p.addr = (unsigned long)__text_end;
	expect_refused(&p, -EINVAL, "not in the kernel's text");
}

TEST(probe, code_that_a_hit_runs_is_refused)
{
	struct kprobe p = { .symbol_name = "trap", .pre_handler = count_only };

	expect_refused(&p, -EACCES, "a probe hit itself");
	p.symbol_name = "probe_hit_break";
	expect_refused(&p, -EACCES, "a probe hit itself");
	p = (struct kprobe){ .addr = (unsigned long)__text_start,
			     .pre_handler = count_only };
	expect_refused(&p, -EACCES, "boot or exception vector");
}

TEST(probe, the_middle_of_an_instruction_is_refused_whatever_its_neighbours)
{
	unsigned long entry = entry_of(probe_target);
	unsigned long second = second_of(probe_target);
	struct kprobe first = { .addr = entry, .pre_handler = count_only };
	struct kprobe p = { .addr = second, .pre_handler = count_only };
	struct kprobe inner = { .addr = second + 1, .pre_handler = count_only };

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

TEST(probe, registering_twice_and_removing_twice_are_harmless)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = count_only };

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
				       .pre_handler = count_only };

	from_handler[0] = unregister_kprobe(p);
	from_handler[1] = register_kprobe(&other);
	return 0;
}

TEST(probe, a_handler_cannot_register_or_unregister)
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

TEST(probe, a_batch_is_registered_whole_or_not_at_all)
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
				.pre_handler = count_only
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

TEST(probe, without_memory_registering_fails_whole_and_removing_succeeds)
{
	struct kprobe a = { .symbol_name = "probe_target",
			    .pre_handler = count_only };
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

/* Load ---------------------------------------------------------------------------- */

#define LOAD_CALLS 3000

static bool go;
static unsigned long wrong_results;

static void load(void *arg __unused)
{
	while (!READ_ONCE(go))
		cpu_relax();
	for (long i = 0; i < LOAD_CALLS; i++) {
		if (probe_target(i, 2, 3) != i * 100 + 23)
			__atomic_fetch_add(&wrong_results, 1, __ATOMIC_RELAXED);
	}
}

static void start_load(struct thread **threads)
{
	go = false;
	wrong_results = 0;
	target_calls = 0;
	for (unsigned i = 0; i < cpu_count; i++) {
		threads[i] = thread_create_on("load", BIT(i), load, NULL);
		ASSERT_TRUE(threads[i]);
	}
}

static void end_load(struct thread **threads)
{
	for (unsigned i = 0; i < cpu_count; i++)
		thread_join(threads[i]);
	EXPECT_EQ(wrong_results, 0);
	EXPECT_EQ(target_calls, (u64)LOAD_CALLS * cpu_count);
}

TEST(probe, on_all_cpus_hits_and_misses_are_all_calls)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = count_only,
			    .post_handler = note_post };
	struct thread *threads[MAX_CPUS];

	ASSERT_EQ(register_kprobe(&p), 0);
	start_load(threads);
	WRITE_ONCE(go, true);
	end_load(threads);
	EXPECT_EQ(p.nhit + p.nmissed, (u64)LOAD_CALLS * cpu_count);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

static unsigned long begins, ends;

static int count_begin(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	__atomic_fetch_add(&begins, 1, __ATOMIC_RELAXED);
	return 0;
}

static void count_end(struct kprobe *p __unused, struct pt_regs *regs __unused,
		      unsigned long flags __unused)
{
	__atomic_fetch_add(&ends, 1, __ATOMIC_RELAXED);
}

/* Also: whoever saw a hit begin sees it end. */
static unsigned long toggle(enum patch_mode mode, unsigned *rounds)
{
	struct kprobe stays = { .symbol_name = "probe_target",
				.pre_handler = count_only };
	struct kprobe comes = { .symbol_name = "probe_target",
				.pre_handler = count_begin,
				.post_handler = count_end };
	struct kprobe alone = { .addr = second_of(probe_target),
				.pre_handler = count_only };
	struct thread *threads[MAX_CPUS];
	enum patch_mode before = patch_mode();
	unsigned long hits = 0;

	begins = ends = 0;
	patch_mode_set(mode);
	EXPECT_EQ(register_kprobe(&stays), 0);
	start_load(threads);
	WRITE_ONCE(go, true);
	for (*rounds = 0; *rounds < 10 ||
			  READ_ONCE(target_calls) < (u64)LOAD_CALLS * cpu_count;
	     ++*rounds) {
		EXPECT_EQ(register_kprobe(&comes), 0);
		EXPECT_EQ(register_kprobe(&alone), 0);
		thread_sleep(NSEC_PER_MSEC);
		EXPECT_EQ(unregister_kprobe(&comes), 0);
		EXPECT_EQ(unregister_kprobe(&alone), 0);
	}
	end_load(threads);
	EXPECT_EQ(ends, begins);
	hits = stays.nhit + stays.nmissed;
	EXPECT_EQ(unregister_kprobe(&stays), 0);
	patch_mode_set(before);
	return hits;
}

TEST(probe, coming_and_going_under_load_loses_nothing_by_break)
{
	u64 before = text_hash();
	unsigned rounds;

	EXPECT_EQ(toggle(PATCH_BREAK, &rounds), (u64)LOAD_CALLS * cpu_count);
	EXPECT_GE(rounds, 10);
	EXPECT_EQ(text_hash(), before);
}

TEST(probe, coming_and_going_under_load_loses_nothing_by_stop)
{
	u64 before = text_hash();
	unsigned rounds;

	EXPECT_EQ(toggle(PATCH_STOP, &rounds), (u64)LOAD_CALLS * cpu_count);
	EXPECT_GE(rounds, 10);
	EXPECT_EQ(text_hash(), before);
}

/* Contexts --------------------------------------------------------------------------- */

static void fire_target(struct timer *t __unused)
{
	probe_target(1, 2, 3);
}

TEST(probe, hits_in_interrupts_are_seen)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = note_pre };
	struct timer t;

	ASSERT_EQ(register_kprobe(&p), 0);
	timer_init(&t, fire_target, NULL);
	timer_start(&t, clock_ns(), NSEC_PER_MSEC);
	while (READ_ONCE(p.nhit) < 5)
		thread_sleep(NSEC_PER_MSEC);
	timer_stop(&t);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

static void in_nmi(void *arg, struct pt_regs *regs __unused)
{
	*(long *)arg = probe_target(3, 2, 1);
}

TEST(probe, hits_in_an_nmi_are_seen)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = note_pre,
			    .post_handler = note_post };

	ASSERT_EQ(register_kprobe(&p), 0);
	for_each_cpu(cpu) {
		long result = 0;

		EXPECT_EQ(smp_nmi_call(cpu->id, in_nmi, &result), 0);
		EXPECT_EQ(result, 321);
	}
	EXPECT_EQ(p.nhit, cpu_count);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

static int nmi_in_handler(struct kprobe *p __unused,
			  struct pt_regs *regs __unused)
{
	long result = 0;

	if (smp_nmi_call(smp_processor_id(), in_nmi, &result) == 0)
		seen.order += (unsigned)result;
	return 0;
}

TEST(probe, a_hit_in_an_nmi_in_a_handler_is_a_miss)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = nmi_in_handler };

	memset(&seen, 0, sizeof(seen));
	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(probe_target(1, 2, 3), 123);
	EXPECT_EQ(seen.order, 321);
	EXPECT_EQ(p.nhit, 1);
	EXPECT_EQ(p.nmissed, 1);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

TEST(probe, the_scheduler_and_the_timer_code_can_be_probed)
{
	struct kprobe s = { .symbol_name = "schedule",
			    .pre_handler = count_only };
	struct kprobe t = { .symbol_name = "timers_run",
			    .pre_handler = count_only };
	struct kprobe w = { .symbol_name = "thread_wake",
			    .pre_handler = count_only };
	struct kprobe *all[] = { &s, &t, &w };

	ASSERT_EQ(register_kprobes(all, 3), 0);
	/* More than five times on a busy host: a sleep may be over at once. */
	for (unsigned i = 0; i < 1000; i++) {
		if (s.nhit >= 5 && t.nhit >= 5 && w.nhit >= 5)
			break;
		thread_sleep(NSEC_PER_MSEC);
	}
	EXPECT_EQ(unregister_kprobes(all, 3), 0);
	EXPECT_GE(s.nhit, 5);
	EXPECT_GE(t.nhit, 5);
	EXPECT_GE(w.nhit, 5);
	EXPECT_EQ(s.nmissed + t.nmissed + w.nmissed, 0);
}

static bool in_slow_handler, slow_may_end, slow_ended;

static int slow_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	WRITE_ONCE(in_slow_handler, true);
	while (!READ_ONCE(slow_may_end))
		cpu_relax();
	WRITE_ONCE(slow_ended, true);
	return 0;
}

static void call_target(void *arg __unused)
{
	probe_target(1, 2, 3);
}

static void release_slow(struct timer *t __unused)
{
	WRITE_ONCE(slow_may_end, true);
}

TEST(probe, unregistering_waits_for_a_handler_on_another_cpu)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = slow_pre };
	struct thread *caller;
	struct timer t;

	if (cpu_count < 2)
		SKIP("needs a second CPU");
	in_slow_handler = slow_may_end = slow_ended = false;
	ASSERT_EQ(thread_set_affinity(current, BIT(0)), 0);
	ASSERT_EQ(register_kprobe(&p), 0);
	caller = thread_create_on("caller", BIT(1), call_target, NULL);
	ASSERT_TRUE(caller);
	while (!READ_ONCE(in_slow_handler))
		thread_yield();
	timer_init(&t, release_slow, NULL);
	timer_start(&t, clock_ns() + 5 * NSEC_PER_MSEC, 0);
	EXPECT_EQ(unregister_kprobe(&p), 0);
	EXPECT_TRUE(slow_ended);
	timer_stop(&t);
	thread_join(caller);
	ASSERT_EQ(thread_set_affinity(current, ~0u), 0);
}

/* A loop with a probe on each instruction: where it can be interrupted is slots. */
static bool hot_end;

static __noclone unsigned long hot_loop(unsigned long x)
{
	for (unsigned i = 0; i < 100; i++) {
		x ^= x << 3;
		x ^= x >> 5;
		barrier();
	}
	return x;
}

static void run_hot(void *arg __unused)
{
	unsigned long x = 1;

	while (!READ_ONCE(hot_end))
		x = hot_loop(x);
}

TEST(probe, unregistering_ends_however_hot_other_probes_are)
{
	static struct kprobe hot[64];
	struct kprobe one = { .symbol_name = "probe_target",
			      .pre_handler = second_pre };
	struct thread *threads[MAX_CPUS];
	struct symbol sym;
	unsigned n = 0;

	ASSERT_EQ(symtab_lookup((unsigned long)hot_loop, &sym), 0);
	memset(hot, 0, sizeof(hot));
	for (unsigned i = 0; i < sym.size && n < ARRAY_SIZE(hot); i++) {
		hot[n].addr = sym.addr + i;
		hot[n].pre_handler = second_pre;
		n += register_kprobe(&hot[n]) == 0;
	}
	hot_end = false;
	for (unsigned i = 0; i < cpu_count; i++) {
		threads[i] = thread_create_on("hot", BIT(i), run_hot, NULL);
		ASSERT_TRUE(threads[i]);
	}
	for (unsigned i = 0; i < 3; i++) {
		EXPECT_EQ(register_kprobe(&one), 0);
		EXPECT_EQ(unregister_kprobe(&one), 0);
	}
	WRITE_ONCE(hot_end, true);
	for (unsigned i = 0; i < cpu_count; i++)
		thread_join(threads[i]);
	while (n-- > 0)
		EXPECT_EQ(unregister_kprobe(&hot[n]), 0);
}
