// SPDX-License-Identifier: MIT
/*
 * What the engine would do with an address, and why; what is there now, and
 * whose it is. For people: nothing else reads the text.
 */
#include <lib/errno.h>
#include <lib/printf.h>
#include <probe/explain.h>
#include <probe/opt.h>
#include <probe/session.h>
#include "detour.h"
#include "site.h"

struct text {
	char *buf;
	size_t size, len;
};

static __printf(2, 3) void say(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->len, t->size - t->len, fmt, ap);
	va_end(ap);
	t->len = min(t->len + (size_t)max(n, 0), t->size - 1);
}

static void say_plan(struct text *t, const struct site *s)
{
	enum probe_plan plan = site_plan(s);

	if (plan == PLAN_EMULATE)
		say(t,
		    "plan: emulate: one trap; the engine does what it does\n");
	else if (plan == PLAN_SLOT)
		say(t, "plan: slot: one trap; a relocated copy runs at 0x%lx\n",
		    s->exec.at + ARCH_STEP_SIZE);
	else
		say(t, "plan: step: two traps; a copy is stepped at 0x%lx\n",
		    s->exec.at);
	if (!s->can_slot)
		say(t, "  not slot: it %s\n", insn_reloc_reason(&s->insn));
	else if (plan != s->plan)
		say(t, "  not slot: a post-handler wants to know its end\n");
	else if (plan != PLAN_SLOT)
		say(t, "  not slot: %s was asked for\n", probe_plan_name(plan));
	if (plan == PLAN_STEP && plan != s->plan)
		say(t, "  not emulate: %s\n",
		    s->can_emulate ? "another plan was asked for"
				   : "no emulation of it is offered");
	if (!s->can_step)
		say(t, "  no post-handlers: it cannot be stepped\n");
}

static void say_arming(struct text *t, const struct site *s)
{
	const struct detour *d = s->detour;
	const char *why = s->no_jump;

	if (d) {
		say(t, "  %s: no trap; a detour at 0x%lx %s\n",
		    jump_strategy_name(d->jump.strategy), d->code.entry,
		    d->code.n ? "calls the handlers" : "calls the engine");
		if (d->region)
			say(t, "  in the place of %u instructions\n",
			    d->region->n);
	} else if (s->armed) {
		if (!why)
			why = opt_mode() == OPT_OFF ? "optimize is off"
						    : "not yet";
		say(t, "  not jump: %s\n", why);
	}
}

static const char *state_of(const struct kprobe *p)
{
	unsigned flags = READ_ONCE(p->flags);

	if (p->verdict != KPROBE_WELL)
		return kprobe_verdict_name(p->verdict);
	if (flags & KPROBE_FLAG_QUARANTINED)
		return "in quarantine";
	return flags & KPROBE_FLAG_DISABLED ? "disabled" : "enabled";
}

static bool count_one(struct kprobe *p __unused, void *arg)
{
	++*(unsigned *)arg;
	return true;
}

static bool say_probe(struct kprobe *p, void *arg)
{
	say(arg, "  of session %s: %s; hits %lu, missed %lu\n",
	    session_name(p->session), state_of(p), READ_ONCE(p->nhit),
	    READ_ONCE(p->nmissed));
	return true;
}

static void say_possible_jump(struct text *t, struct site *s)
{
	enum jump_strategy strategy;
	const char *why = opt_try(s, &strategy);

	if (why)
		say(t, "  not jump: %s\n", why);
	else
		say(t, "  jump: %s would do\n", jump_strategy_name(strategy));
}

/* A site that nobody can find shows what a probe would get. */
static int explain_free(struct text *t, unsigned long addr)
{
	const char *why = "";
	struct insn insn;
	struct site *s;
	int err = deny_check(addr, &insn, &why);

	if (err) {
		say(t, "may not be probed: %s\n", why);
		return err;
	}
	err = site_create(addr, &insn, &s);
	if (err) {
		say(t, "cannot be probed now: %s\n",
		    err == -EOPNOTSUPP || err == -ERANGE
			    ? "there is no way to run it elsewhere"
			    : "out of memory or slots");
		return err;
	}
	say_plan(t, s);
	say(t, "armed: no; no probes\n");
	say_possible_jump(t, s);
	site_free(s);
	return 0;
}

int probe_explain(unsigned long addr, char *buf, size_t size)
{
	struct text t = { .buf = buf, .size = size };
	const struct site *s;
	unsigned n = 0;
	int err = 0;

	buf[0] = '\0';
	mutex_lock(&probe_mutex);
	s = site_find(addr);
	if (s) {
		say_plan(&t, s);
		site_each_probe(s, count_one, &n);
		say(&t, "armed: %s; %u probe%s\n",
		    s->detour  ? "jump"
		    : s->armed ? "break"
			       : "no",
		    n, n == 1 ? "" : "s");
		say_arming(&t, s);
		site_each_probe(s, say_probe, &t);
	} else {
		err = explain_free(&t, addr);
		exec_sweep();
	}
	mutex_unlock(&probe_mutex);
	return err;
}
