// SPDX-License-Identifier: MIT
/*
 * Cases that go wrong on purpose, so that the runner can be tested. Suites whose
 * names begin with "bad" run only when asked for by name.
 */
#include <arch/cpu.h>
#include <arch/trap.h>
#include <kernel/panic.h>
#include <tests/test.h>

TEST(bad, fails)
{
	EXPECT_EQ(1, 2);
}

TEST(bad, panics)
{
	panic("on purpose");
}

TEST(bad, hangs)
{
	arch_irq_disable();
	for (;;)
		cpu_relax();
}

TEST(bad, triple_faults)
{
	if (arch_trap_break_everything() < 0)
		SKIP("this machine has no triple fault");
}
