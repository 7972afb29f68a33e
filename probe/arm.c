// SPDX-License-Identifier: MIT
/*
 * What stands in the text: nothing of ours, a breakpoint, or a jump. Makes it
 * follow a change of sites, in an order in which every intermediate state of the
 * text is right for a CPU that runs it.
 *
 *			 down		    up
 *	jump ---------> breakpoint ---------> jump
 *		   nothing <--> breakpoint
 *
 * A breakpoint is always right: its site can be found. A jump is right as long as
 * all bytes of it stand, and those behind its own instruction are its neighbours'
 * (jump.h). Hence
 *
 *	- before bytes change, jumps that include them go down, and before these
 *	  do, those that include *their* bytes: lowest address first;
 *	- a jump goes up after all that it includes: highest address first;
 *
 * each in a round of its own, as a round is seen by other CPUs in any order.
 * Which jumps go up is opt.c's to say. Those that had to go down without being
 * meant are its to try again.
 *
 * Everything is under probe_mutex. Nothing here fails: without memory rounds are
 * small.
 */
#include <kernel/heap.h>
#include <kernel/panic.h>
#include <kernel/quiesce.h>
#include <kernel/thread.h>
#include <lib/sort.h>
#include <lib/string.h>
#include <probe/opt.h>
#include <probe/patch.h>
#include "detour.h"

STATIC_ASSERT(offsetof(struct kprobe, nhit) == KPROBE_NHIT);
STATIC_ASSERT(offsetof(struct kprobe, call) == KPROBE_CALL);
STATIC_ASSERT(offsetof(struct thread, preempt_count) == THREAD_PREEMPT);

/* How far a jump can reach: a region, whose last instruction is the longest. */
#define REACH_MAX (ARCH_JUMP_SIZE - 1 + ARCH_PATCH_MAX)

/* Writing ---------------------------------------------------------------------- */

struct round {
	struct text_patch *patches;
	unsigned room, n;
};

static int by_address(const void *a, const void *b)
{
	unsigned long x = ((const struct text_patch *)a)->addr;
	unsigned long y = ((const struct text_patch *)b)->addr;

	return x < y ? -1 : x > y;
}

static void round_end(struct round *r)
{
	sort(r->patches, r->n, sizeof(*r->patches), by_address);
	if (r->n > 0 && text_patch(r->patches, r->n) < 0)
		panic("text_patch() refuses a change at %pS",
		      (void *)r->patches[0].addr);
	r->n = 0;
}

/* All sites can be found while their text changes: there are only hits. */
static void no_resume(const struct text_patch *p, struct pt_regs *regs __unused)
{
	panic("no site at %pS", (void *)p->addr);
}

static void round_add(struct round *r, unsigned long addr, const u8 *bytes,
		      unsigned len)
{
	struct text_patch *p = &r->patches[r->n];

	p->addr = addr;
	p->resume = no_resume;
	p->len = (u8)len;
	memcpy(p->bytes, bytes, len);
	if (++r->n == r->room)
		round_end(r);
}

/* What is to change --------------------------------------------------------------- */

static bool changes(const struct site *s)
{
	return s->detour || s->coming_detour ||
	       s->armed != site_wants_arming(s);
}

/* Jumps below that include bytes of @s become part of the change. */
static void touch_below(const struct site *s, struct site_change *c)
{
	for (unsigned i = 1; i < REACH_MAX; i++) {
		struct site *below = site_find(s->addr - i);

		if (!below)
			continue;
		opt_again(below);
		if (below->detour && below->detour->jump.footprint > i)
			site_touch(below, c);
	}
}

/* They have jumps below, too. New ones are put in front. */
static void close_over(struct site_change *c)
{
	struct site *done = NULL;

	if (!ARCH_JUMP_PUNS || !opt_has_worked())
		return;
	while (c->sites != done) {
		struct site *stop = done;

		done = c->sites;
		for (struct site *s = done; s != stop; s = s->next_changed) {
			if (changes(s))
				touch_below(s, c);
		}
	}
}

/* Ascending. Merges longer and longer runs of the list. */
static struct site *sorted(struct site *list, unsigned n)
{
	struct site *low = list, *high, **link = &list;

