// SPDX-License-Identifier: MIT
/*
 * Out-of-line steps of instructions that the copy's address, TF or the missing
 * IF would change: each must do exactly what it does unprobed.
 */
#include <arch/cpu.h>
#include <probe/kprobe.h>
#include <tests/test.h>

struct step_case {
	const char *name;
	unsigned long (*fn)(unsigned long arg);
	unsigned long at;
	unsigned long arg;
	unsigned long hits;
};

extern const struct step_case step_cases[], step_cases_end[];

static int seen(struct kprobe *p, struct pt_regs *regs)
{
	(void)p;
	(void)regs;
	return 0;
}

static unsigned long call(const struct step_case *c, bool irqs,
			  unsigned long *flags)
{
	unsigned long saved = arch_irq_save(), result;

	if (irqs)
		arch_irq_enable();
	result = c->fn(c->arg);
	*flags = arch_flags() & (X86_FLAGS_IF | X86_FLAGS_TF | X86_FLAGS_DF);
	arch_irq_restore(saved);
	return result;
}

static void check(const struct step_case *c, bool irqs)
{
	struct kprobe p = { .addr = c->at, .pre_handler = seen };
	unsigned long want, got, flags, flags_then;
	int err;

	want = call(c, irqs, &flags);
	err = register_kprobe(&p);
	if (err) {
		FAIL("%s: register: %d, %s", c->name, err, kprobe_reason());
		return;
	}
	got = call(c, irqs, &flags_then);
	unregister_kprobe(&p);
	if (got != want)
		FAIL("%s: 0x%lx with a probe, 0x%lx without", c->name, got,
		     want);
	if (flags_then != flags)
		FAIL("%s: leaves flags 0x%lx with a probe, 0x%lx without",
		     c->name, flags_then, flags);
	if (p.nhit != c->hits)
		FAIL("%s: hit %lu times, not %lu", c->name, p.nhit, c->hits);
}

TEST(step, every_instruction_does_what_it_does_unprobed)
{
	const struct step_case *c;

	for (c = step_cases; c < step_cases_end; c++)
		check(c, true);
}

TEST(step, every_instruction_does_so_with_interrupts_off_too)
{
	const struct step_case *c;

	for (c = step_cases; c < step_cases_end; c++)
		check(c, false);
}

/* The two halves of a pair, both probed: no flag leaks from one to the other. */
TEST(step, pushf_and_popf_both_probed_leave_no_single_step_behind)
{
	extern char step_pushf_popf[], step_pushf_popf_second[];
	struct kprobe first = { .addr = (unsigned long)step_pushf_popf,
				.pre_handler = seen };
	struct kprobe second = { .addr = (unsigned long)step_pushf_popf_second,
				 .pre_handler = seen };
	unsigned i;

	ASSERT_EQ(register_kprobe(&first), 0);
	ASSERT_EQ(register_kprobe(&second), 0);
	for (i = 0; i < 1000; i++)
		((void (*)(void))step_pushf_popf)();
	EXPECT_EQ(arch_flags() & X86_FLAGS_TF, 0);
	EXPECT_FALSE(arch_irqs_disabled());
	unregister_kprobe(&first);
	unregister_kprobe(&second);
	EXPECT_EQ(first.nhit, 1000);
	EXPECT_EQ(second.nhit, 1000);
}
