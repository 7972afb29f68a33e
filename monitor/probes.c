/* SPDX-License-Identifier: MIT */
/*
 * probe add, probe del, probe list: probes placed from the console.
 *
 * Commands run in one thread at a time. probes_mutex keeps the list still for
 * the thread that shows hits; it is not held while that thread is joined.
 */
#include "monitor.h"
#include <kernel/heap.h>
#include <kernel/symtab.h>
#include <kernel/wait.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <lib/text.h>
#include <probe/opt.h>
#include <probe/plan.h>
#include <probe/session.h>

static struct mutex probes_mutex = MUTEX(probes_mutex);
static LIST_HEAD(probes);

/* Adding ------------------------------------------------------------------- */

static int add_refused(const char *text, int error)
{
	if (error == -ENOENT || error == -EADDRNOTAVAIL)
		return monitor_symbol_fail(text, error);
	return monitor_fail(error, "%s", kprobe_reason());
}

static int probe_aim(struct monitor_probe *p, const char *text)
{
	u64 addr;

	if (!char_is_digit(text[0])) {
		if (strscpy(p->symbol, text, sizeof(p->symbol)) < 0)
			return monitor_fail(-ENAMETOOLONG, "'%s' is too long",
					    text);
		p->rp.kp.symbol_name = p->symbol;
		return 0;
	}
	if (parse_u64(text, 0, &addr, NULL))
		return monitor_fail(-EINVAL, "'%s' is no address", text);
	p->rp.kp.addr = (unsigned long)addr;
	return 0;
}

static int next_id(void)
{
	if (list_empty(&probes))
		return 1;
	return list_last_entry(&probes, struct monitor_probe, link)->id + 1;
}

static void probe_added(struct monitor_probe *p)
{
	symtab_text(p->rp.kp.addr, p->where, sizeof(p->where));
	mutex_lock(&probes_mutex);
	list_add_tail(&p->link, &probes);
	mutex_unlock(&probes_mutex);
	monitor_print("probe %d on %s%s at 0x%lx\n", p->id,
		      p->returns ? "the return of " : "", p->where,
		      p->rp.kp.addr);
}

/* What follows @key in @word, or NULL. */
static const char *value_of(const char *word, const char *key)
{
	size_t n = strlen(key);

	return strncmp(word, key, n) ? NULL : word + n;
}

static int probe_kind(struct monitor_probe *p, const struct monitor_call *call,
		      const char *name)
{
	int error = hostile_handler(name, &p->rp.kp.pre_handler);

	if (error == -ENODEV)
		return monitor_fail(error,
				    "without a time budget, kind=%s "
				    "would stop its CPU for ever",
				    name);
	if (error)
		return monitor_usage(call,
				     "kind=%s: there are count, null, loop, "
				     "deep and lock",
				     name);
	return 0;
}

static int probe_option(struct monitor_probe *p,
			const struct monitor_call *call, const char *word)
{
	const char *value;

	if (!strcmp(word, "full")) {
		p->full = true;
	} else if (!strcmp(word, "return")) {
		p->returns = true;
	} else if ((value = value_of(word, "kind="))) {
		return probe_kind(p, call, value);
	} else if ((value = value_of(word, "session="))) {
		p->rp.kp.session = session_find(value);
		if (!p->rp.kp.session)
			return monitor_fail(-ENOENT, "no session '%s'", value);
	} else {
		return monitor_usage(call, "'%s' instead of 'full' or 'return'",
				     word);
	}
	return 0;
}

static int probe_parse(struct monitor_probe *p, const struct monitor_call *call)
{
	int error = probe_aim(p, call->argv[0]);

	for (unsigned i = 1; !error && i < call->argc; i++)
		error = probe_option(p, call, call->argv[i]);
	return error;
}

static int cmd_probe_add(const struct monitor_call *call)
{
	struct monitor_probe *p = kzalloc(sizeof(*p));
	int error;

	if (!p)
		return monitor_fail(-ENOMEM, "no memory for a probe");
	p->id = next_id();
	p->rp.kp.pre_handler = hit_record;
	p->rp.handler = hit_record_return;
	p->budget = HITS_SHOWN_PER_SECOND;
	error = probe_parse(p, call);
	if (error)
		goto out_free;
	error = hits_open();
	if (error) {
		monitor_fail(error, "no memory for the rings");
		goto out_free;
	}
	error = p->returns ? register_kretprobe(&p->rp)
			   : register_kprobe(&p->rp.kp);
	if (error) {
		add_refused(call->argv[0], error);
		goto out_close;
	}
	probe_added(p);
	return 0;

out_close:
	hits_close();
out_free:
	kfree(p);
	return error;
}
MONITOR_COMMAND(
	"probe add",
	"SYM[+OFF]|ADDR [full] [return] [session=NAME] [kind=KIND]",
	"show each hit; full: all registers; return: each return instead",
	cmd_probe_add);

