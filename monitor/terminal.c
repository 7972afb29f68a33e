/* SPDX-License-Identifier: MIT */
/*
 * The person at the console: the line editor, fed from the console, with the
 * words that Tab completes.
 *
 * One thread reads lines. editor_mutex keeps the line being typed apart from
 * what other threads print meanwhile.
 */
#include "monitor.h"
#include "lineedit.h"
#include <kernel/console.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <kernel/wait.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <lib/text.h>

#define CTRL_C 3

/* Completion --------------------------------------------------------------- */

/* First words of commands, or, behind @first, second ones. */
static void offer_commands(const char *first, lineedit_offer offer, void *ctx)
{
	const struct monitor_command *c;
	char word[LINEEDIT_MAX + 1];

	for_each_command(c) {
		const char *space = strchr(c->name, ' ');
		size_t len = space ? (size_t)(space - c->name)
				   : strlen(c->name);

		strscpy(word, c->name, len + 1);
		if (!first)
			offer(ctx, word);
		else if (space && !strcmp(word, first))
			offer(ctx, space + 1);
	}
}

static void offer_symbols(lineedit_offer offer, void *ctx)
{
	struct symbol sym = { 0 };

	while (symtab_next(sym.addr, &sym) == 0)
		offer(ctx, sym.name);
}

/* "full" and "kind=" of "SYM [full] [kind=KIND] [BYTES]". */
static void offer_options(const char *args, lineedit_offer offer, void *ctx)
{
	char word[LINEEDIT_MAX + 1];

	while ((args = strchr(args, '['))) {
		size_t n = 0;

		args++;
		while (args[n] >= 'a' && args[n] <= 'z')
			n++;
		n += args[n] == '=';
		strscpy(word, args, n + 1);
		if (n)
			offer(ctx, word);
	}
}

static void offer_words(void *arg __unused, const char *line,
			lineedit_offer offer, void *ctx)
{
	char before[LINEEDIT_MAX + 1], words[LINEEDIT_MAX + 1];
	char *argv[MONITOR_ARGS_MAX];
	const char *start = strrchr(line, ';');
	const struct monitor_command *command;
	unsigned name_words;
	size_t len;
	int argc;

	start = start ? start + 1 : line;
	len = strlen(start);
	while (len > 0 && !char_is_space(start[len - 1]))
		len--; /* the word that is being typed */
	memcpy(before, start, len);
	before[len] = '\0';
	argc = command_split(before, words, sizeof(words), argv);
	if (argc < 0)
		return;
	if (argc < 2)
		offer_commands(argc ? argv[0] : NULL, offer, ctx);
	command = command_find(argv, (unsigned)argc, &name_words);
	if (!command)
		return;
	if ((unsigned)argc > name_words)
		offer_options(command->args, offer, ctx);
	else if (strstr(command->args, "SYM"))
		offer_symbols(offer, ctx);
}

/* The line ----------------------------------------------------------------- */

static void write(void *arg __unused, const char *s, size_t n)
{
	console_write(s, n);
}

static struct mutex editor_mutex = MUTEX(editor_mutex);
static struct lineedit editor = {
	.prompt = "sonde> ",
	.write = write,
	.complete = offer_words,
};
static bool editing; /* a line is being typed */

void terminal_interrupt_begin(void)
{
	mutex_lock(&editor_mutex);
	if (editing)
		lineedit_hide(&editor);
}

void terminal_interrupt_end(void)
{
	if (editing)
		lineedit_show(&editor);
	mutex_unlock(&editor_mutex);
}

/* What was typed while a command ran. One thread reads and runs: no lock. */
static struct {
	char bytes[256];
	unsigned n, taken;
} ahead;

static int next_byte(void)
{
	if (ahead.taken < ahead.n)
		return (unsigned char)ahead.bytes[ahead.taken++];
	ahead.n = ahead.taken = 0;
	return console_getc(NSEC_PER_SEC);
}

bool terminal_wait(u64 ns)
{
	u64 end = clock_ns() + ns;
	int c;

	do {
		u64 now = clock_ns(), left = now < end ? end - now : 0;

		if (ahead.n == sizeof(ahead.bytes)) {
			wait_pause(left); /* the console keeps the rest */
			return false;
		}
		c = console_getc(left);
		if (c == CTRL_C) {
			ahead.n = ahead.taken = 0; /* typed before it */
			return true;
		}
		if (c >= 0)
			ahead.bytes[ahead.n++] = (char)c;
	} while (c >= 0 || clock_ns() < end);
	return false;
}

bool monitor_interrupted(void)
{
	return terminal_wait(0);
}

static enum lineedit_event read_line(void)
{
	enum lineedit_event event = LINEEDIT_MORE;

	mutex_lock(&editor_mutex);
	lineedit_begin(&editor);
	editing = true;
	mutex_unlock(&editor_mutex);
	while (event == LINEEDIT_MORE) {
		int c = next_byte();

		if (c < 0)
			continue;
		mutex_lock(&editor_mutex);
		event = lineedit_byte(&editor, (char)c);
		editing = event == LINEEDIT_MORE;
		mutex_unlock(&editor_mutex);
	}
	return event;
}

const char *terminal_read_line(void)
{
	enum lineedit_event event;

	do {
		event = read_line();
		if (event == LINEEDIT_LONG)
			monitor_fail(-E2BIG, "line too long, nothing done");
	} while (event == LINEEDIT_CANCEL || event == LINEEDIT_LONG);
	return event == LINEEDIT_EOF ? NULL : editor.line;
}
