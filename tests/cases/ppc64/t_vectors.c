// SPDX-License-Identifier: MIT
/*
 * How vectors.S enters C and leaves: alignment, stacks, NMIs.
 */
#include <arch/cpu.h>
#include <arch/regs.h>
#include <arch/smp.h>
#include <kernel/image.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <kernel/trap.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/kprobe.h>
#include <tests/cases/vectors.h>

static __noclone void probed(void)
{
	barrier();
}

/* A breakpoint --------------------------------------------------------------- */

static struct {
	bool aligned, same_stack, irqs_off, own_cpu;
} at_break;

static int look(struct kprobe *p __unused, struct pt_regs *regs)
{
	at_break.aligned = is_aligned(regs);
	at_break.same_stack = regs->gpr[1] - (unsigned long)regs ==
			      FRAME_SIZE - FRAME_REGS;
	at_break.irqs_off = arch_irqs_disabled();
	at_break.own_cpu = arch_this_cpu()->self == arch_this_cpu();
	return 0;
}

TEST(vectors, a_breakpoint_enters_c_aligned_on_the_stack_it_interrupted)
{
	struct kprobe p = { .symbol_name = "probed", .pre_handler = look };

	ASSERT_EQ(register_kprobe(&p), 0);
	probed();
	unregister_kprobe(&p);
	EXPECT_TRUE(at_break.aligned);
	EXPECT_TRUE(at_break.same_stack);
	EXPECT_TRUE(at_break.irqs_off);
	EXPECT_TRUE(at_break.own_cpu);
	EXPECT_EQ(p.nhit, 1);
}

/* Translation off ------------------------------------------------------------ */

void trap_in_real_mode(void);

TEST(vectors, a_trap_with_translation_off_is_told_as_such)
{
	struct trap seen;
	unsigned long msr;

	preempt_disable();
	msr = arch_mfmsr();
	trap_in_real_mode();
	seen = *trap_last_repaired();
	EXPECT_EQ(arch_mfmsr(), msr);
	preempt_enable();
	EXPECT_EQ(seen.kind, TRAP_BREAKPOINT);
	EXPECT_TRUE(seen.flags & TRAP_REAL_MODE);
	EXPECT_LT(seen.pc - (unsigned long)trap_in_real_mode, 128);
}

/* So no probe's trap comes from there: nothing else runs so. */
TEST(vectors, code_that_runs_with_translation_off_has_no_probes)
{
	struct kprobe p = { .pre_handler = look };
	unsigned long end = (unsigned long)trap_in_real_mode + 64;

	for (p.addr = (unsigned long)__head_start;
	     p.addr < (unsigned long)__head_end; p.addr += 4)
		EXPECT_EQ(register_kprobe(&p), -EACCES);
	EXPECT_TRUE(strstr(kprobe_reason(), "exception vector"));
	for (p.addr = (unsigned long)trap_in_real_mode; p.addr < end;
	     p.addr += 4)
		EXPECT_EQ(register_kprobe(&p), -EACCES);
}

/* NMIs ----------------------------------------------------------------------- */

static struct {
	unsigned depth, deepest, entries;
	bool aligned, on_stack;
} nmi;

/* The first one sends itself another, which comes at once. */
static void nest(void *arg __unused, struct pt_regs *regs)
{
	nmi.entries++;
	nmi.aligned &= is_aligned(regs);
	nmi.on_stack &= on_nmi_stack(regs);
	if (++nmi.depth > nmi.deepest)
		nmi.deepest = nmi.depth;
	if (nmi.entries == 1)
		arch_nmi_send(arch_this_cpu());
	nmi.depth--;
}

TEST(vectors, an_nmi_within_an_nmi_leaves_both_frames_whole)
{
	int err;

	nmi.entries = nmi.deepest = 0;
	nmi.aligned = nmi.on_stack = true;
	preempt_disable();
	err = smp_nmi_call(smp_processor_id(), nest, NULL);
	preempt_enable();
	EXPECT_EQ(err, 0);
	EXPECT_EQ(nmi.entries, 2);
	EXPECT_EQ(nmi.deepest, 2);
	EXPECT_TRUE(nmi.aligned);
	EXPECT_TRUE(nmi.on_stack);
	EXPECT_EQ(nmi.depth, 0);
}

TEST(vectors, an_nmi_arrives_with_interrupts_off)
{
	unsigned long flags = arch_irq_save();
	int err;

	nmi.entries = 1; /* no second one */
	err = smp_nmi_call(smp_processor_id(), nest, NULL);
	arch_irq_restore(flags);
	EXPECT_EQ(err, 0);
	EXPECT_EQ(nmi.entries, 2);
}

/* Elsewhere ------------------------------------------------------------------ */

static bool stop;
static unsigned ready;

static void spin_irqs_off(void *arg __unused)
{
	unsigned long flags = arch_irq_save();

	store_release(&ready, 1);
	while (!load_acquire(&stop))
		cpu_relax();
	arch_irq_restore(flags);
}

static void call_probed(void *arg __unused)
{
	store_release(&ready, 1);
	while (!load_acquire(&stop))
		probed();
}

static void note(void *arg, struct pt_regs *regs __unused)
{
	(*(unsigned *)arg)++;
}

/* @n NMIs to CPU 1 while it runs @fn; returns how many it took. */
static unsigned nmis_to_another(void (*fn)(void *arg), unsigned n)
{
	struct thread *t;
	unsigned taken = 0;

	stop = false;
	ready = 0;
	t = thread_create_on("victim", BIT(1), fn, NULL);
	if (!t)
		return 0;
	while (!load_acquire(&ready))
		thread_yield();
	while (n--)
		if (smp_nmi_call(1, note, &taken))
			break;
	store_release(&stop, true);
	thread_join(t);
	return taken;
}

TEST(vectors, an_nmi_reaches_another_cpu_with_interrupts_off)
{
	if (cpu_count < 2)
		SKIP("needs two CPUs");
	ASSERT_EQ(thread_set_affinity(current, BIT(0)), 0);
	EXPECT_EQ(nmis_to_another(spin_irqs_off, 2), 2);
	EXPECT_EQ(thread_set_affinity(current, ~0u), 0);
}

/* Most of the time it is in vectors.S, where a reset would lose SRR0. */
TEST(vectors, nmis_do_no_harm_to_a_cpu_that_hits_probes_all_the_time)
{
	struct kprobe p = { .symbol_name = "probed", .pre_handler = look };

	if (cpu_count < 2)
		SKIP("needs two CPUs");
	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(thread_set_affinity(current, BIT(0)), 0);
	EXPECT_EQ(nmis_to_another(call_probed, 200), 200);
	EXPECT_EQ(thread_set_affinity(current, ~0u), 0);
	unregister_kprobe(&p);
	EXPECT_TRUE(p.nhit);
}
