// SPDX-License-Identifier: MIT
/*
 * How vectors.S enters C: alignment, stacks, and NMIs within NMIs.
 */
#include <arch/cpu.h>
#include <arch/regs.h>
#include <arch/smp.h>
#include <arch/trap.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/thread.h>
#include <kernel/trap.h>
#include <probe/kprobe.h>
#include <tests/cases/vectors.h>

static __noclone void probed(void)
{
	barrier();
}

/* A breakpoint --------------------------------------------------------------- */

static struct {
	bool aligned, same_stack, irqs_off;
} at_break;

static int look(struct kprobe *p, struct pt_regs *regs)
{
	unsigned long below = regs->sp - (unsigned long)regs;

	(void)p;
	at_break.aligned = is_aligned(regs);
	at_break.same_stack = below <= FRAME_SIZE + BREAK_GAP + 8;
	at_break.irqs_off = arch_irqs_disabled();
	return 0;
}

/* Calls probed() with the stack pointer at any multiple of 8. */
static void call_probed_at_odd_stack(void)
{
	__asm__ volatile("push %%rax; call probed; pop %%rax"
			 :
			 :
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
			   "r11", "memory");
}

TEST(vectors, a_breakpoint_enters_c_aligned_on_the_stack_it_interrupted)
{
	struct kprobe p = { .addr = (unsigned long)probed,
			    .pre_handler = look,
			    .flags = KPROBE_FLAG_NO_JUMP };

	ASSERT_EQ(register_kprobe(&p), 0);
	probed();
	EXPECT_TRUE(at_break.aligned);
	EXPECT_TRUE(at_break.same_stack);
	EXPECT_TRUE(at_break.irqs_off);
	call_probed_at_odd_stack();
	EXPECT_TRUE(at_break.aligned);
	unregister_kprobe(&p);
	EXPECT_EQ(p.nhit, 2);
}

/* NMIs ------------------------------------------------------------------------- */

static struct {
	unsigned depth, deepest, entries;
	bool aligned, on_stack;
	bool came_before_probe; /* the second one, while still blocked */
} nmi;

/*
 * The first one sends a second one, which stays blocked until the IRET of a
 * breakpoint: from there on it interrupts the first one's handler.
 */
static void nest(void *arg, struct pt_regs *regs)
{
	(void)arg;
	nmi.entries++;
	nmi.aligned &= is_aligned(regs);
	nmi.on_stack &= on_nmi_stack(regs);
	if (++nmi.depth > nmi.deepest)
		nmi.deepest = nmi.depth;
	if (nmi.entries == 1) {
		arch_nmi_send(arch_this_cpu());
		nmi.came_before_probe = READ_ONCE(nmi.entries) > 1;
		probed();
	}
	nmi.depth--;
}

TEST(vectors, an_nmi_within_an_nmi_leaves_both_frames_whole)
{
	struct kprobe p = { .addr = (unsigned long)probed,
			    .pre_handler = look,
			    .flags = KPROBE_FLAG_NO_JUMP };
	unsigned cpu;
	int err;

	ASSERT_EQ(register_kprobe(&p), 0);
	nmi.entries = nmi.deepest = 0;
	nmi.aligned = nmi.on_stack = true;
	preempt_disable();
	cpu = smp_processor_id();
	err = smp_nmi_call(cpu, nest, NULL);
	preempt_enable();
	unregister_kprobe(&p);
	EXPECT_EQ(err, 0);
	EXPECT_EQ(nmi.entries, 2);
	EXPECT_EQ(nmi.deepest, 2);
	EXPECT_FALSE(nmi.came_before_probe);
	EXPECT_TRUE(nmi.aligned);
	EXPECT_TRUE(nmi.on_stack);
	EXPECT_EQ(nmi.depth, 0);
	EXPECT_EQ(p.nhit, 1);
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
