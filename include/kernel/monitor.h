/* SPDX-License-Identifier: MIT */
/*
 * The monitor: the shell on the console, from which people place probes and look
 * at the kernel. Everything but monitor_boot() is for threads only.
 *
 * A command is a function and one MONITOR_COMMAND line in any file; a linker
 * section collects them. How many arguments a command takes is read from its
 * @args text, so the text and the check cannot differ:
 *
 *	"SYM[+OFF]|ADDR [full]"		one is needed, one more is possible
 */
#ifndef SONDE_KERNEL_MONITOR_H
#define SONDE_KERNEL_MONITOR_H

#include <lib/compiler.h>
#include <lib/printf.h>

#define MONITOR_LINE_MAX 200 /* bytes of one command with its arguments */
#define MONITOR_ARGS_MAX 8

struct monitor_call;

struct monitor_command {
	const char *name; /* one word, or two: "probe add" */
	const char *args; /* words; optional ones start with '[' */
	const char *help; /* one line, no full stop */
	int (*run)(const struct monitor_call *call);
};

/* One use of a command: @argv holds the words behind its name. */
struct monitor_call {
	const struct monitor_command *command;
	unsigned argc;
	const char *argv[MONITOR_ARGS_MAX];
};

/* The section holds pointers: it must not have holes. */
#define MONITOR_COMMAND(name_, args_, help_, fn_)                           \
	static const struct monitor_command monitor_command_of_##fn_ = {    \
		.name = (name_),                                            \
		.args = (args_),                                            \
		.help = (help_),                                            \
		.run = (fn_),                                               \
	};                                                                  \
	static const struct monitor_command *const monitor_command_at_##fn_ \
		__used __section("monitor_commands") =                      \
			&monitor_command_of_##fn_

/*
 * @commands non-NULL: runs them and returns their status. NULL: shows the guided
 * first trace, then reads commands until somebody powers off; returns 0. All
 * probes that the monitor placed are gone on return.
 */
int monitor_main(const char *commands);

/* Boot code, once probes work: places those of the command line. */
void monitor_boot(void);

/*
 * Runs all commands of a line, separated by ';'. 0, or the negative errno of the
 * first that failed. Whatever fails has printed a line "error: ..." by then.
 */
int monitor_run(const char *commands);

/* What commands print with. Whole calls stay together. */
void monitor_print(const char *fmt, ...) __printf(1, 2);
/* Prints "error: ..." and a line end; returns @error, for return statements. */
int monitor_fail(int error, const char *fmt, ...) __printf(2, 3);
/* The same with -EINVAL, and how the command is used. */
int monitor_usage(const struct monitor_call *call, const char *fmt, ...)
	__printf(2, 3);

/* Has somebody typed ^C? Commands that take long ask, and end with -EINTR. */
bool monitor_interrupted(void);

/* Sends what commands print to @sink instead; NULL: to the console. */
void monitor_output_set(format_sink sink, void *arg);

#endif
