// SPDX-License-Identifier: MIT
/*
 * The public calls: find the address, check, build, publish, arm; and back.
 *
 * Registration of a batch is a transaction. attach() makes each probe part of
 * its site, but hits go by sets, and those do not change; if one is refused, those
 * before it are detached again and nothing has changed. Then all new sets are
 * published, and the text of all new sites is patched at once.
 *
 *	order to arm:	set published, then breakpoint in text; but a region is
 *			taken out before a set with a post-handler
 *	order to leave:	breakpoint out of text (all CPUs synchronised), set
 *			without the probe, quiesce_cpus(), free
 *
 * so a trap always finds its site, and a handler its probe.
 */
#include <kernel/quiesce.h>
#include <lib/errno.h>
#include <probe/opt.h>
#include "owner.h"
#include "site.h"

/* One probe of a batch --------------------------------------------------------- */

/* The site that @p is registered at, or NULL: nothing in @p is trusted. */
static struct site *site_of(const struct kprobe *p)
{
	struct site *s = p ? site_find(p->addr) : NULL;

	return s && site_holds(s, p) ? s : NULL;
}

static const char *why_no_site(int err)
{
	switch (err) {
	case -EOPNOTSUPP:
		return probe_plan() == PLAN_AUTO
			       ? "this instruction can only run where it is"
			       : "the plan that is forced cannot run it";
	case -ERANGE:
		return "an operand is out of reach of the slot";
	default:
		return "out of memory or slots";
	}
}

/* The site at @addr, made if there is none yet. */
static int site_obtain(unsigned long addr, struct site **site,
		       struct site_change *c)
{
	const char *why = "";
	struct insn insn;
	int err;

	*site = site_find(addr);
	if (*site)
		return 0;
	err = deny_check(addr, &insn, &why);
	if (err)
		return probe_refuse(err, "%pS: %s", (void *)addr, why);
	err = site_create(addr, &insn, site);
	if (err)
		return probe_refuse(err, "%pS: %s", (void *)addr,
				    why_no_site(err));
	site_publish(*site);
	site_touch(*site, c);
	return 0;
}

/* Out of its site and session; probe_finish() sweeps up what is left of it. */
void probe_detach(struct kprobe *p, struct site_change *c)
{
	site_remove_probe(site_of(p), p, c);
	session_leave(p);
	if (kprobe_is_return(p))
		ret_stop(p);
	p->next = c->leaving;
	c->leaving = p;
	if (p->symbol_name)
		p->addr = 0;
}

static int attach(struct kprobe *p, struct site_change *c);

/* The breakpoints that a return probe wants elsewhere; without them, no probe. */
static int attach_places(struct kprobe *p, struct site_change *c)
{
	struct ret_place *place = kretprobe_of(p)->owner->places;

	for (; place; place = place->next) {
		int err = attach(&place->kp, c);

		if (err) {
			probe_detach(p, c);
			return err;
		}
		place->attached = true;
	}
	return 0;
}

static int attach(struct kprobe *p, struct site_change *c)
{
	unsigned long addr = 0;
	const char *why = "";
	struct site *s;
	int err;

	if (site_of(p))
		return probe_refuse(-EBUSY, "this probe is registered already");
	if (!p || (!p->pre_handler && !p->post_handler))
		return probe_refuse(-EINVAL, "it has no handler");
	err = probe_resolve(p, &addr);
	if (err)
		return err;
	if (kprobe_is_return(p))
		err = ret_check(p, addr, &why);
	if (err)
		return probe_refuse(err, "%pS: %s", (void *)addr, why);
	err = session_admit(p, &why);
	if (err)
		return probe_refuse(err, "%s", why);
	err = site_obtain(addr, &s, c);
	if (err)
		return err;
	if ((p->flags & KPROBE_FLAG_CONTROL) &&
	    site_has_flagged(s, KPROBE_FLAG_CONTROL))
		return probe_refuse(-EBUSY,
				    "%pS: a control probe is there already",
				    (void *)addr);
	if (p->post_handler && !s->can_step)
		return probe_refuse(
			-EOPNOTSUPP,
			"%pS: cannot be stepped, so no post-handler",
			(void *)addr);
	if (kprobe_is_return(p))
		err = ret_attach(p, addr);
	if (err)
		return probe_refuse(
			err, err == -E2BIG
				     ? "too many functions return as it does"
				     : "out of memory");
	kprobe_flags_clear(p, KPROBE_FLAG_QUARANTINED);
	/* The engine had disabled it: registering is another chance. */
	if (p->verdict != KPROBE_WELL)
		kprobe_flags_clear(p, KPROBE_FLAG_DISABLED);
	p->verdict = KPROBE_WELL;
	p->nhit = p->nmissed = 0;
	p->addr = addr;
	kprobe_start(p);
	session_join(p);
	site_add_probe(s, p, c);
	return kprobe_is_return(p) ? attach_places(p, c) : 0;
}

/* The end of a change ----------------------------------------------------------- */

/* No handler of @p runs any more: it is the client's again. */
static void leave(struct kprobe *p)
{
	session_settle(p);
	if (kprobe_is_return(p))
		ret_leave(p);
	kprobe_flags_clear(p, KPROBE_FLAG_QUARANTINED);
}

/*
 * Does somebody come who wants to know when one instruction has run, while hits
 * run several? To step one would lead in between.
 */
static bool ends_regions(const struct site_change *c)
{
	for (const struct site *s = c->sites; s; s = s->next_changed) {
		if (s->through && s->coming && s->coming->post)
			return true;
	}
	return false;
}

