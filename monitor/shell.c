/* SPDX-License-Identifier: MIT */
/*
 * The loop: reads a line, splits it into commands, finds each in the table that
 * the linker collected, checks the number of arguments, calls it.
 *
 * monitor_run() keeps all it needs on the stack, so a command may run others
 * (the tests do). Only the thread in shell_loop() uses the editor; its mutex
 * keeps the line being typed and what other threads print apart.
 */
#include "monitor.h"
#include "lineedit.h"
#include "parse.h"
#include <kernel/console.h>
#include <kernel/log.h>
#include <kernel/symtab.h>
#include <kernel/timer.h>
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
	monitor_print("usage: %s %s\n", call->command->name,
		      call->command->args);
	return -EINVAL;
}

/* Finding a command -------------------------------------------------------- */

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

static const struct monitor_command *command_find(char *const *argv,
						  unsigned argc,
						  unsigned *words)
{
	const struct monitor_command *found = NULL;

	*words = 0;
	for_each_command(c)
	{
		unsigned n = name_matches((*c)->name, argv, argc);

		if (n > *words) {
			*words = n;
			found = *c;
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

	return !strncmp(name, typed, len) ||
	       edit_distance(name, typed) <= limit;
}

static __noinline int command_unknown(char *const *argv, unsigned argc)
{
	char typed[MONITOR_LINE_MAX], near[120];
	size_t n = 0;

	/* The first word alone first: "probe" itself is no command. */
	for (unsigned words = 1; words <= 2 && words <= argc && !n; words++) {
		if (words == 1)
			strscpy(typed, argv[0], sizeof(typed));
		else
			snprintf(typed, sizeof(typed), "%s %s", argv[0],
				 argv[1]);
		for_each_command(c) if (command_is_near((*c)->name, typed))
			n += scnprintf(near + n, sizeof(near) - n, "%s%s",
				       n ? ", " : "", (*c)->name);
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
		return monitor_usage(call, "%s argument%s missing",
				     call->argc ? "an" : "the",
				     least - call->argc > 1 ? "s" : "");
	return call->command->run(call);
}

/* Splits @text in place of @words; their number or a negative errno. */
static int split(const char *text, char *words, size_t size, char **argv)
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

/* Not inlined: its buffers and those of its caller would be one frame. */
static __noinline int run_one(const char *text)
{
	char words[MONITOR_LINE_MAX + 1];
	char *argv[MONITOR_ARGS_MAX];
	struct monitor_call call = { 0 };
	unsigned name_words;
	int argc = split(text, words, sizeof(words), argv);

	if (argc < 0)
		return monitor_fail(argc, "%s",
				    argc == -EINVAL ? "a quote is not closed"
						    : "too many words");
	if (argc == 0)
		return 0;
	call.command = command_find(argv, (unsigned)argc, &name_words);
	if (!call.command)
		return command_unknown(argv, (unsigned)argc);
	call.argc = (unsigned)argc - name_words;
	for (unsigned i = 0; i < call.argc; i++)
		call.argv[i] = argv[name_words + i];
	return run_call(&call);
}

int monitor_run(const char *commands)
{
	char text[MONITOR_LINE_MAX + 1];
	int first = 0;

	while (*commands) {
		int error = command_next(&commands, text, sizeof(text));

		if (error)
			monitor_fail(error, "longer than %d bytes: '%.40s...'",
				     MONITOR_LINE_MAX, text);
		else
			error = run_one(text);
		if (error && !first)
			first = error;
	}
	return first;
}

/* Help --------------------------------------------------------------------- */

static void help_line(const struct monitor_command *c)
{
	char use[64];

	snprintf(use, sizeof(use), "%s %s", c->name, c->args);
	monitor_print("  %-36s  %s\n", use, c->help);
}

/* The command whose name comes next after @name in the alphabet, or NULL. */
static const struct monitor_command *command_after(const char *name)
{
	const struct monitor_command *next = NULL;

	for_each_command(c) if (strcmp((*c)->name, name) > 0 &&
				(!next || strcmp((*c)->name, next->name) < 0))
		next = *c;
	return next;
}

static int cmd_help(const struct monitor_call *call)
{
	const char *about = call->argc ? call->argv[0] : "";
	const struct monitor_command *c = NULL;
	bool any = false;

	while ((c = command_after(c ? c->name : ""))) {
		if (strncmp(c->name, about, strlen(about)))
			continue;
		help_line(c);
		any = true;
	}
	if (!any)
		return monitor_fail(-ENOENT, "no command '%s'", about);
	if (!call->argc)
		monitor_print(
			"Several commands on a line: 'a; b'. Tab completes"
			" names, Up recalls lines.\n");
	return 0;
}
MONITOR_COMMAND("help", "[COMMAND]", "list commands, or those that begin so",
		cmd_help);

/* The loop ----------------------------------------------------------------- */

static struct mutex editor_mutex = MUTEX(editor_mutex);
static bool powering_off;

static void editor_write(void *arg __unused, const char *s, size_t n)
{
	console_write(s, n);
}

/* Words that may follow what is complete on @line, for the Tab key. */
static void editor_complete(void *arg __unused, const char *line,
			    lineedit_offer offer, void *ctx)
{
	char words[LINEEDIT_MAX + 1], first[LINEEDIT_MAX + 1];
	char *argv[MONITOR_ARGS_MAX];
	const char *start = strrchr(line, ';');
	const struct monitor_command *command;
	struct symbol sym = { 0 };
	unsigned name_words;
	size_t len;
	int argc;

	start = start ? start + 1 : line;
	len = strlen(start);
	while (len > 0 && !char_is_space(start[len - 1]))
		len--; /* the word that is being typed */
	strscpy(first, start, len + 1);
	argc = split(first, words, sizeof(words), argv);
	if (argc < 0)
		return;

	if (argc < 2)
		for_each_command(c)
		{
			const char *name = (*c)->name;
			const char *space = strchr(name, ' ');

			len = space ? (size_t)(space - name) : strlen(name);
			strscpy(first, name, len + 1);
			if (argc == 0)
				offer(ctx, first);
			else if (space && !strcmp(first, argv[0]))
				offer(ctx, space + 1);
		}
	command = command_find(argv, (unsigned)argc, &name_words);
	if (!command || !strstr(command->args, "SYM"))
		return;
	while (symtab_next(sym.addr, &sym) == 0)
		offer(ctx, sym.name);
}

static struct lineedit editor = {
	.prompt = "sonde> ",
	.write = editor_write,
	.complete = editor_complete,
};
static bool editor_active; /* between lineedit_begin() and the end of a line */

void shell_interrupt_begin(void)
{
	mutex_lock(&editor_mutex);
	if (editor_active)
		lineedit_hide(&editor);
}

void shell_interrupt_end(void)
{
	if (editor_active)
		lineedit_show(&editor);
	mutex_unlock(&editor_mutex);
}

/* Waits for a whole line; what ended it. */
static enum lineedit_event read_line(void)
{
	enum lineedit_event event = LINEEDIT_MORE;

	mutex_lock(&editor_mutex);
	lineedit_begin(&editor);
	editor_active = true;
	mutex_unlock(&editor_mutex);
	while (event == LINEEDIT_MORE) {
		int c = console_getc(NSEC_PER_SEC);

		if (c < 0)
			continue;
		mutex_lock(&editor_mutex);
		event = lineedit_byte(&editor, (char)c);
		editor_active = event == LINEEDIT_MORE;
		mutex_unlock(&editor_mutex);
	}
	return event;
}

static void shell_loop(void)
{
	while (!powering_off) {
		enum lineedit_event event = read_line();

		if (event == LINEEDIT_EOF)
			powering_off = true;
		else if (event == LINEEDIT_LINE)
			monitor_run(editor.line);
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

	if (commands) {
		status = monitor_run(commands);
	} else {
		guided_trace();
		shell_loop();
	}
	probes_close();
	return status;
}
