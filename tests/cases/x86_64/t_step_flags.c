// SPDX-License-Identifier: MIT
/* t_step.c, what is of x86_64 in it: single steps and flags. */
#include <arch/cpu.h>
#include <probe/kprobe.h>
#include <tests/cases/step.h>
#include <tests/test.h>

unsigned long step_state(void)
{
	return arch_flags() & (X86_FLAGS_IF | X86_FLAGS_TF | X86_FLAGS_DF);
}

static int seen(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
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
