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
	char where[80];

	mutex_lock(&probes_mutex);
	list_add_tail(&p->link, &probes);
	mutex_unlock(&probes_mutex);
	symtab_text(p->kp.addr, where, sizeof(where));
	monitor_print("probe %d on %s at 0x%lx\n", p->id, where, p->kp.addr);
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

/* Takes @p off the list; all it saw is on the screen afterwards. */
static void probe_remove(struct monitor_probe *p)
{
	char where[80];

	symtab_text(p->kp.addr, where, sizeof(where));
	unregister_kprobe(&p->kp);
	mutex_lock(&probes_mutex);
	list_del_init(&p->link);
	mutex_unlock(&probes_mutex);
	hits_show();
	monitor_print("probe %d off %s: %lu hit%s, %lu missed", p->id, where,
		      p->kp.nhit, p->kp.nhit == 1 ? "" : "s", p->kp.nmissed);
	if (p->not_shown)
		monitor_print(", the last %llu not shown", p->not_shown);
	monitor_print("\n");
	hits_close();
	kfree(p);
}

void probes_close(void)
{
	while (!list_empty(&probes))
		probe_remove(
			list_first_entry(&probes, struct monitor_probe, link));
}

static bool probe_matches(const struct monitor_probe *p, const char *text)
{
	u64 id;

	if (char_is_digit(text[0]))
		return !parse_u64(text, 0, &id, NULL) &&
		       (id == (u64)p->id || id == p->kp.addr);
	return !strcmp(p->symbol, text);
}

static int cmd_probe_del(const struct monitor_call *call)
{
	const char *what = call->argv[0];
	bool all = !strcmp(what, "all");
	struct monitor_probe *p, *next;
	unsigned n = 0;

	/* Only this thread changes the list, so it may be read without. */
	list_for_each_entry_safe(p, next, &probes, link) {
		if (!all && !probe_matches(p, what))
			continue;
		probe_remove(p);
		n++;
	}
	if (!n && !all)
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

void probes_refill(void)
{
	struct monitor_probe *p;

	mutex_lock(&probes_mutex);
	list_for_each_entry(p, &probes, link) {
		u64 n = __atomic_exchange_n(&p->not_shown, 0, __ATOMIC_RELAXED);

		if (n) {
			terminal_interrupt_begin();
			monitor_print("probe %d: %llu hits not shown (%d a"
				      " second are)\n",
				      p->id, n, SHOWN_PER_SECOND);
			terminal_interrupt_end();
		}
		__atomic_store_n(&p->budget, SHOWN_PER_SECOND,
				 __ATOMIC_RELAXED);
	}
	mutex_unlock(&probes_mutex);
}