/*
 * Has hits see the change, arms, then frees what the change left over, once
 * nobody can be using it.
 */
void probe_finish(struct site_change *c)
{
	struct ret_owner *finished = ret_owners_finished(c);
	struct site *unused = NULL, *s, *next;

	if (ends_regions(c))
		probe_arm(c);
	for (s = c->sites; s; s = s->next_changed)
		site_commit(s, c);
	c->plan_jumps = opt_is_due(c->n);
	probe_arm(c);
	for (s = c->sites; s; s = next) {
		next = s->next_changed;
		s->changed = false;
		if (s->probes) {
			if (!c->plan_jumps || (!s->detour && !s->no_jump))
				opt_again(s);
			continue;
		}
		site_unlink(s);
		s->next_changed = unused;
		unused = s;
	}
	/* A thread in a direct detour may be about to call a handler. */
	if (c->detours)
		probe_leave_code(c);
	if (c->garbage || c->leaving || unused || finished)
		quiesce_cpus(); /* handlers */
	probe_sets_free(c->garbage);
	for (struct kprobe *p = c->leaving; p; p = p->next)
		leave(p);
	ret_owners_free(finished);
	if (unused)
		probe_leave_code(c);
	for (s = unused; s; s = next) {
		next = s->next_changed;
		site_free(s);
	}
	exec_sweep();
	opt_changed();
	/* Those of return probes that just left go at once, if no call is under way. */
	if (ret_places_left())
		probe_finish(&(struct site_change){ NULL });
}

/* The public calls ------------------------------------------------------------ */

/* All of @ps, or an error, and *done of them are to be detached again. */
static int attach_all(struct kprobe **ps, unsigned n, unsigned *done,
		      struct site_change *c)
{
	int err;

	for (*done = 0; *done < n; ++*done) {
		err = attach(ps[*done], c);
		if (err)
			return err;
	}
	for (struct site *s = c->sites; s; s = s->next_changed) {
		if (site_prepare(s) < 0)
			return probe_refuse(-ENOMEM, "out of memory");
	}
	return 0;
}

int register_kprobes(struct kprobe **ps, unsigned n)
{
	struct site_change c = { NULL };
	unsigned done;
	int err = probe_may_change();

	if (err)
		return err;
	mutex_lock(&probe_mutex);
	err = attach_all(ps, n, &done, &c);
	while (err && done > 0)
		probe_detach(ps[--done], &c);
	probe_finish(&c);
	mutex_unlock(&probe_mutex);
	return err;
}

int register_kprobe(struct kprobe *p)
{
	return register_kprobes(&p, 1);
}

int unregister_kprobes(struct kprobe **ps, unsigned n)
{
	struct site_change c = { NULL };
	int err = probe_may_change();

	if (err)
		return err;
	mutex_lock(&probe_mutex);
	for (unsigned i = 0; i < n; i++) {
		if (site_of(ps[i]))
			probe_detach(ps[i], &c);
		else
			err = probe_refuse(-EINVAL,
					   "this probe is not registered");
	}
	probe_finish(&c);
	mutex_unlock(&probe_mutex);
	return err;
}

int unregister_kprobe(struct kprobe *p)
{
	return unregister_kprobes(&p, 1);
}

static int change_enabled(struct kprobe *p, bool enable)
{
	struct site_change c = { NULL };
	struct site *s;
	int err = probe_may_change();

	if (err)
		return err;
	mutex_lock(&probe_mutex);
	s = site_of(p);
	if (!s) {
		err = probe_refuse(-EINVAL, "this probe is not registered");
	} else if (!enable) {
		kprobe_stop(p, KPROBE_FLAG_DISABLED);
	} else if (READ_ONCE(p->flags) & KPROBE_FLAG_QUARANTINED) {
		err = probe_refuse(-EPERM, "its session is in quarantine");
	} else {
		WRITE_ONCE(p->verdict, KPROBE_WELL);
		kprobe_flags_clear(p, KPROBE_FLAG_DISABLED);
		kprobe_start(p);
		err = site_prepare(s);
		if (err)
			kprobe_stop(p, KPROBE_FLAG_DISABLED);
	}
	if (!err) {
		site_touch(s, &c);
		probe_finish(&c);
	}
	mutex_unlock(&probe_mutex);
	return err;
}

int enable_kprobe(struct kprobe *p)
{
	return change_enabled(p, true);
}

int disable_kprobe(struct kprobe *p)
{
	return change_enabled(p, false);
}

const char *kprobe_verdict_name(enum kprobe_verdict verdict)
{
	static const char *const names[] = {
		[KPROBE_WELL] = "well",
		[KPROBE_FAULTED] = "its handler faulted",
		[KPROBE_OVERFLOWED] = "its handler ran out of stack",
		[KPROBE_OVERDUE] = "its handler did not return in time",
		[KPROBE_LOCKED] = "its handler wanted a lock",
	};

	return names[verdict];
}

struct each {
	bool (*fn)(struct kprobe *p, void *arg);
	void *arg;
};

static bool each_of_site(struct site *s, void *arg)
{
	struct each *each = arg;

	return site_each_probe(s, each->fn, each->arg);
}

void kprobe_for_each(bool (*fn)(struct kprobe *p, void *arg), void *arg)
{
	struct each each = { fn, arg };

	mutex_lock(&probe_mutex);
	site_for_each(each_of_site, &each);
	mutex_unlock(&probe_mutex);
}
