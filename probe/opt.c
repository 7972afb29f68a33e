// SPDX-License-Identifier: MIT
/*
 * Breakpoints become jumps, and jumps breakpoints.
 *
 * Work is what opt_again() has noted: a list of sites to be looked at. work() goes
 * through it in batches, and lets others have probe_mutex in between. For each site
 * build.c finds a jump, and arm.c puts it up; or the site is told why not, and is
 * not tried again until something changes near it. Regions come behind the others of
 * their batch, as a change of their own.
 *
 * Jumps depend on those at higher addresses (arm.c). Batches are in that order, but
 * the list is not, nor need it be: what comes late takes at most a few jumps below
 * with it, where batches meet.
 *
 * Only that somebody stays where a region would be changes by itself. Such sites
 * are tried again after a pause, which grows as long as there are any.
 *
 * Nobody waits for a jump: a probe whose site has none works.
 */
#include <kernel/heap.h>
#include <kernel/option.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <kernel/wait.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <lib/text.h>
#include <probe/opt.h>
#include "detour.h"
#include "region.h"

#define BATCH 256
/* Probes come in bunches: how long the thread waits for more. */
#define DELAY_NS (10 * NSEC_PER_MSEC)
/* Until those who stay are looked for again: twice as long each time. */
#define LATER_MIN_NS (100 * NSEC_PER_MSEC)
#define LATER_MAX_NS (5 * NSEC_PER_SEC)

/* All under probe_mutex. */
static enum opt_mode mode = OPT_ON;
static bool has_worked;
static enum jump_strategy wished;
static bool none_wished;
static LIST_HEAD(noted); /* work */
static LIST_HEAD(later); /* work from @later_at on */
static u64 later_at, later_ns = LATER_MIN_NS;
static struct wait_queue queue = WAIT_QUEUE(queue);

/* Also without probe_mutex, for a guess. */
static bool is_empty(const struct list_head *list)
{
	return READ_ONCE(list->next) == list;
}

static void put(struct site *s, struct list_head *list)
{
	list_del_init(&s->work);
	list_add_tail(&s->work, list);
}

void opt_again(struct site *s)
{
	bool was_done = is_empty(&noted);

	s->no_jump = NULL;
	put(s, &noted);
	if (was_done && mode == OPT_ON)
		wake_up(&queue);
}

void opt_later(struct site *s)
{
	if (is_empty(&later))
		later_at = clock_ns() + later_ns;
	s->no_jump = "somebody stays where the jump would be";
	put(s, &later);
	wake_up(&queue);
}

/* Those who were left for now are work again. */
static void take_up_later(void)
{
	while (!is_empty(&later))
		opt_again(list_first_entry(&later, struct site, work));
	later_ns = min(2 * later_ns, LATER_MAX_NS);
}

enum opt_mode opt_mode(void)
{
	return mode;
}

bool opt_has_worked(void)
{
	return has_worked;
}

static const char *refusal(const struct site *s)
{
	if (none_wished)
		return "no jump is wanted";
	if (site_has_flagged(s, KPROBE_FLAG_NO_JUMP))
		return "one of its probes asks for none";
	if (!s->can_slot)
		return "it cannot run elsewhere but by a step";
	if (s->plan != PLAN_SLOT)
		return "it is to be stepped or emulated";
	return NULL;
}

/* The last resort, as nobody may be inside when it is written. */
static bool may_be_region(const struct site *s)
{
	return s->insn.len < ARCH_JUMP_SIZE &&
	       (wished == JUMP_NONE || wished == JUMP_REGION);
}

/* Working ----------------------------------------------------------------------- */

void opt_plan(struct site *s)
{
	const char *why = refusal(s);

	if (!why) {
		why = detour_build(s, wished);
		if (why && may_be_region(s))
			why = region_obstacle(s->addr);
		/* If there is nothing against it, do_regions() goes on. */
	}
	s->no_jump = why;
}

const char *opt_try(struct site *s, enum jump_strategy *strategy)
{
	const char *why = refusal(s);

	if (why)
		return why;
	why = detour_build(s, wished);
	if (why && may_be_region(s))
		why = detour_build_region(s);
	if (why)
		return why;
	*strategy = s->coming_detour->jump.strategy;
	detour_free(s->coming_detour);
	s->coming_detour = NULL;
	window_trim();
	return NULL;
}

bool opt_is_due(unsigned n)
{
	bool due = mode == OPT_EAGER || (mode == OPT_ON && n > BATCH);

	has_worked |= due;
	return due;
}

static bool is_candidate(const struct site *s)
{
	return s->armed && !s->detour && !s->no_jump;
}

/* The end of a change: the text follows it, and what it leaves over is freed. */
static void finish(struct site_change *c)
{
	probe_arm(c);
	for (struct site *s = c->sites; s; s = s->next_changed)
		s->changed = false;
	if (c->detours)
		probe_leave_code(c);
}

/* ... and who has no jump, nor a reason, is to be tried again. */
static void finish_and_note(struct site_change *c)
{
	finish(c);
	for (struct site *s = c->sites; s; s = s->next_changed) {
		if (!s->detour && !s->no_jump)
			opt_again(s);
	}
}

/* Of a change that is done: those for which there is only a region left. */
static void do_regions(struct site *sites)
{
	struct site_change c = { .plan_jumps = true };
	struct site *next;

	for (struct site *s = sites; s; s = next) {
		next = s->next_changed;
		if (!is_candidate(s))
			continue;
		s->no_jump = detour_build_region(s);
		if (!s->no_jump)
			site_touch(s, &c);
	}
	if (!c.sites)
		return;
	probe_close_regions(&c);
	finish_and_note(&c);
}