	if (n < 2)
		return list;
	for (unsigned i = 1; i < n / 2; i++)
		low = low->next_changed;
	high = low->next_changed;
	low->next_changed = NULL;
	low = sorted(list, n / 2);
	high = sorted(high, n - n / 2);
	while (low && high) {
		struct site **first = low->addr < high->addr ? &low : &high;

		*link = *first;
		link = &(*first)->next_changed;
		*first = *link;
	}
	*link = low ? low : high;
	return list;
}

static struct site *reversed(struct site *list)
{
	struct site *result = NULL;

	while (list) {
		struct site *next = list->next_changed;

		list->next_changed = result;
		result = list;
		list = next;
	}
	return result;
}

/* In order ----------------------------------------------------------------------- */

static void retire(struct site *s, struct site_change *c)
{
	struct detour *d = s->detour;

	WRITE_ONCE(d->exec.leaving, true);
	d->next = c->detours;
	c->detours = d;
	s->detour = NULL;
}

static void take_down(struct round *r, struct site *s, struct site_change *c)
{
	u8 bytes[ARCH_PATCH_MAX];
	const struct jump *j = &s->detour->jump;

	memcpy(bytes, j->old, j->len);
	s->armed = site_wants_arming(s);
	if (s->armed)
		memcpy(bytes, arch_break_insn, ARCH_BREAK_SIZE);
	retire(s, c);
	round_add(r, s->addr, bytes, j->len);
}

/* One round: those that no jump below includes which stands in it. More? */
static bool round_down(struct round *r, struct site_change *c)
{
	unsigned long end = 0;
	bool more = false;

	for (struct site *s = c->sites; s; s = s->next_changed) {
		const struct detour *d = s->detour;

		if (!d)
			continue;
		if (end > s->addr)
			more = true;
		else
			take_down(r, s, c);
		end = max(end, s->addr + d->jump.footprint);
	}
	round_end(r);
	return more;
}

static void put_up(struct round *r, struct site *s)
{
	struct detour *d = s->coming_detour;

	s->detour = d;
	s->coming_detour = NULL;
	round_add(r, s->addr, d->jump.bytes, d->jump.len);
}

/* The same, descending: those that include nothing that changes in it. */
static bool round_up(struct round *r, struct site_change *c)
{
	unsigned long start = -1ul;
	bool more = false;

	for (struct site *s = c->sites; s; s = s->next_changed) {
		const struct detour *d = s->coming_detour;

		if (!d)
			continue;
		if (s->addr + d->jump.footprint > start)
			more = true;
		else
			put_up(r, s);
		start = s->addr;
	}
	round_end(r);
	return more;
}

static void round_break(struct round *r, struct site_change *c)
{
	for (struct site *s = c->sites; s; s = s->next_changed) {
		bool wanted = site_wants_arming(s);

		if (wanted == s->armed)
			continue;
		s->armed = wanted;
		round_add(r, s->addr, wanted ? arch_break_insn : s->insn.bytes,
			  ARCH_BREAK_SIZE);
	}
	round_end(r);
}

void probe_arm(struct site_change *c)
{
	static struct text_patch few[8];
	struct text_patch *many = NULL;
	struct round r = { few, ARRAY_SIZE(few), 0 };

	close_over(c);
	if (c->n > ARRAY_SIZE(few))
		many = kcalloc(c->n, sizeof(*many));
	if (many)
		r = (struct round){ many, c->n, 0 };
	c->sites = sorted(c->sites, c->n);
	while (round_down(&r, c))
		;
	round_break(&r, c);
	c->sites = reversed(c->sites);
	while (round_up(&r, c))
		;
	kfree(many);
}

/* What is left over ---------------------------------------------------------------- */

static bool is_leaving(unsigned long pc)
{
	return exec_is_leaving(pc) || window_contains(pc);
}

void detour_free(struct detour *d)
{
	jump_drop(&d->jump);
	if (d->exec.at)
		exec_free(&d->exec);
	kfree(d);
}

/* Waits until nobody is in what is leaving: detours, and slots of sites. */
void probe_leave_code(struct site_change *c)
{
	struct detour *d = c->detours, *next;

	quiesce_tasks_in(d ? is_leaving : exec_is_leaving);
	for (; d; d = next) {
		next = d->next;
		detour_free(d);
	}
	if (c->detours)
		window_trim();
	c->detours = NULL;
}
