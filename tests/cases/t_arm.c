// SPDX-License-Identifier: MIT
/* What is to stand in the text, while it changes and hits have a say in it. */
#include <kernel/heap.h>
#include <probe/session.h>
#include <probe/site.h>
#include <tests/cases/probe.h>

#define OTHERS 9 /* with these, a change needs memory for its patches */

static bool follow_null;

static int null_if_told(struct kprobe *p, struct pt_regs *regs)
{
	return READ_ONCE(follow_null) ? null_pre(p, regs) : 0;
}

static void find_others(struct kprobe *ps, struct kprobe **all)
{
	struct insn insn;
	unsigned long pc = entry_of(session_release);

	for (unsigned i = 0; i < OTHERS; i++, pc += insn.len) {
		ps[i] = (struct kprobe){ .addr = pc,
					 .pre_handler = good_pre,
					 .flags = KPROBE_FLAG_DISABLED };
		all[i] = &ps[i];
		ASSERT_EQ(arch_insn_decode(&insn, (const void *)pc,
					   INSN_MAX_BYTES, pc),
			  0);
	}
}

/*
 * Its handler is abandoned in the change itself, when that is under way already.
 * The breakpoint of its address is part of the jump in front of it.
 */
TEST(arm, a_probe_that_is_disabled_by_a_hit_in_its_change_stays_as_decided)
{
	static struct kprobe others[OTHERS], *all[OTHERS + 1];
	struct kprobe front = { .addr = entry_of(kcalloc),
				.pre_handler = good_pre };
	struct kprobe bad = { .addr = second_of(kcalloc),
			      .pre_handler = null_if_told,
			      .flags = KPROBE_FLAG_NO_JUMP };
	struct kprobe same = { .addr = bad.addr,
			       .pre_handler = good_pre,
			       .flags = KPROBE_FLAG_DISABLED };
	u64 before = text_hash();

	find_others(others, all);
	all[OTHERS] = &same;
	EXPECT_EQ(register_kprobe(&bad), 0);
	EXPECT_EQ(register_kprobe(&front), 0);
	EXPECT_EQ(opt_sync(), 0);
	WRITE_ONCE(follow_null, true);
	EXPECT_EQ(register_kprobes(all, OTHERS + 1), 0);
	WRITE_ONCE(follow_null, false);
	EXPECT_EQ(bad.verdict, KPROBE_FAULTED);
	EXPECT_EQ(front.nhit, 1);
	kfree(kcalloc(1, 16));
	EXPECT_EQ(front.nhit, 2);
	EXPECT_EQ(bad.nhit, 1);
	EXPECT_EQ(unregister_kprobes(all, OTHERS + 1), 0);
	kfree(kcalloc(1, 16));
	EXPECT_EQ(unregister_kprobe(&bad), 0);
	EXPECT_EQ(unregister_kprobe(&front), 0);
	EXPECT_EQ(text_hash(), before);
}
