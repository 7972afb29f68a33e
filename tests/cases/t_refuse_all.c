// SPDX-License-Identifier: MIT
/*
 * Batches of all kinds of probes that are refused, or end with their session, or
 * come from where they may not: nothing is left of them.
 */
#include <arch/cpu.h>
#include <kernel/heap.h>
#include <lib/errno.h>
#include <probe/jprobe.h>
#include <probe/kretprobe.h>
#include <probe/ret.h>
#include <probe/session.h>
#include <tests/cases/probe.h>

static int returned(struct kretprobe_instance *ri __unused,
		    struct pt_regs *regs __unused)
{
	return 0;
}

/* With breakpoints where it returns to: behind all calls of probe_target(). */
static struct kretprobe at_places(void)
{
	return (struct kretprobe){ .kp = { .symbol_name = "probe_target",
					   .flags = KRETPROBE_FLAG_RETSITE },
				   .handler = returned };
}

TEST(refuse_all, where_calls_return_to_nothing_stays_of_a_batch_that_is_refused)
{
	struct kretprobe good = at_places();
	struct kretprobe bad = { .kp = { .symbol_name = "nowhere_at_all" },
				 .handler = returned };
	struct kretprobe *batch[] = { &good, &bad };
	u64 before = text_hash();

	EXPECT_EQ(register_kretprobes(batch, 2), -ENOENT);
	EXPECT_EQ(text_hash(), before);
	EXPECT_EQ(ret_orphans(), 0);
}

TEST(refuse_all, where_calls_return_to_nothing_stays_of_a_session)
{
	struct kretprobe rp = at_places();
	u64 before = text_hash();

	ASSERT_EQ(session_open("places", NULL, &rp.kp.session), 0);
	ASSERT_EQ(register_kretprobe(&rp), 0);
	EXPECT_NE(text_hash(), before);
	EXPECT_EQ(session_close(rp.kp.session), 0);
	EXPECT_EQ(text_hash(), before);
}
