// SPDX-License-Identifier: MIT
/*
 * Who owns probes: quotas, accounts, quarantine, orderly leave.
 *
 *	session_admit()		may it have one more?	registration
 *	session_join()		the probe is on its list
 *	session_clock_*()	a handler begins, ends	the hit path
 *	session_blame()		a handler was abandoned	the hit path
 *	session_leave()		off the list		unregistering
 *	session_settle()	its counts are kept	... after quiescence
 *
 * All but those of the hit path runs under probe_mutex. They stop the whole
 * session where it has used too much time, or in the trap, or NMI, that abandons
 * one handler too many. At once and not in some thread later, since each handler
 * that loops costs its CPU the time budget, and the thread may be the one that
 * waits.
 *
 * They can do so without a lock because they only walk forward: a probe is linked in
 * by one store, and one that leaves keeps its own link until quiesce_cpus() has
 * returned, so that whoever stands on it finds its way to the end.
 */
#include <kernel/heap.h>
#include <kernel/timer.h>
#include <lib/errno.h>
#include <lib/list.h>
#include <lib/string.h>
#include <lib/text.h>
#include <probe/session.h>
#include "level.h"
#include "site.h"

struct probe_session {
	char name[SESSION_NAME_MAX];
	struct session_limits limits;
	struct list_head all;	 /* of sessions */
	struct list_head probes; /* kprobe.owned */
	unsigned nr_probes;
	u64 left_hits, left_missed; /* of probes that are gone */
	u64 faults;		    /* atomic */
	u64 forgiven;		    /* of them, by session_release() */
	u64 time_ns;		    /* atomic; of handlers, if limited */
	u64 forgiven_ns;
	bool quarantined; /* set in stop_all() */
	const char *why;
};

/* Its probes are trusted with everything but the CPU: no quarantine. */
static struct probe_session kernel_session = {
	.name = "kernel",
	.limits.verdicts = -1u,
	.all = LIST_HEAD_INIT(kernel_session.all),
	.probes = LIST_HEAD_INIT(kernel_session.probes),
};

/* What a probe that is alone at its address costs, allocator's share aside. */
#define PROBE_BYTES                                       \
	(sizeof(struct site) + sizeof(struct probe_set) + \
	 2 * sizeof(struct kprobe *) + ARCH_SLOT_SIZE)

static __always_inline struct probe_session *owner(const struct kprobe *p)
{
	return p->session ? p->session : &kernel_session;
}

/* Opening -------------------------------------------------------------------- */

/* All sessions are on a ring with the kernel's. */
#define for_each_session(s) list_for_each_entry(s, &kernel_session.all, all)

static struct probe_session *find(const char *name)
{
	struct probe_session *s;

	for_each_session(s)
	{
		if (!strcmp(s->name, name))
			return s;
	}
	return NULL;
}

static bool is_open(const struct probe_session *session)
{
	struct probe_session *s;

	for_each_session(s)
	{
		if (s == session)
			return true;
	}
	return false;
}

int session_open(const char *name, const struct session_limits *limits,
		 struct probe_session **session)
{
	struct probe_session *s;
	int err = 0;

	if (!probe_may_wait())
		return -EDEADLK;
	if (!*name)
		return -EINVAL;
	s = kzalloc(sizeof(*s));
	if (!s)
		return -ENOMEM;
	if (strscpy(s->name, name, sizeof(s->name)) < 0) {
		kfree(s);
		return -ENAMETOOLONG;
	}
	if (limits)
		s->limits = *limits;
	if (s->limits.verdicts == 0)
		s->limits.verdicts = SESSION_VERDICTS;
	INIT_LIST_HEAD(&s->probes);
	mutex_lock(&probe_mutex);
	if (find(name) || !strcmp(name, kernel_session.name))
		err = -EEXIST;
	else
		list_add_tail(&s->all, &kernel_session.all);
	mutex_unlock(&probe_mutex);
	if (err)
		kfree(s);
	else
		*session = s;
	return err;
}

/* A probe comes -------------------------------------------------------------- */

int session_admit(const struct kprobe *p, const char **why)
{
	const struct probe_session *s = owner(p);

	if (p->session && !is_open(s)) {
		*why = "its session is not open";
		return -EINVAL;
	}
	if (READ_ONCE(s->quarantined)) {
		*why = "its session is in quarantine";
		return -EPERM;
	}
	if (s->limits.probes && s->nr_probes >= s->limits.probes) {
		*why = "its session may not have more probes";
		return -EDQUOT;
	}
	if (s->limits.memory &&
	    (s->nr_probes + 1) * PROBE_BYTES > s->limits.memory) {
		*why = "its session may not use more memory";
		return -EDQUOT;
	}
	return 0;
}

