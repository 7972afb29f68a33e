/* SPDX-License-Identifier: MIT */
/*
 * Cases of return probes run twice: with changed return addresses, in suite ret,
 * and with breakpoints instead, in suite retsite.
 */
#ifndef SONDE_TESTS_RET_H
#define SONDE_TESTS_RET_H

#include <probe/kretprobe.h>
#include <probe/ret.h>
#include <tests/cases/threads.h>
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
 * Has every thread that sleeps wake up: idle threads, those who wait for the end of
 * any thread, the reaper among them, and the optimiser.
 */
static inline bool ret_stirred(void)
{
	struct kprobe p = { .symbol_name = "thread_yield",
			    .pre_handler = ret_nothing };

	for (unsigned i = 0; i < cpu_count; i++)
		join(start_on(i, ret_idle, NULL));
	if (register_kprobe(&p) == 0)
		unregister_kprobe(&p);
	return ret_orphans() == 0;
}

/* After a probe of the scheduler has gone: until nobody is in there any more. */
static inline void ret_stir(void)
{
	WAIT_FOR(ret_stirred());
}

#endif