/* Removing ----------------------------------------------------------------- */

static void unregister_all(struct list_head *gone, unsigned n)
{
	struct kprobe **batch = kcalloc(n, sizeof(*batch));
	struct monitor_probe *p;
	unsigned i = 0;

	list_for_each_entry(p, gone, link) {
		if (batch)
			batch[i++] = &p->rp.kp;
		else
			unregister_kprobe(&p->rp.kp);
	}
	if (batch)
		unregister_kprobes(batch, n);
	kfree(batch);
}

/* How often @kp was not called. Of returns, calls without a note, too. */
static unsigned long missed(const struct kprobe *kp)
{
	unsigned long n = READ_ONCE(kp->nmissed);

	if (kp->flags & KPROBE_FLAG_RETURN)
		n += READ_ONCE(container_of(kp, struct kretprobe, kp)->nmissed);
	return n;
}

static void probe_gone(struct monitor_probe *p)
{
	struct kretprobe_counts c;

	monitor_print("probe %d off %s: %lu hit%s, %lu missed", p->id, p->where,
		      p->rp.kp.nhit, p->rp.kp.nhit == 1 ? "" : "s",
		      missed(&p->rp.kp));
	kretprobe_counts(&p->rp, &c);
	if (p->returns)
		monitor_print(", %llu returned, %llu skipped, %llu under way",
			      c.returned, c.skipped, c.outstanding);
	if (p->not_shown)
		monitor_print(", the last %llu not shown", p->not_shown);
	monitor_print("\n");
	list_del_init(&p->link);
	hits_close();
	kfree(p);
}

/* After unregistering: all they saw is on the screen when this returns. */
static void probes_forget(struct list_head *gone)
{
	struct monitor_probe *p, *next;

	hits_show();
	list_for_each_entry_safe(p, next, gone, link)
		probe_gone(p);
}

static void probes_remove(struct list_head *gone, unsigned n)
{
	unregister_all(gone, n);
	probes_forget(gone);
}

/* Is the address of @p what @text, SYM[+OFF], names? However it was added. */
static bool symbol_matches(const struct monitor_probe *p, const char *text)
{
	const char *plus = strchr(text, '+');
	size_t len = plus ? (size_t)(plus - text) : strlen(text);
	struct symbol sym;
	u64 offset;

	if (symtab_lookup(p->rp.kp.addr, &sym) || strlen(sym.name) != len ||
	    memcmp(sym.name, text, len))
		return false;
	if (!plus)
		return p->rp.kp.addr == symbol_entry(&sym);
	return !parse_u64(plus + 1, 0, &offset, NULL) &&
	       p->rp.kp.addr == sym.addr + offset;
}

static bool probe_matches(const struct monitor_probe *p, const char *text)
{
	u64 id;

	if (char_is_digit(text[0]))
		return !parse_u64(text, 0, &id, NULL) &&
		       (id == (u64)p->id || id == p->rp.kp.addr);
	return !strcmp(p->symbol, text) || symbol_matches(p, text);
}

/* Moves the probes that @text means from the list to @gone; how many. */
static unsigned probes_take(const char *text, struct list_head *gone)
{
	bool all = !strcmp(text, "all");
	struct monitor_probe *p, *next;
	unsigned n = 0;

	mutex_lock(&probes_mutex);
	list_for_each_entry_safe(p, next, &probes, link) {
		if (!all && !probe_matches(p, text))
			continue;
		list_del_init(&p->link);
		list_add_tail(&p->link, gone);
		n++;
	}
	mutex_unlock(&probes_mutex);
	return n;
}

void probes_close(void)
{
	LIST_HEAD(gone);
	unsigned n = probes_take("all", &gone);

	if (n)
		probes_remove(&gone, n);
}

int probes_close_session(struct probe_session *s)
{
	struct monitor_probe *p, *next;
	LIST_HEAD(gone);
	int error;

	mutex_lock(&probes_mutex);
	list_for_each_entry_safe(p, next, &probes, link) {
		if (p->rp.kp.session == s)
			list_move_tail(&p->link, &gone);
	}
	mutex_unlock(&probes_mutex);
	error = session_close(s);
	probes_forget(&gone);
	return error;
}

