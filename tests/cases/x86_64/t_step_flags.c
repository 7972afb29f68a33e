// SPDX-License-Identifier: MIT
/* t_step.c, what is of x86_64 in it: single steps and flags. */
#include <arch/cpu.h>
#include <arch/insn.h>
#include <asm/x86.h>
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

/* What would change what a step, or a trap at its end, means. */
TEST(step, writing_debug_and_model_registers_is_refused)
{
	static const u8 code[][3] = {
		{ 0x0f, 0x23, 0xf8 }, /* mov %rax,%dr7 */
		{ 0x0f, 0x30 },	      /* wrmsr: DEBUGCTL.BTF */
	};
	struct insn insn;

	for (unsigned i = 0; i < ARRAY_SIZE(code); i++) {
		ASSERT_EQ(arch_insn_decode(&insn, code[i], 3, 0x1000), 0);
		EXPECT_EQ(insn.deny, INSN_DENY_STATE);
	}
}

/* DR6 keeps what it says until somebody clears it (SDM 3B 18.2.3). */
TEST(step, no_cause_of_a_debug_trap_is_left_behind)
{
	unsigned long dr6;

	for (const struct step_case *c = step_cases; c < step_cases_end; c++) {
		step_check(c, true);
		__asm__ volatile("mov %%dr6, %0" : "=r"(dr6));
		EXPECT_EQ(dr6, DR6_CLEAR);
	}
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
