/* SPDX-License-Identifier: MIT */
/*
 * The loop: reads a line, splits it into commands, finds each in the table that
 * the linker collected, checks the number of arguments, calls it.
 *
 * monitor_run() keeps all it needs on the stack, so a command may run others
 * (the tests do).
 */
#include "monitor.h"
#include "parse.h"
#include <kernel/console.h>
#include <kernel/wait.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <lib/text.h>

/* Printing ----------------------------------------------------------------- */

/* Protects the two below, and keeps calls of the sink apart. */
static struct mutex output_mutex = MUTEX(output_mutex);
static format_sink output_sink;
static void *output_arg;

void monitor_output_set(format_sink sink, void *arg)
{
	mutex_lock(&output_mutex);
	output_arg = arg;
	output_sink = sink;
	mutex_unlock(&output_mutex);
}

static void print_args(const char *before, const char *fmt, va_list ap,
		       const char *after)
{
	char line[320]; /* longer ones are cut: nobody prints such a line */
	size_t n = scnprintf(line, sizeof(line), "%s", before);

	n += min((size_t)vsnprintf(line + n, sizeof(line) - n, fmt, ap),
		 sizeof(line) - n - 1);
	n += scnprintf(line + n, sizeof(line) - n, "%s", after);
	mutex_lock(&output_mutex);
	if (output_sink)
		output_sink(output_arg, line, n);
	else
		console_write(line, n);
	mutex_unlock(&output_mutex);
}

void monitor_print(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_args("", fmt, ap, "");
	va_end(ap);
}

int monitor_fail(int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_args("error: ", fmt, ap, "\n");
	va_end(ap);
	return error;
}

int monitor_usage(const struct monitor_call *call, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_args("error: ", fmt, ap, "\n");
	va_end(ap);
	monitor_print("usage: %s%s%s\n", call->command->name,
		      *call->command->args ? " " : "", call->command->args);
	return -EINVAL;
}

/* Finding a command -------------------------------------------------------- */

extern const struct monitor_command *const __start_monitor_commands[];
extern const struct monitor_command *const __stop_monitor_commands[];

/* Looks at all of them: there are not so many that sorting would pay. */
const struct monitor_command *command_after(const char *name)
{
	const struct monitor_command *const *c = __start_monitor_commands;
	const struct monitor_command *next = NULL;

	for (; c < __stop_monitor_commands; c++) {
		if (strcmp((*c)->name, name) > 0 &&
		    (!next || strcmp((*c)->name, next->name) < 0))
			next = *c;
	}
	return next;
}

/* Words of @name if @argv begins with them, else 0. */
static unsigned name_matches(const char *name, char *const *argv, unsigned argc)
{
	const char *space = strchr(name, ' ');
	size_t first = space ? (size_t)(space - name) : strlen(name);

	if (argc == 0 || strlen(argv[0]) != first ||
	    memcmp(argv[0], name, first))
		return 0;
	if (!space)
		return 1;
	return argc > 1 && !strcmp(argv[1], space + 1) ? 2 : 0;
}

const struct monitor_command *command_find(char *const *argv, unsigned argc,
					   unsigned *words)
{
	const struct monitor_command *c, *found = NULL;

	*words = 0;
	for_each_command(c) {
		unsigned n = name_matches(c->name, argv, argc);

		if (n > *words) {
			*words = n;
			found = c;
		}
	}
	return found;
}

/*
 * Is @name what somebody may have meant by @typed? The typed text is compared
 * as a whole and, for a first word alone, with each first word.
 */
static bool command_is_near(const char *name, const char *typed)
{
	size_t len = strlen(typed);
	unsigned limit = len <= 4 ? 1 : 2;

	if (!strcmp(typed, "exit") || !strcmp(typed, "quit"))
		return !strcmp(name, "poweroff");

	return !strncmp(name, typed, len) ||
	       edit_distance(name, typed) <= limit;
}

static __noinline int command_unknown(char *const *argv, unsigned argc)
{
	char typed[MONITOR_LINE_MAX], near[120];
	const struct monitor_command *c;
	size_t n = 0;

	/* "probe ad x" means "probe add"; "uptme x" means one word. */
	for (unsigned words = min(argc, 2u); words > 0 && !n; words--) {
		snprintf(typed, sizeof(typed), "%s%s%s", argv[0],
			 words > 1 ? " " : "", words > 1 ? argv[1] : "");
		for_each_command(c) {
			if (command_is_near(c->name, typed))
				n += scnprintf(near + n, sizeof(near) - n,
					       "%s%s", n ? ", " : "", c->name);
		}
	}
	if (n)
		return monitor_fail(-ENOENT,
				    "no command '%s'; did you mean: %s", typed,
				    near);
	return monitor_fail(-ENOENT, "no command '%s'; 'help' lists them",
			    argv[0]);
}