static int cmd_probe_del(const struct monitor_call *call)
{
	const char *what = call->argv[0];
	LIST_HEAD(gone);
	unsigned n = probes_take(what, &gone);

	if (n)
		probes_remove(&gone, n);
	else if (!strcmp(what, "all"))
		monitor_print("no probes\n");
	else
		return monitor_fail(-ENOENT,
				    "no probe '%s'; 'probe list' lists them",
				    what);
	return 0;
}
MONITOR_COMMAND("probe del", "ID|SYM[+OFF]|ADDR|all",
		"remove probes and say what they counted", cmd_probe_del);

/* Listing ------------------------------------------------------------------ */

/* 0 for those of tests and of other parts of the kernel. */
static int id_of(const struct kprobe *kp)
{
	struct monitor_probe *p;

	list_for_each_entry(p, &probes, link) {
		if (&p->rp.kp == kp)
			return p->id;
	}
	return 0;
}

static const char *state_of(const struct kprobe *kp)
{
	unsigned flags = READ_ONCE(kp->flags);

	if (flags & KPROBE_FLAG_QUARANTINED)
		return "stopped";
	if (flags & KPROBE_FLAG_DISABLED)
		return "disabled";
	/* "own", "pun", "branch", "region": by a jump */
	return kprobe_jump(kp) ? jump_strategy_name(kprobe_jump(kp)) : "break";
}

static bool list_line(struct kprobe *kp, void *arg)
{
	unsigned *n = arg;
	char id[12] = "-", where[80];

	if (id_of(kp))
		snprintf(id, sizeof(id), "%d", id_of(kp));
	if ((*n)++ == 0)
		monitor_print("%3s  %-18s  %-22s %-8s %-7s %8s %6s\n", "ID",
			      "ADDRESS", "SYMBOL", "STATE", "PLAN", "HITS",
			      "MISSED");
	symtab_text(kp->addr, where, sizeof(where));
	if (kp->flags & KPROBE_FLAG_RETURN)
		strscpy(where + strlen(where), " return",
			sizeof(where) - strlen(where));
	monitor_print("%3s  0x%016lx  %-22s %-8s %-7s %8lu %6lu\n", id,
		      kp->addr, where, state_of(kp),
		      probe_plan_name(kprobe_plan(kp)), READ_ONCE(kp->nhit),
		      missed(kp));
	return true;
}

static bool verdict_line(struct kprobe *kp, void *arg __unused)
{
	char where[80], pc[80];

	if (kp->verdict == KPROBE_WELL)
		return true;
	symtab_text(kp->addr, where, sizeof(where));
	symtab_text(kp->verdict_pc, pc, sizeof(pc));
	monitor_print("%s: probe on %s disabled: %s%s%s, at %s\n",
		      session_name(kp->session), where,
		      kprobe_verdict_name(kp->verdict),
		      kp->verdict_lock ? ": " : "", kp->verdict_lock ?: "", pc);
	return true;
}

void probes_verdicts(void)
{
	kprobe_for_each(verdict_line, NULL);
}

static int cmd_probe_list(const struct monitor_call *call __unused)
{
	unsigned n = 0;

	kprobe_for_each(list_line, &n);
	if (!n)
		monitor_print("no probes; 'probe add SYM' places one\n");
	probes_verdicts();
	return 0;
}
MONITOR_COMMAND("probe list", "", "all probes, their hits and misses",
		cmd_probe_list);

/* Rate --------------------------------------------------------------------- */

/* Probes whose hits were not shown are named, up to so many. */
#define NAMED_MAX 4

void probes_refill(void)
{
	struct monitor_probe *p;
	unsigned probes_named = 0;
	u64 others = 0;

	terminal_interrupt_begin();
	mutex_lock(&probes_mutex);
	list_for_each_entry(p, &probes, link) {
		u64 n = __atomic_exchange_n(&p->not_shown, 0, __ATOMIC_RELAXED);

		__atomic_store_n(&p->budget, HITS_SHOWN_PER_SECOND,
				 __ATOMIC_RELAXED);
		if (n && probes_named++ < NAMED_MAX)
			monitor_print("probe %d: %llu hits not shown\n", p->id,
				      n);
		else
			others += n;
	}
	if (others)
		monitor_print("other probes: %llu hits not shown\n", others);
	mutex_unlock(&probes_mutex);
	terminal_interrupt_end();
}
