// SPDX-License-Identifier: MIT
/* Hits in interrupts, in NMIs, and in the code that switches threads. */
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <tests/cases/probe.h>

static void fire_target(struct timer *t __unused)
{
	probe_target(1, 2, 3);
}

TEST(probe_context, hits_in_interrupts_are_seen)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = good_pre };
	struct timer t;

	ASSERT_EQ(register_kprobe(&p), 0);
	timer_init(&t, fire_target, NULL);
	timer_start(&t, clock_ns(), NSEC_PER_MSEC);
	while (READ_ONCE(p.nhit) < 5)
		thread_sleep(NSEC_PER_MSEC);
	timer_stop(&t);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

static void in_nmi(void *arg, struct pt_regs *regs __unused)
{
	*(long *)arg = probe_target(3, 2, 1);
}

TEST(probe_context, hits_in_an_nmi_are_seen)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = good_pre,
			    .post_handler = good_post };

	ASSERT_EQ(register_kprobe(&p), 0);
	for_each_cpu(cpu) {
		long result = 0;

		EXPECT_EQ(smp_nmi_call(cpu->id, in_nmi, &result), 0);
		EXPECT_EQ(result, 321);
	}
	EXPECT_EQ(p.nhit, cpu_count);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

static long in_handler;

static int nmi_in_handler(struct kprobe *p __unused,
			  struct pt_regs *regs __unused)
{
	return smp_nmi_call(smp_processor_id(), in_nmi, &in_handler);
}

TEST(probe_context, a_hit_in_an_nmi_in_a_handler_is_a_miss)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = nmi_in_handler };

	in_handler = 0;
	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(probe_target(1, 2, 3), 123);
	EXPECT_EQ(in_handler, 321);
	EXPECT_EQ(p.nhit, 1);
	EXPECT_EQ(p.nmissed, 1);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

TEST(probe_context, the_scheduler_and_the_timer_code_can_be_probed)
{
	struct kprobe s = { .symbol_name = "schedule",
			    .pre_handler = good_pre };
	struct kprobe t = { .symbol_name = "timers_run",
			    .pre_handler = good_pre };
	struct kprobe w = { .symbol_name = "thread_wake",
			    .pre_handler = good_pre };
	struct kprobe *all[] = { &s, &t, &w };

	ASSERT_EQ(register_kprobes(all, 3), 0);
	/* More than five times on a busy host: a sleep may be over at once. */
	for (unsigned i = 0; i < 1000; i++) {
		if (s.nhit >= 5 && t.nhit >= 5 && w.nhit >= 5)
			break;
		thread_sleep(NSEC_PER_MSEC);
	}
	EXPECT_EQ(unregister_kprobes(all, 3), 0);
	EXPECT_GE(s.nhit, 5);
	EXPECT_GE(t.nhit, 5);
	EXPECT_GE(w.nhit, 5);
	EXPECT_EQ(s.nmissed + t.nmissed + w.nmissed, 0);
}
