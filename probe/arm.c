// SPDX-License-Identifier: MIT
/*
 * What stands in the text: nothing of ours, a breakpoint, or a jump. Makes it
 * follow a change of sites.
 *
 * A breakpoint is always right: its site can be found. A jump is right as long as
 * all bytes of it stand, and those behind its own instruction are its neighbours'
 * (jump.h). So whoever's bytes change takes the jumps below that include them
 * along, and these those that include *theirs*: a change is looked at from high
 * addresses to low ones, each site after all that its jump can be read from. It
 * is decided there what is to stand, and then written at once; patch.c has an
 * order in which every intermediate state is right for a CPU that runs it.
 *
 * Where a jump takes the place of several instructions (region.c), nobody may come
 * to stand between them. So its breakpoint is first one whose hits run them all:
 *
 *	breakpoint ---> ... into the detour ---> all quiet? ---> jump
 *	jump ---------> ... into the detour -------------------> breakpoint
 *
 * "All quiet" is that no thread is at a boundary inside, or in a slot or detour
 * from where it would get there. Should somebody stay, then so does the
 * breakpoint. On the way back there is nothing to wait for: once the text is
 * whole one may be anywhere in it.
 *
 * Everything is under probe_mutex. Nothing here fails: without memory patches are
 * few at a time.
 */
#include <kernel/heap.h>
#include <kernel/panic.h>
#include <kernel/quiesce.h>
#include <kernel/thread.h>
#include <lib/string.h>
#include <probe/opt.h>
#include <probe/patch.h>
#include "detour.h"

STATIC_ASSERT(offsetof(struct kprobe, nhit) == KPROBE_NHIT);
STATIC_ASSERT(offsetof(struct kprobe, call) == KPROBE_CALL);
STATIC_ASSERT(offsetof(struct thread, preempt_count) == THREAD_PREEMPT);

/* What is to stand --------------------------------------------------------------- */

static bool changes(const struct site *s)
{
	return s->detour || s->coming_detour || s->armed != s->wanted;
}

/*
 * Jumps below that include bytes of @s become part of the change, in their place
 * behind it.
 */
