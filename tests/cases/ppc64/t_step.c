// SPDX-License-Identifier: MIT
/*
 * Out-of-line steps of instructions that the copy's address, MSR[SE] or the
 * missing MSR[EE] would change: each must do exactly what it does unprobed.
 */
#include <arch/cpu.h>
#include <asm/spr.h>
#include <lib/errno.h>
#include <probe/kprobe.h>
#include <tests/test.h>

#define STEP_MSR (MSR_EE | MSR_SE | MSR_BE | MSR_RI)

struct step_case {
	const char *name;
	unsigned long (*fn)(unsigned long arg);
	unsigned long at;
	unsigned long arg;
	unsigned long hits;
};

extern const struct step_case step_cases[], step_cases_end[];
extern const struct step_case step_cases_power10_end[];

static int seen(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
}

static __noclone unsigned long call(const struct step_case *c, bool irqs,
				    unsigned long *msr)
{
	unsigned long saved = arch_irq_save(), result;

	if (irqs)
		arch_irq_enable();
	result = c->fn(c->arg);
	*msr = arch_mfmsr() & STEP_MSR;
	arch_irq_restore(saved);
	return result;
}

static void check(const struct step_case *c, bool irqs)
{
	struct kprobe p = { .addr = c->at, .pre_handler = seen };
	unsigned long want, got, msr, msr_then;
	int err;

	want = call(c, irqs, &msr);
	err = register_kprobe(&p);
	if (err) {
		FAIL("%s: register: %d, %s", c->name, err, kprobe_reason());
		return;
	}
	got = call(c, irqs, &msr_then);
	unregister_kprobe(&p);
	if (got != want)
		FAIL("%s: 0x%lx with a probe, 0x%lx without", c->name, got,
		     want);
	if (msr_then != msr)
		FAIL("%s: leaves MSR 0x%lx with a probe, 0x%lx without",
		     c->name, msr_then, msr);
	if (p.nhit != c->hits)
		FAIL("%s: hit %lu times, not %lu", c->name, p.nhit, c->hits);
}

TEST(step, every_instruction_does_what_it_does_unprobed)
{
	for (const struct step_case *c = step_cases; c < step_cases_end; c++)
		check(c, true);
}

TEST(step, every_instruction_does_so_with_interrupts_off_too)
{
	for (const struct step_case *c = step_cases; c < step_cases_end; c++)
		check(c, false);
}

TEST(step, prefixed_instructions_are_stepped_whole)
{
	if (mfspr(SPR_PVR) >> 16 != 0x0080)
		SKIP("needs a POWER10");
	for (const struct step_case *c = step_cases_end;
	     c < step_cases_power10_end; c++)
		check(c, true);
}

static void nop_post(struct kprobe *p __unused, struct pt_regs *regs __unused,
		     unsigned long flags __unused)
{
}

/* Before it is no reservation that a trap could lose; behind it there is. */
TEST(step, load_and_reserve_is_probed_at_its_beginning_only)
{
	extern const char step_reserve_begin[], step_reserve_inside[];
	struct kprobe begin = { .addr = (unsigned long)step_reserve_begin,
				.post_handler = nop_post };
	struct kprobe inside = { .addr = (unsigned long)step_reserve_inside,
				 .pre_handler = seen };

	EXPECT_EQ(register_kprobe(&begin), -EOPNOTSUPP);
	EXPECT_EQ(register_kprobe(&inside), -EOPNOTSUPP);
	inside.addr += 4; /* the store */
	EXPECT_EQ(register_kprobe(&inside), -EOPNOTSUPP);
}

/* Words that stepping cannot do, or that trap by design (ISA 3.1 I 3.3.11). */
TEST(step, what_cannot_be_stepped_is_refused)
{
	extern const char step_refused[], step_refused_end[];

	for (const char *at = step_refused; at < step_refused_end; at += 4) {
		struct kprobe p = { .addr = (unsigned long)at,
				    .pre_handler = seen };
		int err = register_kprobe(&p);

		if (!err) {
			unregister_kprobe(&p);
			FAIL("word %d: was accepted",
			     (int)(at - step_refused) / 4);
		}
	}
}
