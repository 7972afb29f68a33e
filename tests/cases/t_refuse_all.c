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
#include <probe/site.h>
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

/* Not from where they may not be called ------------------------------------------ */

static void see_nothing(void)
{
}

static int errors[6];

static int meddle(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	static struct kretprobe rp, *rps[] = { &rp };
	static struct kprobe kp;
	static struct jprobe jp = { .entry = see_nothing };

	rp = (struct kretprobe){ .kp = { .symbol_name = "probe_caller" },
				 .handler = returned };
	kp = (struct kprobe){ .symbol_name = "probe_caller",
			      .pre_handler = good_pre };
	jp.kp = kp;
	errors[0] = register_kretprobes(rps, 1);
	errors[1] = unregister_kretprobes(rps, 1);
	errors[2] = register_kprobe_pair(&kp, &rp);
	errors[3] = unregister_kprobe_pair(&kp, &rp);
	errors[4] = register_jprobe(&jp);
	errors[5] = unregister_jprobe(&jp);
	return 0;
}

TEST(refuse_all, a_handler_can_neither_register_nor_unregister_any_kind)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = meddle };

	ASSERT_EQ(register_kprobe(&p), 0);
	probe_target(1, 2, 3);
	EXPECT_EQ(p.verdict, KPROBE_WELL);
	for (unsigned i = 0; i < ARRAY_SIZE(errors); i++)
		EXPECT_EQ(errors[i], -EDEADLK);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

/* What is not there ---------------------------------------------------------------- */

TEST(refuse_all, a_probe_that_is_none_is_refused)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = good_pre };
	struct kprobe *batch[] = { &p, NULL };
	struct kretprobe *rps[] = { NULL };
	u64 before = text_hash();

	EXPECT_EQ(register_kprobe(NULL), -EINVAL);
	EXPECT_EQ(unregister_kprobe(NULL), -EINVAL);
	EXPECT_EQ(enable_kprobe(NULL), -EINVAL);
	EXPECT_EQ(disable_kprobe(NULL), -EINVAL);
	EXPECT_EQ(register_kprobes(batch, 2), -EINVAL);
	EXPECT_EQ(text_hash(), before);
	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(unregister_kprobes(batch, 2), -EINVAL);
	EXPECT_EQ(text_hash(), before);
	EXPECT_EQ(register_kretprobe(NULL), -EINVAL);
	EXPECT_EQ(unregister_kretprobe(NULL), -EINVAL);
	EXPECT_EQ(register_kretprobes(rps, 1), -EINVAL);
	EXPECT_EQ(unregister_kretprobes(rps, 1), -EINVAL);
	EXPECT_EQ(register_jprobe(NULL), -EINVAL);
	EXPECT_EQ(register_kprobes(NULL, 0), 0);
	EXPECT_EQ(unregister_kprobes(NULL, 0), 0);
	EXPECT_EQ(register_kretprobes(NULL, 0), 0);
	EXPECT_EQ(unregister_kretprobes(NULL, 0), 0);
}

TEST(refuse_all, one_that_is_twice_in_a_batch_is_refused_or_removed_once)
{
	struct kprobe p = { .symbol_name = "probe_target",
			    .pre_handler = good_pre };
	struct kprobe *twice[] = { &p, &p };
	u64 before = text_hash();

	EXPECT_EQ(register_kprobes(twice, 2), -EBUSY);
	EXPECT_EQ(text_hash(), before);
	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(register_kprobes(twice, 2), -EBUSY);
	probe_target(1, 2, 3);
	EXPECT_EQ(p.nhit, 1);
	EXPECT_EQ(unregister_kprobes(twice, 2), -EINVAL);
	EXPECT_EQ(text_hash(), before);
}

/* Without memory ------------------------------------------------------------------ */

/* Of each kind one, on the same address and on others. */
static int register_some(struct kretprobe *rps)
{
	struct kretprobe *all[] = { &rps[0], &rps[1], &rps[2] };

	rps[0] = at_places();
	rps[1] = (struct kretprobe){ .kp = { .symbol_name = "probe_caller" },
				     .handler = returned };
	rps[2] = (struct kretprobe){ .kp = { .symbol_name = "probe_target",
					     .post_handler = good_post },
				     .handler = returned };
	return register_kretprobes(all, 3);
}

static void without_memory(int n, int *err)
{
	static struct kretprobe rps[3];
	struct kretprobe *all[] = { &rps[0], &rps[1], &rps[2] };

	heap_fail_after(n);
	*err = register_some(rps);
	if (!*err) {
		heap_fail_after(0);
		EXPECT_EQ(probe_caller(1), 124);
		EXPECT_EQ(unregister_kretprobes(all, 3), 0);
	}
	heap_fail_after(-1);
	EXPECT_EQ(probe_caller(1), 124);
}

static void without_memory_in(enum opt_mode mode)
{
	enum opt_mode mode_before = opt_mode();
	u64 before = text_hash();
	unsigned sites = site_count();
	int err = -ENOMEM, n;

	EXPECT_EQ(opt_set(mode), 0);
	for (n = 0; n < 100 && err; n++) {
		without_memory(n, &err);
		EXPECT_EQ(text_hash(), before);
		EXPECT_EQ(site_count(), sites);
		if (err)
			EXPECT_TRUE(err == -ENOMEM || err == -ENOSPC);
	}
	EXPECT_EQ(err, 0);
	EXPECT_GE(n, 6);
	/* It may do with breakpoints where jumps would need more. */
	for (; n < 60; n++) {
		without_memory(n, &err);
		EXPECT_EQ(err, 0);
		EXPECT_EQ(text_hash(), before);
	}
	EXPECT_EQ(opt_set(mode_before), 0);
}

TEST(refuse_all, without_memory_a_batch_is_refused_and_leaves_nothing)
{
	without_memory_in(OPT_OFF);
}

TEST(refuse_all, without_memory_for_jumps_there_are_breakpoints)
{
	without_memory_in(OPT_EAGER);
}
