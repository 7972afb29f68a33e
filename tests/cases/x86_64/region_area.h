/* SPDX-License-Identifier: MIT */
/*
 * The functions of region_area.S that can have a region, and probes that get one.
 */
#ifndef SONDE_TESTS_CASES_X86_64_REGION_AREA_H
#define SONDE_TESTS_CASES_X86_64_REGION_AREA_H

#include <lib/string.h>
#include <probe/detour.h>
#include <probe/kprobe.h>
#include <probe/opt.h>
#include <tests/test.h>

#define FUNCTION(name)             \
	long name(long a, long b); \
	extern const char name##_at[]

FUNCTION(region_fine);
FUNCTION(region_calls_last);
FUNCTION(region_loads);
FUNCTION(region_sleeps);
FUNCTION(region_whole);
FUNCTION(region_branches);
FUNCTION(region_slow1);
FUNCTION(region_slow2);
FUNCTION(region_slow3);
FUNCTION(region_slow4);

static u8 few[64];

/* Each with arguments that it takes, and what it returns then. */
static const struct call {
	const char *at;
	long (*fn)(long a, long b);
	long a, b, result;
} calls[] = {
	{ region_fine_at, region_fine, 4, 0, 7 },
	{ region_calls_last_at, region_calls_last, 4, 0, 11 },
	{ region_whole_at, region_whole, 4, 2, 6 },
	{ region_branches_at, region_branches, 4, 2, 6 },
	{ region_loads_at, region_loads, (long)few, 2, 2 },
	{ region_slow1_at, region_slow1, (long)few, sizeof(few), 1 },
	{ region_slow2_at, region_slow2, (long)few, sizeof(few), 2 },
	{ region_slow3_at, region_slow3, (long)few, sizeof(few), 3 },
	{ region_slow4_at, region_slow4, (long)few, sizeof(few), 4 },
};

static inline long call(const struct call *c)
{
	return c->fn(c->a, c->b);
}

/* Behind @at; an operand that named the place would be a reason to refuse. */
static inline unsigned long inside(const char *at, unsigned n)
{
	__asm__("" : "+r"(at));
	return (unsigned long)at + n;
}

static inline int see(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
}

static inline bool is_region(unsigned long at)
{
	const struct site *s = site_find(at);

	return s && s->detour && s->detour->jump.strategy == JUMP_REGION;
}

static inline const char *why_not(const char *at)
{
	const struct site *s = site_find((unsigned long)at);

	return s && s->no_jump ? s->no_jump : "no reason";
}

/* A plain probe whose jump, if there is one, is a region. */
static inline struct kprobe probe_of(const char *at)
{
	return (struct kprobe){ .addr = (unsigned long)at, .pre_handler = see };
}

static inline void make_region(struct kprobe *p)
{
	opt_wish(JUMP_REGION);
	EXPECT_EQ(register_kprobe(p), 0);
	EXPECT_EQ(opt_sync(), 0);
	EXPECT_TRUE(is_region(p->addr));
	if (!is_region(p->addr))
		test_note("%pS: %s", (void *)p->addr,
			  why_not((const char *)p->addr));
	EXPECT_EQ(*(const u8 *)p->addr, 0xe9);
}

static inline void remove_region(struct kprobe *p)
{
	EXPECT_EQ(unregister_kprobe(p), 0);
	opt_wish(JUMP_NONE);
}

#endif