/* Returns whether it is a full one. */
static bool do_batch(void)
{
	struct site_change c = { .plan_jumps = true };
	unsigned n;

	has_worked = true;
	for (n = 0; n < BATCH && !is_empty(&noted); n++) {
		struct site *s = list_first_entry(&noted, struct site, work);

		list_del_init(&s->work);
		if (is_candidate(s))
			site_touch(s, &c);
	}
	if (c.sites) {
		finish(&c);
		do_regions(c.sites);
	}
	exec_sweep();
	return n == BATCH;
}

void opt_changed(void)
{
	while (mode == OPT_EAGER && !is_empty(&noted))
		do_batch();
}

/* Also what is left for later, if it is time, or if nobody wants to wait. */
static void work(bool now)
{
	mutex_lock(&probe_mutex);
	if (now || clock_ns() >= later_at)
		take_up_later();
	/* What is left behind the last full one is not added to by others: an end. */
	while (!is_empty(&noted)) {
		if (do_batch()) {
			mutex_unlock(&probe_mutex); /* for those who wait */
			mutex_lock(&probe_mutex);
		}
	}
	if (is_empty(&later))
		later_ns = LATER_MIN_NS;
	mutex_unlock(&probe_mutex);
}

static bool is_on(void)
{
	return READ_ONCE(mode) != OPT_OFF;
}

/* Until what was left for later is due. */
static u64 time_left(void)
{
	u64 now = clock_ns(), at = READ_ONCE(later_at);

	return at > now ? at - now : 0;
}

static void run(void *arg __unused)
{
	for (;;) {
		wait_event(&queue,
			   is_on() && !(is_empty(&noted) && is_empty(&later)));
		wait_event_timeout(&queue, !is_empty(&noted), time_left());
		wait_pause(DELAY_NS);
		if (is_on())
			work(false);
	}
}

int opt_init(void)
{
	struct thread *t = thread_create("optimiser", run, NULL);

	if (!t)
		return -ENOMEM;
	thread_detach(t);
	return 0;
}

/* Asked for ---------------------------------------------------------------------- */

static bool note(struct site *s, void *arg __unused)
{
	opt_again(s);
	return true;
}

static bool take_back(struct site *s, void *arg)
{
	if (s->detour)
		site_touch(s, arg);
	return true;
}

int opt_set(enum opt_mode new_mode)
{
	struct site_change c = { NULL };

	if (!probe_may_wait())
		return -EDEADLK;
	mutex_lock(&probe_mutex);
	mode = new_mode;
	site_for_each(mode == OPT_OFF ? take_back : note, &c);
	if (c.sites)
		finish_and_note(&c);
	exec_sweep();
	opt_changed();
	mutex_unlock(&probe_mutex);
	wake_up(&queue); /* there may be work that was left */
	return 0;
}

static const char *const mode_names[] = {
	[OPT_OFF] = "off",
	[OPT_ON] = "on",
	[OPT_EAGER] = "eager",
};

const char *opt_mode_name(enum opt_mode m)
{
	return mode_names[m];
}

int opt_parse(const char *name)
{
	int i = match_string(mode_names, ARRAY_SIZE(mode_names), name);

	return i < 0 ? i : opt_set((enum opt_mode)i);
}
BOOT_OPTION(optimize, "on|off|eager",
	    "breakpoints become jumps: soon, never, at once", opt_parse);

int opt_sync(void)
{
	if (!probe_may_wait())
		return -EDEADLK;
	work(true);
	return 0;
}

static void set_wish(enum jump_strategy wish, bool none)
{
	mutex_lock(&probe_mutex);
	wished = wish;
	none_wished = none;
	site_for_each(note, NULL);
	mutex_unlock(&probe_mutex);
}

void opt_wish(enum jump_strategy wish)
{
	set_wish(wish, false);
}

int opt_wish_parse(const char *name)
{
	for (unsigned i = JUMP_NONE + 1; i < JUMP_STRATEGIES; i++) {
		if (strcmp(name, jump_strategy_name(i)) == 0) {
			opt_wish(i);
			return 0;
		}
	}
	if (strcmp(name, "any") != 0 && strcmp(name, "off") != 0)
		return -EINVAL;
	set_wish(JUMP_NONE, strcmp(name, "off") == 0);
	return 0;
}
BOOT_OPTION(jump, "any|own|pun|branch|region|off",
	    "which jumps they may become", opt_wish_parse);

const char *opt_wish_name(void)
{
	const char *all = none_wished ? "off" : "any";

	return wished == JUMP_NONE ? all : jump_strategy_name(wished);
}

static bool count(struct site *s, void *arg)
{
	struct opt_stats *to = arg;

	if (s->detour) {
		to->jumps++;
		to->by_strategy[s->detour->jump.strategy]++;
	}
	return true;
}

void opt_stats_get(struct opt_stats *to)
{
	*to = (struct opt_stats){ 0 };
	mutex_lock(&probe_mutex);
	site_for_each(count, to);
	mutex_unlock(&probe_mutex);
}

enum jump_strategy kprobe_jump(const struct kprobe *p)
{
	const struct site *s = site_find(p->addr);

	return s && s->detour ? s->detour->jump.strategy : JUMP_NONE;
}
