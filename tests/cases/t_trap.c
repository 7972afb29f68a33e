// SPDX-License-Identifier: MIT
/*
 * Traps are told apart and repaired: each machine raises one of each kind that
 * it can (arch_trap_samples).
 */
#include <arch/cpu.h>
#include <kernel/thread.h>
#include <kernel/trap.h>
#include <tests/test.h>

/* What trap() saw of the sample, on this CPU. */
static struct trap raise(const struct trap_sample *sample)
{
	struct trap seen;

	preempt_disable();
	sample->raise();
	seen = *trap_last_repaired();
	preempt_enable();
	return seen;
}

TEST(trap, every_sample_is_told_by_its_kind)
{
	const struct trap_sample *s;

	for (s = arch_trap_samples;
	     s < arch_trap_samples + arch_trap_sample_count; s++) {
		struct trap seen = raise(s);

		if (seen.kind != s->kind)
			FAIL("%s: told as %s, is %s", s->name,
			     trap_kind_name(seen.kind),
			     trap_kind_name(s->kind));
		if (!seen.name || !seen.name[0])
			FAIL("%s: has no name", s->name);
	}
}

TEST(trap, a_trap_leaves_interrupts_as_they_were)
{
	const struct trap_sample *s;

	for (s = arch_trap_samples;
	     s < arch_trap_samples + arch_trap_sample_count; s++) {
		unsigned long flags;

		raise(s);
		if (arch_irqs_disabled())
			FAIL("%s: interrupts are off behind it", s->name);
		flags = arch_irq_save();
		raise(s);
		if (!arch_irqs_disabled())
			FAIL("%s: interrupts are on behind it", s->name);
		arch_irq_restore(flags);
	}
}

/* What switches a single step off may be stepped itself: one more. */
TEST(trap, a_trap_happens_once)
{
	const struct trap_sample *s;

	for (s = arch_trap_samples;
	     s < arch_trap_samples + arch_trap_sample_count; s++) {
		unsigned long flags = arch_irq_save();
		u64 before = this_cpu()->traps[s->kind], n;

		raise(s);
		n = this_cpu()->traps[s->kind] - before;
		arch_irq_restore(flags);
		if (n != 1 && !(n == 2 && s->kind == TRAP_STEP))
			FAIL("%s: %llu traps", s->name, n);
	}
}

TEST(trap, every_kind_has_a_name)
{
	unsigned kind;

	for (kind = 0; kind < TRAP_KIND_COUNT; kind++)
		EXPECT_TRUE(trap_kind_name((enum trap_kind)kind));
}
