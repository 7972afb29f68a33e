// SPDX-License-Identifier: MIT
/* t_step.c, what is of ppc64 in it: prefixed words, and words that are refused. */
#include <arch/cpu.h>
#include <asm/spr.h>
#include <lib/errno.h>
#include <probe/kprobe.h>
#include <tests/cases/step.h>
#include <tests/test.h>

extern const struct step_case step_cases_power10_end[];

unsigned long step_state(void)
{
	return arch_mfmsr() & (MSR_EE | MSR_SE | MSR_BE | MSR_RI);
}

static int seen(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
}

TEST(step, prefixed_instructions_run_whole)
{
	if (mfspr(SPR_PVR) >> 16 != 0x0080)
		SKIP("needs a POWER10");
	for (const struct step_case *c = step_cases_end;
	     c < step_cases_power10_end; c++)
		step_check(c, true);
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
