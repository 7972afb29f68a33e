/* SPDX-License-Identifier: MIT */
/*
 * Cases of return probes run twice: with changed return addresses, in suite ret,
 * and with breakpoints instead, in suite retsite.
 */
#ifndef SONDE_TESTS_RET_H
#define SONDE_TESTS_RET_H

#include <probe/kretprobe.h>
#include <tests/test.h>

static unsigned ret_mode; /* 0 or KRETPROBE_FLAG_RETSITE */

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

#endif
