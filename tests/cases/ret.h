/* SPDX-License-Identifier: MIT */
/*
 * Cases of return probes run twice: with changed return addresses, in suite ret,
 * and with breakpoints instead, in suite retsite.
 */
#ifndef SONDE_TESTS_RET_H
#define SONDE_TESTS_RET_H

#include <kernel/percpu.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <probe/kretprobe.h>
#include <probe/ret.h>
#include <tests/test.h>

static unsigned ret_mode __unused; /* 0 or KRETPROBE_FLAG_RETSITE */

#define TEST_BOTH(name_)                           \
	static void both_##name_(void);            \
	TEST(ret, name_)                           \
	{                                          \
		both_##name_();                    \
	}                                          \
	TEST(retsite, name_)                       \
	{                                          \
		ret_mode = KRETPROBE_FLAG_RETSITE; \
		both_##name_();                    \
		ret_mode = 0;                      \
	}                                          \
	static void both_##name_(void)

static inline int ret_register(struct kretprobe *rp)
{
	rp->kp.flags &= ~(unsigned)KRETPROBE_FLAG_RETSITE;
	rp->kp.flags |= ret_mode;
	return register_kretprobe(rp);
}

static inline int ret_register_all(struct kretprobe **rps, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		rps[i]->kp.flags &= ~(unsigned)KRETPROBE_FLAG_RETSITE;
		rps[i]->kp.flags |= ret_mode;
	}
	return register_kretprobes(rps, n);
}

static inline int ret_nothing(struct kprobe *p __unused,
			      struct pt_regs *regs __unused)
{
	return 0;
}

static inline void ret_idle(void *arg __unused)
{
}

/*
 * After a probe of the scheduler has gone: has every thread that sleeps wake up
 * once. The reaper, idle threads, and the optimiser.
 */
static inline void ret_stir(void)
{
	for (unsigned tries = 0; tries < 100 && ret_orphans() > 0; tries++) {
		struct kprobe p = { .symbol_name = "thread_yield",
				    .pre_handler = ret_nothing };
		struct thread *t = thread_create("stir", ret_idle, NULL);

		if (t)
			thread_detach(t);
		for (unsigned i = 0; i < cpu_count; i++) {
			t = thread_create_on("stir", BIT(i), ret_idle, NULL);
			if (t)
				thread_join(t);
		}
		if (register_kprobe(&p) == 0)
			unregister_kprobe(&p);
		thread_sleep(NSEC_PER_MSEC);
	}
	EXPECT_EQ(ret_orphans(), 0);
}

#endif
