// SPDX-License-Identifier: MIT
/*
 * The kernel's command line: `help boot`, and probe=SYM[+OFF],...: probes that are
 * there before interrupts, threads and the other CPUs are.
 *
 * Each is a `probe add` in a session called boot, run as soon as the engine can:
 * hits are counted and recorded from then on, and shown once the monitor runs.
 * What is refused says so, and the others go on.
 */
#include "monitor.h"
#include <kernel/log.h>
#include <kernel/option.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/session.h>

#define SESSION "boot"

BOOT_OPTION(probe, "SYM[+OFF],...",
	    "place these from the start; as `probe add`", NULL);

/* @text is what `probe add` takes, options included. */
static int place(const char *text)
{
	char words[MONITOR_LINE_MAX + 1];
	char *argv[3 + MONITOR_ARGS_MAX] = { "probe", "add" };
	int n = command_split(text, words, sizeof(words), argv + 3);

	if (n == 0)
		return monitor_fail(-EINVAL, "a name is missing");
	if (n < 0 || n + 1 > MONITOR_ARGS_MAX)
		return monitor_fail(-E2BIG, "no probe looks like this");
	argv[2] = argv[3];
	argv[3] = "session=" SESSION;
	return command_run(argv, 3 + (unsigned)n);
}

void monitor_boot(void)
{
	static char list[512]; /* no word of the command line is longer */
	struct probe_session *session;
	char *text, *comma;
	int err = option_get(&boot_option_probe, list, sizeof(list));

	if (err == -ENOENT || err == -EINVAL)
		return; /* options_set() has warned */
	if (err >= 0)
		err = session_open(SESSION, NULL, &session);
	if (err < 0) {
		pr_warn("probe=: %s; no probe is placed",
			err == -E2BIG ? "the list is too long" : "no memory");
		return;
	}
	for (text = list; text; text = comma ? comma + 1 : NULL) {
		comma = strchr(text, ',');
		if (comma)
			*comma = '\0';
		if (place(text))
			pr_warn("probe=%s is not placed", text);
	}
}

static int cmd_help_boot(const struct monitor_call *call __unused)
{
	for_each_boot_option(o)
		help_line(o->name, "=", o->values, o->help);
	help_line("--", " ", "COMMANDS", "run these in the monitor, and leave");
	return 0;
}
MONITOR_COMMAND("help boot", "", "what the kernel's command line may say",
		cmd_help_boot);