void session_join(struct kprobe *p)
{
	struct probe_session *s = owner(p);
	struct list_head *last = s->probes.prev;

	p->owned.prev = last;
	p->owned.next = &s->probes;
	s->probes.prev = &p->owned;
	/* Pairs with the acquire in stop_all(). */
	store_release(&last->next, &p->owned);
	s->nr_probes++;
	/* Pairs with the fence in stop_all(): one of us sees the other. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (READ_ONCE(s->quarantined))
		kprobe_stop(p, KPROBE_FLAG_QUARANTINED);
}

/* Handlers that cost time, handlers that are abandoned ------------------------- */

static __noprobe void stop_all(struct probe_session *s, const char *why)
{
	struct list_head *link;

	WRITE_ONCE(s->why, why);
	WRITE_ONCE(s->quarantined, true);
	/* Pairs with those in session_join() and session_release(). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	link = load_acquire(&s->probes.next);
	while (link != &s->probes) {
		kprobe_stop(list_entry(link, struct kprobe, owned),
			    KPROBE_FLAG_QUARANTINED);
		link = load_acquire(&link->next);
	}
}

bool session_is_timed(const struct kprobe *p)
{
	return owner(p)->limits.time_ns > 0;
}

/* Level 0 is the one that calls handlers. */
__noprobe void session_clock_start(void)
{
	this_cpu()->hits->since = clock_ns();
}

__noprobe void session_clock_stop(const struct kprobe *p)
{
	struct hit *h = this_cpu()->hits;
	struct probe_session *s = owner(p);
	u64 used;

	if (h->since == 0)
		return;
	used = __atomic_add_fetch(&s->time_ns, clock_ns() - h->since,
				  __ATOMIC_RELAXED);
	h->since = 0;
	if (used - READ_ONCE(s->forgiven_ns) >= s->limits.time_ns &&
	    !READ_ONCE(s->quarantined))
		stop_all(s, "its handlers took more time than it has");
}

__noprobe void session_blame(const struct kprobe *p)
{
	struct probe_session *s = owner(p);
	u64 n = __atomic_add_fetch(&s->faults, 1, __ATOMIC_RELAXED);

	if (n - READ_ONCE(s->forgiven) >= s->limits.verdicts)
		stop_all(s, "too many of its handlers were abandoned");
}

int session_release(struct probe_session *s)
{
	struct site_change c = { NULL };
	struct kprobe *p;
	int err = 0;

	if (!probe_may_wait())
		return -EDEADLK;
	mutex_lock(&probe_mutex);
	if (is_open(s)) {
		WRITE_ONCE(s->forgiven, READ_ONCE(s->faults));
		WRITE_ONCE(s->forgiven_ns, READ_ONCE(s->time_ns));
		WRITE_ONCE(s->quarantined, false);
		list_for_each_entry(p, &s->probes, owned) {
			kprobe_flags_clear(p, KPROBE_FLAG_QUARANTINED);
			kprobe_start(p);
			site_touch(site_find(p->addr), &c);
		}
		for (struct site *site = c.sites; site && !err;
		     site = site->next_changed)
			err = site_prepare(site);
		/* Stopped again meanwhile? Part of that was just undone. */
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (err || READ_ONCE(s->quarantined))
			stop_all(s, s->why);
		probe_finish(&c);
	} else {
		err = -EINVAL;
	}
	mutex_unlock(&probe_mutex);
	return err;
}

/* A probe goes --------------------------------------------------------------- */

void session_leave(struct kprobe *p)
{
	/* p->owned.next stays: stop_all() may stand here. */
	store_release(&p->owned.prev->next, p->owned.next);
	p->owned.next->prev = p->owned.prev;
	owner(p)->nr_probes--;
}

void session_settle(struct kprobe *p)
{
	owner(p)->left_hits += p->nhit;
	owner(p)->left_missed += p->nmissed;
}

int session_close(struct probe_session *s)
{
	struct site_change c = { NULL };
	int err = 0;

	if (!probe_may_wait())
		return -EDEADLK;
	mutex_lock(&probe_mutex);
	if (is_open(s)) {
		while (!list_empty(&s->probes))
			probe_detach(list_first_entry(&s->probes, struct kprobe,
						      owned),
				     &c);
		probe_finish(&c);
		list_del(&s->all);
		kfree(s);
	} else {
		err = -EINVAL;
	}
	mutex_unlock(&probe_mutex);
	return err;
}

/* Looking -------------------------------------------------------------------- */

struct probe_session *session_find(const char *name)
{
	struct probe_session *s;

	mutex_lock(&probe_mutex);
	s = find(name);
	mutex_unlock(&probe_mutex);
	return s;
}

const char *session_name(const struct probe_session *s)
{
	return s ? s->name : kernel_session.name;
}

static void stats_fill(const struct probe_session *s,
		       struct session_stats *stats)
{
	const struct kprobe *p;

	*stats = (struct session_stats){
		.name = s->name,
		.probes = s->nr_probes,
		.memory = s->nr_probes * PROBE_BYTES,
		.hits = s->left_hits,
		.missed = s->left_missed,
		.faults = READ_ONCE(s->faults),
		.timed = s->limits.time_ns > 0,
		.time_ns = READ_ONCE(s->time_ns),
		.quarantined = READ_ONCE(s->quarantined),
	};
	if (stats->quarantined)
		stats->why = s->why;
	list_for_each_entry(p, &s->probes, owned) {
		stats->hits += READ_ONCE(p->nhit);
		stats->missed += READ_ONCE(p->nmissed);
	}
}

int session_stats_get(struct probe_session *s, struct session_stats *stats)
{
	int err = 0;

	mutex_lock(&probe_mutex);
	if (is_open(s))
		stats_fill(s, stats);
	else
		err = -EINVAL;
	mutex_unlock(&probe_mutex);
	return err;
}

void session_for_each(void (*fn)(const struct session_stats *stats, void *arg),
		      void *arg)
{
	struct session_stats stats;
	struct probe_session *s;

	mutex_lock(&probe_mutex);
	stats_fill(&kernel_session, &stats);
	fn(&stats, arg);
	for_each_session(s)
	{
		stats_fill(s, &stats);
		fn(&stats, arg);
	}
	mutex_unlock(&probe_mutex);
}

unsigned session_count(void)
{
	struct probe_session *s;
	unsigned n = 0;

	mutex_lock(&probe_mutex);
	for_each_session(s) n++;
	mutex_unlock(&probe_mutex);
	return n;
}