/* Running ------------------------------------------------------------------ */

static int run_call(struct monitor_call *call)
{
	unsigned least, most;

	args_range(call->command->args, &least, &most);
	if (call->argc > most)
		return monitor_usage(call, "too much: '%s'", call->argv[most]);
	if (call->argc < least)
		return monitor_usage(call, "%u argument%s missing",
				     least - call->argc,
				     least - call->argc > 1 ? "s" : "");
	return call->command->run(call);
}

int command_split(const char *text, char *words, size_t size, char **argv)
{
	unsigned argc = 0;

	for (;;) {
		int got = text_word(&text, words, size);

		if (got == 0)
			return (int)argc;
		if (got < 0 || argc == MONITOR_ARGS_MAX)
			return got < 0 ? got : -E2BIG;
		argv[argc++] = words;
		size -= strlen(words) + 1;
		words += strlen(words) + 1;
	}
}

int command_run(char *const *argv, unsigned argc)
{
	struct monitor_call call = { 0 };
	unsigned name_words;

	if (argc == 0)
		return 0;
	call.command = command_find(argv, argc, &name_words);
	if (!call.command)
		return command_unknown(argv, argc);
	call.argc = argc - name_words;
	for (unsigned i = 0; i < call.argc; i++)
		call.argv[i] = argv[name_words + i];
	return run_call(&call);
}

/* Not inlined: its buffers and those of its caller would be one frame. */
static __noinline int run_one(const char *text)
{
	char words[MONITOR_LINE_MAX + 1];
	char *argv[MONITOR_ARGS_MAX];
	int argc = command_split(text, words, sizeof(words), argv);

	if (argc < 0)
		return monitor_fail(argc, "%s",
				    argc == -EINVAL ? "a quote is not closed"
						    : "too many words");
	return command_run(argv, (unsigned)argc);
}

static bool powering_off; /* nothing more is run */

int monitor_run(const char *commands)
{
	char text[MONITOR_LINE_MAX + 1];
	int first = 0;

	while (*commands && !powering_off) {
		int error = command_next(&commands, text, sizeof(text));

		if (error)
			monitor_fail(error, "longer than %d bytes: '%.40s...'",
				     MONITOR_LINE_MAX, text);
		else
			error = run_one(text);
		hits_show(); /* what it caused, before the next one speaks */
		if (error && !first)
			first = error;
		if (error == -EINTR)
			break; /* ^C means the whole line */
	}
	return first;
}

/* Help --------------------------------------------------------------------- */

#define HELP_COLUMN 36

void help_line(const char *name, const char *between, const char *values,
	       const char *help)
{
	char use[100];

	snprintf(use, sizeof(use), "%s%s%s", name, between, values);
	if (strlen(use) > HELP_COLUMN) {
		monitor_print("  %s\n", use);
		*use = '\0';
	}
	monitor_print("  %-*s  %s\n", HELP_COLUMN, use, help);
}

static int cmd_help(const struct monitor_call *call)
{
	char about[MONITOR_LINE_MAX];
	const struct monitor_command *c;
	bool any = false;

	snprintf(about, sizeof(about), "%s%s%s",
		 call->argc ? call->argv[0] : "", call->argc > 1 ? " " : "",
		 call->argc > 1 ? call->argv[1] : "");
	for_each_command(c) {
		if (strncmp(c->name, about, strlen(about)))
			continue;
		help_line(c->name, " ", c->args, c->help);
		any = true;
	}
	if (!any)
		return monitor_fail(-ENOENT, "no command '%s'", about);
	if (!call->argc)
		monitor_print(
			"Several commands on a line: 'a; b'. Tab completes"
			" names, Up recalls lines.\nAll hits are counted;"
			" at most %d of a probe are shown in a second, and"
			" none of the\nthread that shows them.\n",
			HITS_SHOWN_PER_SECOND);
	return 0;
}
MONITOR_COMMAND("help", "[COMMAND] [WORD]",
		"list commands, or those that begin so", cmd_help);

/* The loop ----------------------------------------------------------------- */

static void shell_loop(void)
{
	while (!powering_off) {
		const char *line = terminal_read_line();

		if (line)
			monitor_run(line);
		else
			powering_off = true;
	}
	monitor_print("Good bye.\n");
}

static int cmd_poweroff(const struct monitor_call *call __unused)
{
	powering_off = true;
	return 0;
}
MONITOR_COMMAND("poweroff", "", "leave the monitor and the machine",
		cmd_poweroff);

int monitor_main(const char *commands)
{
	int status = 0;

	budget_start();
	if (hits_start())
		monitor_print("no memory to show hits\n");
	if (commands) {
		status = monitor_run(commands);
	} else {
		guided_trace();
		shell_loop();
	}
	probes_close();
	sessions_close();
	return status;
}