static void touch_below(struct site *s, struct site_change *c)
{
	struct site *below = s, **link = &s->next_changed;

	while ((below = site_below(below)) &&
	       below->addr + REGION_MAX > s->addr) {
		while (*link && (*link)->addr > below->addr)
			link = &(*link)->next_changed;
		if (below->changed)
			continue;
		opt_again(below);
		if (below->detour &&
		    below->addr + below->detour->jump.footprint > s->addr)
			site_insert(below, link, c);
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

static void settle(struct site_change *c)
{
	c->sites = reversed(sorted(c->sites, c->n));
	for (struct site *s = c->sites; s; s = s->next_changed) {
		/* Once: hits may disable its probes meanwhile. */
		s->wanted = site_wants_arming(s);
		if (c->plan_jumps && s->wanted && !s->coming_detour)
			opt_plan(s);
		if (changes(s) && ARCH_JUMP_PUNS && opt_has_worked())
			touch_below(s, c);
	}
}

unsigned site_coming_text(const struct site *s, u8 *bytes)
{
	const struct detour *old = s->detour, *new = s->coming_detour;
	unsigned len = ARCH_BREAK_SIZE;

	memcpy(bytes, s->insn.bytes, ARCH_PATCH_MAX);
	if (old) {
		memcpy(bytes, old->jump.old, old->jump.len);
		len = max(len, old->jump.len + 0u);
	}
	if (new) {
		memcpy(bytes, new->jump.bytes, new->jump.len);
		len = max(len, new->jump.len + 0u);
	} else if (s->wanted) {
		memcpy(bytes, arch_break_insn, ARCH_BREAK_SIZE);
	}
	return len;
}

/* Regions ------------------------------------------------------------------------- */

/* From now on hits of @s run all that @d displaces; if NULL, one instruction. */
static void lead_through(struct site *s, struct detour *d)
{
	/* Pairs with the dependent reads of region_actual(). */
	store_release(&s->through, d);
	site_route(s);
}

static void retire(struct detour *d, struct site_change *c)
{
	WRITE_ONCE(d->exec.leaving, true);
	d->next = c->detours;
	c->detours = d;
}

/* The only one that is asked about, or NULL for all. */
static const struct site *asked;

static bool is_closing(const struct site *s)
{
	return s && s->coming_detour && s->through == s->coming_detour &&
	       (!asked || asked == s);
}

/* Can somebody at @pc get between the instructions of a region that is to come? */
static bool is_between(unsigned long pc)
{
	const struct exec *x = exec_at(pc);
	bool between = false;

	if (x)
		return is_closing(x->site) && x->detour != x->site->through;
	for (unsigned i = 1; i < REGION_MAX; i++) {
		const struct site *s = site_find(pc - i);

		if (is_closing(s))
			between |= i < s->coming_detour->jump.displaced;
	}
	return between;
}

/* How often it is asked, a millisecond apart. */
#define QUIET_TRIES 10

static bool is_quiet(const struct site *s, unsigned tries)
{
	bool quiet;

	asked = s;
	quiet = quiesce_tasks_try(is_between, tries);
	asked = NULL;
	return quiet;
}

static void keep_break(struct site *s, struct site_change *c)
{
	s->changed = false;
	c->n--;
	lead_through(s, NULL);
	retire(s->coming_detour, c);
	s->coming_detour = NULL;
	opt_later(s);
}

void probe_close_regions(struct site_change *c)
{
	struct site *s, **link = &c->sites;

	exec_flush();
	for (s = c->sites; s; s = s->next_changed)
		lead_through(s, s->coming_detour);
	quiesce_cpus(); /* hits that were led elsewhere */
	if (is_quiet(NULL, QUIET_TRIES))
		return;
	while ((s = *link)) {
		if (is_quiet(s, 1)) {
			link = &s->next_changed;
		} else {
			*link = s->next_changed;
			keep_break(s, c);
		}
	}
}

/* Writing ---------------------------------------------------------------------- */

/* Patches in one batch: in stop mode the machine stands still for so many. */
#define ROUND 1024u

/* Patches of one batch, ascending: put in from the start, or from the end. */
struct round {
	struct text_patch *patches;
	unsigned room, n;
	bool from_end;
};

/* All sites can be found while their text changes: there are only hits. */
static void no_resume(const struct text_patch *p, struct pt_regs *regs __unused)
{
	panic("no site at %pS", (void *)p->addr);
}

static void round_end(struct round *r)
{
	struct text_patch *first = r->patches;

	if (r->from_end)
		first += r->room - r->n;
	if (r->n > 0 && text_patch(first, r->n) < 0)
		panic("text_patch() refuses a change at %pS",
		      (void *)first->addr);
	r->n = 0;
}

/* What stands at @s changes: to its new jump only if that @comes now. */
static void round_add(struct round *r, struct site *s, bool comes,
		      struct site_change *c)
{
	struct detour *old = s->detour, *new = s->coming_detour;
	struct text_patch *p = &r->patches[r->n];

	if (r->from_end)
		p = &r->patches[r->room - 1 - r->n];
	if (!comes)
		s->coming_detour = NULL;
	*p = (struct text_patch){
		.addr = s->addr,
		.resume = no_resume,
		.old_reach = old ? old->jump.footprint : 0,
		.new_reach = s->coming_detour ? new->jump.footprint : 0,
	};
	p->len = (u8)site_coming_text(s, p->bytes);
	s->armed = s->wanted;
	if (old)
		retire(old, c);
	s->detour = s->coming_detour;
	s->coming_detour = comes ? NULL : new;
	if (++r->n == r->room)
		round_end(r);
}

/* From low addresses to high ones, for jumps that go: all, or only they. */
static void write_ascending(struct round *r, struct site_change *c, bool all)
{
	c->sites = reversed(c->sites);
	r->from_end = false;
	for (struct site *s = c->sites; s; s = s->next_changed) {
		if (all ? changes(s) : s->detour != NULL)
			round_add(r, s, all, c);
	}
	round_end(r);
	c->sites = reversed(c->sites);
	for (struct site *s = c->sites; s; s = s->next_changed) {
		if (s->through && s->through != s->detour &&
		    s->through != s->coming_detour)
			lead_through(s, NULL);
	}
}

/* From high addresses to low ones, for jumps that come: what is left. */
static void write_descending(struct round *r, struct site_change *c)
{
	r->from_end = true;
	for (struct site *s = c->sites; s; s = s->next_changed) {
		if (s->coming_detour || s->armed != s->wanted)
			round_add(r, s, true, c);
	}
	round_end(r);
}

static bool opens_regions(const struct site_change *c)
{
	for (struct site *s = c->sites; s; s = s->next_changed) {
		if (s->through && s->detour)
			return true;
	}
	return false;
}

/*
 * What fits into one batch is one. Otherwise what comes has to wait until all jumps
 * that go are out; also where regions go, as their bytes may be the beginning of
 * others' instructions.
 */
void probe_arm(struct site_change *c)
{
	static struct text_patch few[8];
	struct round r = { .patches = few, .room = ARRAY_SIZE(few) };
	struct text_patch *many = NULL;
	bool at_once;

	settle(c);
	exec_flush();
	if (c->n > r.room)
		many = kcalloc(min(c->n, ROUND), sizeof(*many));
	if (many) {
		r.patches = many;
		r.room = min(c->n, ROUND);
	}
	at_once = c->n <= r.room && !opens_regions(c);
	write_ascending(&r, c, at_once);
	if (!at_once)
		write_descending(&r, c);
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
	kfree(d->region);
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
