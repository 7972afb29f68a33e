/* SPDX-License-Identifier: MIT */
/*
 * Plans of jumps for all of the kernel's text. Nothing is written to it: what
 * would stand there is in a copy, and the decoder says where that leads. Stubs
 * are real, the detours they lead to are only addresses.
 */
#include "../test.h"
#include <kernel/image.h>
#include <kernel/symtab.h>
#include <kernel/vm.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/jump.h>
#include <probe/opt.h>
#include <probe/region.h>
#include <probe/site.h>

#define DETOUR_SIZE 256

/* One instruction that may be probed, and its jump. */
struct spot {
	unsigned long pc;
	struct jump jump;
};

static struct spot *spots;
static unsigned nr_spots;
static u8 *copy; /* of text */
static unsigned strategies[JUMP_STRATEGIES];

static size_t text_size(void)
{
	return (size_t)(__text_end - __text_start);
}

static u8 *copy_of(unsigned long pc)
{
	return copy + (pc - (unsigned long)__text_start);
}

static void spots_of(const struct symbol *sym)
{
	unsigned long pc = sym->addr, end = sym->addr + sym->size;
	struct insn insn;
	const char *why;

	while (pc < end && image_is_text(pc)) {
		insn.len = 0;
		if (deny_check(pc, &insn, &why) == 0)
			spots[nr_spots++].pc = pc;
		else if (arch_insn_decode(&insn, (const void *)pc, end - pc,
					  pc) == -ENODATA)
			return;
		pc += insn.len;
	}
}

/* False: no memory. Under probe_mutex. */
static bool prepare(void)
{
	struct symbol sym = { .addr = 0 };
	size_t room = text_size() / 3 * sizeof(*spots);

	spots = vm_alloc(room / PAGE_SIZE + 1, VM_READ | VM_WRITE);
	copy = vm_alloc(text_size() / PAGE_SIZE + 1, VM_READ | VM_WRITE);
	if (!spots || !copy)
		return false;
	memcpy(copy, __text_start, text_size());
	memset(strategies, 0, sizeof(strategies));
	nr_spots = 0;
	while (symtab_next(sym.addr, &sym) == 0)
		spots_of(&sym);
	return true;
}

static void tear_down(void)
{
	vm_free(spots);
	vm_free(copy);
}

/* Where the jump at @code leads; 0: it is none. */
static unsigned long target_of(const u8 *code, size_t size, unsigned long pc)
{
	const u32 jump = INSN_BRANCH_REL | INSN_COND | INSN_CALL;
	struct insn insn;

	if (arch_insn_decode(&insn, code, size, pc) ||
	    (insn.flags & jump) != INSN_BRANCH_REL)
		return 0;
	return insn.target;
}

/* With the jump in the copy: does it lead to @detour? */
static bool leads_to(const struct jump *j, unsigned long detour)
{
	unsigned long to = target_of(copy_of(j->addr), ARCH_JUMP_TEXT, j->addr);

	if (j->stub.addr && to == j->stub.addr)
		to = target_of((const u8 *)to, STUB_SIZE, to);
	return to == detour;
}

static unsigned long detour_of(const struct spot *s)
{
	return NEAR_BASE + (unsigned long)(s - spots) * DETOUR_SIZE % NEAR_SIZE;
}

/* Plans against the copy as it stands, and writes the jump to it. */
static bool plan(struct spot *s, enum jump_strategy wish)
{
	unsigned long detour = detour_of(s);
	struct region region;
	struct insn insn;
	const char *why;

	if (arch_insn_decode(&insn, (const void *)s->pc, INSN_MAX_BYTES, s->pc))
		return false;
	if (jump_plan(&s->jump, &insn, detour, copy_of(s->pc), wish, &why) &&
	    (wish || insn.len >= ARCH_JUMP_SIZE ||
	     region_check(s->pc, &region) ||
	     jump_plan_region(&s->jump, &region, detour, copy_of(s->pc))))
		return false;
	memcpy(copy_of(s->pc), s->jump.bytes, s->jump.len);
	EXPECT_TRUE(leads_to(&s->jump, detour));
	strategies[s->jump.strategy]++;
	return true;
}

static void restore(struct spot *s)
{
	memcpy(copy_of(s->pc), (const void *)s->pc, s->jump.len);
	jump_drop(&s->jump);
}

static void note_result(unsigned n)
{
	unsigned long share = n * 10000UL / nr_spots;

	test_note("%u of %u (%lu.%02lu %%): own %u pun %u branch %u region %u",
		  n, nr_spots, share / 100, share % 100, strategies[JUMP_OWN],
		  strategies[JUMP_PUN], strategies[JUMP_BRANCH],
		  strategies[JUMP_REGION]);
}

/* One after the other, any kind of jump. */
static void try_single(void)
{
	unsigned n = 0;

	for (struct spot *s = spots; s < spots + nr_spots; s++) {
		if (plan(s, JUMP_NONE)) {
			restore(s);
			n++;
		}
	}
	window_trim();
	note_result(n);
	EXPECT_GE(n, nr_spots / 100 * 99);
	EXPECT_MEMEQ(copy, __text_start, text_size());
}

/* From high addresses to low ones: each finds what its neighbours left. */
static void try_all(void)
{
	unsigned n = 0, still = 0;

	for (struct spot *s = spots + nr_spots; s-- > spots;) {
		if (plan(s, ARCH_JUMP_DIRECT) || plan(s, JUMP_PUN))
			n++;
		else
			memcpy(copy_of(s->pc), arch_break_insn,
			       ARCH_BREAK_SIZE);
	}
	note_result(n);
	test_note("%u stubs in %u pages of %u frames", window_stub_count(),
		  window_page_count(), window_frame_count());
	EXPECT_GE(n, nr_spots / 100 * 97);
	for (struct spot *s = spots; s < spots + nr_spots; s++)
		still += s->jump.strategy && leads_to(&s->jump, detour_of(s));
	EXPECT_EQ(still, n);
	for (struct spot *s = spots; s < spots + nr_spots; s++) {
		if (s->jump.strategy)
			restore(s);
		else
			*copy_of(s->pc) = *(const u8 *)s->pc;
	}
	window_trim();
}

static void with_spots(void (*fn)(void))
{
	mutex_lock(&probe_mutex);
	if (prepare())
		fn();
	else
		test_skip("not enough memory");
	EXPECT_EQ(window_stub_count(), 0u);
	EXPECT_EQ(window_page_count(), 0u);
	tear_down();
	mutex_unlock(&probe_mutex);
}

TEST(jump, nearly_every_instruction_can_be_one)
{
	with_spots(try_single);
}

TEST(jump, nearly_all_instructions_can_be_jumps_at_once)
{
	with_spots(try_all);
}

static int nothing(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
}

TEST(jump, a_kind_that_the_machine_lacks_is_refused_with_that_reason)
{
	struct kprobe p = { .symbol_name = "schedule", .pre_handler = nothing };

	opt_wish(ARCH_JUMP_PUNS ? JUMP_BRANCH : JUMP_REGION);
	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(opt_sync(), 0);
	mutex_lock(&probe_mutex);
	EXPECT_EQ(kprobe_jump(&p), JUMP_NONE);
	EXPECT_STREQ(site_find(p.addr)->no_jump,
		     "there are no jumps of that kind on this machine");
	mutex_unlock(&probe_mutex);
	EXPECT_EQ(unregister_kprobe(&p), 0);
	opt_wish(JUMP_NONE);
}
