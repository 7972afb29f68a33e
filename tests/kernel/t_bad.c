// SPDX-License-Identifier: MIT
/*
 * Cases that go wrong on purpose, so that the runner can be tested. Suites whose
 * names begin with "bad" run only when asked for by name.
 */
#include <arch/cpu.h>
#include <arch/trap.h>
#include <kernel/panic.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <tests/test.h>

TEST(bad, fails)
{
	EXPECT_EQ(1, 2);
}

TEST(bad, panics)
{
	panic("on purpose");
}

/* None is stopped before it has come. */
static void panic_too(void *come)
{
	__atomic_fetch_add((unsigned *)come, 1, __ATOMIC_ACQ_REL);
	while (load_acquire((unsigned *)come) < cpu_count)
		cpu_relax();
	panic("on purpose, on all CPUs");
}

TEST(bad, panics_on_all_cpus_at_once)
{
	unsigned come = 0;

	smp_call_all(panic_too, &come);
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
