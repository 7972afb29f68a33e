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

#define SHOWN_PER_SECOND 10

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
		p->kp.symbol_name = p->symbol;
		return 0;
	}
	if (parse_u64(text, 0, &addr, NULL))
		return monitor_fail(-EINVAL, "'%s' is no address", text);
	p->kp.addr = (unsigned long)addr;
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
	symtab_text(p->kp.addr, p->where, sizeof(p->where));
	mutex_lock(&probes_mutex);
	list_add_tail(&p->link, &probes);
	mutex_unlock(&probes_mutex);
	monitor_print("probe %d on %s at 0x%lx\n", p->id, p->where, p->kp.addr);
}

static int cmd_probe_add(const struct monitor_call *call)
{
	struct monitor_probe *p;
	int error;

	if (call->argc > 1 && strcmp(call->argv[1], "full"))
		return monitor_usage(call, "'%s' instead of 'full'",
				     call->argv[1]);
	p = kzalloc(sizeof(*p));
	if (!p)
		return monitor_fail(-ENOMEM, "no memory for a probe");
	p->id = next_id();
	p->kp.pre_handler = hit_record;
	p->full = call->argc > 1;
	p->budget = SHOWN_PER_SECOND;
	error = probe_aim(p, call->argv[0]);
	if (error)
		goto out_free;
	error = hits_open();
	if (error) {
		monitor_fail(error, "no memory for the rings");
		goto out_free;
	}
	error = register_kprobe(&p->kp);
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
MONITOR_COMMAND("probe add", "SYM[+OFF]|ADDR [full]",
		"show each hit; full: with all registers", cmd_probe_add);

/* Removing ----------------------------------------------------------------- */

static void unregister_all(struct list_head *gone, unsigned n)
{
	struct kprobe **batch = kcalloc(n, sizeof(*batch));
	struct monitor_probe *p;
	unsigned i = 0;

	list_for_each_entry(p, gone, link) {
		if (batch)
			batch[i++] = &p->kp;
		else
			unregister_kprobe(&p->kp);
	}
	if (batch)
		unregister_kprobes(batch, n);
	kfree(batch);
}

static void probe_gone(struct monitor_probe *p)
{
	monitor_print("probe %d off %s: %lu hit%s, %lu missed", p->id, p->where,
		      p->kp.nhit, p->kp.nhit == 1 ? "" : "s", p->kp.nmissed);
	if (p->not_shown)
		monitor_print(", the last %llu not shown", p->not_shown);
	monitor_print("\n");
	list_del_init(&p->link);
	hits_close();
	kfree(p);
}

/* Removes what is on @gone; all they saw is on the screen afterwards. */
static void probes_remove(struct list_head *gone, unsigned n)
{
	struct monitor_probe *p, *next;

	unregister_all(gone, n);
	hits_show();
	list_for_each_entry_safe(p, next, gone, link)
		probe_gone(p);
}

static bool probe_matches(const struct monitor_probe *p, const char *text)
{
	u64 id;

	if (char_is_digit(text[0]))
		return !parse_u64(text, 0, &id, NULL) &&
		       (id == (u64)p->id || id == p->kp.addr);
	return !strcmp(p->symbol, text);
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

static int cmd_probe_del(const struct monitor_call *call)
{
	const char *what = call->argv[0];
	LIST_HEAD(gone);
	unsigned n = probes_take(what, &gone);

	if (n)
		probes_remove(&gone, n);
	else if (strcmp(what, "all"))
		return monitor_fail(-ENOENT,
				    "no probe '%s'; 'probe list' lists them",
				    what);
	return 0;
}
MONITOR_COMMAND("probe del", "ID|SYM|ADDR|all",
		"remove probes and say what they counted", cmd_probe_del);

/* Listing ------------------------------------------------------------------ */

/* Those of tests and of other parts of the kernel have no number here. */
static bool list_line(struct kprobe *kp, void *arg)
{
	unsigned *n = arg;
	char id[12] = "-", where[80];

	if (kp->pre_handler == hit_record)
		snprintf(id, sizeof(id), "%d",
			 container_of(kp, struct monitor_probe, kp)->id);
	if ((*n)++ == 0)
		monitor_print("%3s  %-18s  %-28s %-8s %10s %8s\n", "ID",
			      "ADDRESS", "SYMBOL", "STATE", "HITS", "MISSED");
	symtab_text(kp->addr, where, sizeof(where));
	monitor_print("%3s  0x%016lx  %-28s %-8s %10lu %8lu\n", id, kp->addr,
		      where,
		      kp->flags & KPROBE_FLAG_DISABLED ? "disabled" : "break",
		      READ_ONCE(kp->nhit), READ_ONCE(kp->nmissed));
	return true;
}

static int cmd_probe_list(const struct monitor_call *call __unused)
{
	unsigned n = 0;

	kprobe_for_each(list_line, &n);
	if (!n)
		monitor_print("no probes; 'probe add SYM' places one\n");
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

		__atomic_store_n(&p->budget, SHOWN_PER_SECOND,
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
