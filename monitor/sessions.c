// SPDX-License-Identifier: MIT
/*
 * session new, list, close, release; budget; explain: who has probes where, and
 * what became of them.
 */
#include "monitor.h"
#include <kernel/smp.h>
#include <kernel/symtab.h>
#include <kernel/timer.h>
#include <lib/errno.h>
#include <lib/printf.h>
#include <lib/string.h>
#include <lib/text.h>
#include <probe/explain.h>
#include <probe/session.h>
#include <probe/watch.h>

/* Opening and closing ------------------------------------------------------ */

static bool parse_limit(const char *text, u64 most, u64 *value)
{
	return parse_u64(text, 0, value, NULL) == 0 && *value >= 1 &&
	       *value <= most;
}

/* "time=MS", or a number of probes. */
static int limit_option(struct session_limits *limits,
			const struct monitor_call *call, const char *word)
{
	const char *key = "time=";
	u64 value;

	if (!strncmp(word, key, strlen(key))) {
		if (!parse_limit(word + strlen(key), 1000000, &value))
			return monitor_usage(call, "'%s': no time in ms", word);
		limits->time_ns = value * NSEC_PER_MSEC;
		return 0;
	}
	if (!parse_limit(word, 1000000, &value))
		return monitor_usage(call, "'%s' is no number of probes", word);
	limits->probes = (unsigned)value;
	return 0;
}

static int cmd_session_new(const struct monitor_call *call)
{
	const char *name = call->argv[0];
	struct session_limits limits = { 0 };
	struct probe_session *s;
	int error = 0;

	for (unsigned i = 1; i < call->argc && !error; i++)
		error = limit_option(&limits, call, call->argv[i]);
	if (error)
		return error;
	error = session_open(name, &limits, &s);
	switch (error) {
	case 0:
		return 0;
	case -EEXIST:
		return monitor_fail(error, "there is a session '%s'", name);
	case -ENAMETOOLONG:
		return monitor_fail(error, "'%s' is too long", name);
	default:
		return monitor_fail(error, "no memory for a session");
	}
}
MONITOR_COMMAND("session new", "NAME [MAX-PROBES] [time=MS]",
		"a new owner of probes, apart from all others",
		cmd_session_new);

/* The session that the first argument names, or NULL and a message. */
static struct probe_session *session_arg(const struct monitor_call *call)
{
	struct probe_session *s = session_find(call->argv[0]);

	if (!s)
		monitor_fail(-ENOENT,
			     "no session '%s'; 'session list' lists them",
			     call->argv[0]);
	return s;
}

static int cmd_session_close(const struct monitor_call *call)
{
	struct probe_session *s = session_arg(call);

	return s ? probes_close_session(s) : -ENOENT;
}
MONITOR_COMMAND("session close", "NAME", "remove it and all of its probes",
		cmd_session_close);

static int cmd_session_release(const struct monitor_call *call)
{
	struct probe_session *s = session_arg(call);

	return s ? session_release(s) : -ENOENT;
}
MONITOR_COMMAND("session release", "NAME", "end its quarantine",
		cmd_session_release);

/* Listing ------------------------------------------------------------------ */

static void session_line(const struct session_stats *s, void *arg __unused)
{
	char time[24] = "-";

	if (s->timed)
		snprintf(time, sizeof(time), "%llu us",
			 s->time_ns / NSEC_PER_USEC);
	monitor_print("%-12s %6u %8llu %8llu %6llu %10s  %s%s%s\n", s->name,
		      s->probes, s->hits, s->missed, s->faults, time,
		      s->quarantined ? "quarantine" : "open",
		      s->why ? ": " : "", s->why ?: "");
}

static int cmd_session_list(const struct monitor_call *call __unused)
{
	monitor_print("%-12s %6s %8s %8s %6s %10s  %s\n", "SESSION", "PROBES",
		      "HITS", "MISSED", "FAULTS", "TIME", "STATE");
	session_for_each(session_line, NULL);
	probes_verdicts();
	return 0;
}
MONITOR_COMMAND("session list", "",
		"all sessions, and what became of bad handlers",
		cmd_session_list);

static void last_name(const struct session_stats *s, void *arg)
{
	strscpy(arg, s->name, SESSION_NAME_MAX);
}

void sessions_close(void)
{
	char name[SESSION_NAME_MAX];
	struct probe_session *s;

	/* The kernel's own comes first, and cannot be found by name. */
	while (session_for_each(last_name, name), (s = session_find(name)))
		probes_close_session(s);
}

/* The time budget ---------------------------------------------------------- */

/* A host with much to do can stop a CPU, and so a handler, for some time. */
#define BUDGET_DEFAULT_MS 200
#define BUDGET_MAX_MS	  60000

void budget_start(void)
{
	/* Where nobody can watch there is none: 'budget' says so. */
	if (probe_budget_set(BUDGET_DEFAULT_MS * NSEC_PER_MSEC))
		return;
}

static int cmd_budget(const struct monitor_call *call)
{
	u64 ms = probe_budget() / NSEC_PER_MSEC;

	if (!call->argc) {
		if (ms)
			monitor_print("%llu ms%s\n", ms,
				      probe_budget_is_sure()
					      ? ""
					      : ", unless all CPUs are in "
						"endless handlers at once");
		else
			monitor_print("none\n");
		return 0;
	}
	if (parse_u64(call->argv[0], 0, &ms, NULL) || ms > BUDGET_MAX_MS)
		return monitor_usage(call, "'%s' is no number up to %d",
				     call->argv[0], BUDGET_MAX_MS);
	if (probe_budget_set(ms * NSEC_PER_MSEC))
		return monitor_fail(-ENODEV,
				    "needs a second CPU that watches, or a "
				    "timer that comes as an NMI");
	return 0;
}
MONITOR_COMMAND("budget", "[MS]", "time that a handler may take; 0: any",
		cmd_budget);

/* explain ------------------------------------------------------------------ */

static int cmd_explain(const struct monitor_call *call)
{
	char where[80], text[640];
	unsigned long addr;
	int error = monitor_address(call->argv[0], &addr);

	if (error)
		return error;
	probe_explain(addr, text, sizeof(text));
	symtab_text(addr, where, sizeof(where));
	monitor_print("%s at 0x%lx\n", where, addr);
	for (char *line = text, *end; (end = strchr(line, '\n'));
	     line = end + 1)
		monitor_print("  %.*s", (int)(end + 1 - line), line);
	return 0;
}
MONITOR_COMMAND("explain", "SYM[+OFF]|ADDR",
		"may it be probed, how, and who does", cmd_explain);
