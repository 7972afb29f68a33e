/* SPDX-License-Identifier: MIT */
/*
 * Jumps over several instructions: every way in which somebody could get between
 * them is a reason to refuse, and what is accepted is so for a reason, too.
 */
#include "region_area.h"
#include <arch/mmu.h>
#include <lib/errno.h>

FUNCTION(region_looped);
FUNCTION(region_entered);
FUNCTION(region_reached);
FUNCTION(region_switched);
FUNCTION(region_pointed);
FUNCTION(region_loaded);
FUNCTION(region_stored);
FUNCTION(region_called);
FUNCTION(region_faulting);
FUNCTION(region_short);

/* Of a region at @at, not to be made; NULL: it is fine, and has so many bytes. */
static const char *reason(const char *at, unsigned *displaced)
{
	struct region region;
	struct jump jump;
	struct insn insn;
	const char *why = NULL;

	mutex_lock(&probe_mutex);
	EXPECT_EQ(deny_check((unsigned long)at, &insn, &why), 0);
	why = region_check((unsigned long)at, &region);
	*displaced = 0;
	if (!why) {
		EXPECT_EQ(jump_plan_region(&jump, &region, NEAR_BASE,
					   (const u8 *)at),
			  0);
		EXPECT_EQ(jump.strategy, JUMP_REGION);
		EXPECT_EQ(jump.len, ARCH_JUMP_SIZE);
		EXPECT_EQ(jump.footprint, jump.displaced);
		EXPECT_EQ(jump.stub.addr, 0ul);
		*displaced = jump.displaced;
		jump_drop(&jump);
	}
	mutex_unlock(&probe_mutex);
	return why;
}

static void expect_refused(const char *at, const char *why)
{
	unsigned displaced;
	const char *told = reason(at, &displaced);

	EXPECT_STREQ(told ? told : "fine", why);
}

static void expect_fine(const char *at, unsigned bytes)
{
	unsigned displaced;

	EXPECT_STREQ(reason(at, &displaced) ?: "fine", "fine");
	EXPECT_EQ(displaced, bytes);
}

TEST(region, takes_as_many_instructions_as_the_jump_covers)
{
	expect_fine(region_fine_at, 6);
	expect_fine(region_slow1_at, 5);
	expect_fine(region_slow4_at, 6);
}

TEST(region, no_jump_may_lead_inside)
{
	const char *why = "a jump leads to where the jump would be";

	expect_refused(region_looped_at, why);
	expect_refused(region_entered_at, why);
	expect_refused(region_reached_at, why);
	expect_refused(region_pointed_at, why);
	expect_refused(region_loaded_at, why);
	expect_refused(region_stored_at, why);
	expect_refused(region_switched_at,
		       "its function jumps to computed addresses");
}

TEST(region, no_call_may_return_inside)
{
	expect_refused(region_called_at,
		       "a call returns to where the jump would be");
	expect_fine(region_calls_last_at, 6);
}

TEST(region, no_fault_may_be_expected_inside)
{
	expect_refused(region_faulting_at,
		       "a fault is expected where the jump would be");
}

TEST(region, the_function_must_go_on_as_long)
{
	expect_refused(region_short_at,
		       "its function ends before the jump would");
}

TEST(region, no_other_probe_may_be_inside)
{
	struct kprobe p = { .addr = inside(region_fine_at, 1),
			    .pre_handler = see };

	ASSERT_EQ(register_kprobe(&p), 0);
	expect_refused(region_fine_at, "another probe is in the way");
	unregister_kprobe(&p);
	expect_fine(region_fine_at, 6);
}
