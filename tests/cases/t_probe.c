// SPDX-License-Identifier: MIT
/*
 * Breakpoint probes as clients see them: what a hit gives a handler, what the
 * handler can change, and that nothing is left behind.
 */
#include <arch/cpu.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <tests/cases/probe.h>

unsigned long target_calls;

__noclone long probe_target(long a, long b, long c)
{
	__atomic_fetch_add(&target_calls, 1, __ATOMIC_RELAXED);
	return a * 100 + b * 10 + c;
}

__noclone long probe_caller(long a)
{
	return probe_target(a, 2, 3) + 1;
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

static void end_elsewhere(struct kprobe *p, struct pt_regs *regs,
			  unsigned long flags __unused)
{
	go_elsewhere(p, regs);
}

TEST(probe, only_a_control_probe_changes_the_pc)
{
	struct kprobe plain = { .symbol_name = "probe_target",
				.pre_handler = go_elsewhere,
				.post_handler = end_elsewhere };
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
		struct kprobe p = { .addr = pc, .pre_handler = good_pre };

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
					     .pre_handler = good_pre };
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
