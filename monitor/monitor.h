/* SPDX-License-Identifier: MIT */
/*
 * What the monitor's files share among themselves.
 */
#ifndef SONDE_MONITOR_MONITOR_H
#define SONDE_MONITOR_MONITOR_H

#include <kernel/monitor.h>
#include <lib/list.h>
#include <probe/kretprobe.h>

/* shell.c ------------------------------------------------------------------ */

/* The command whose name comes next after @name in the alphabet, or NULL. */
const struct monitor_command *command_after(const char *name);
#define for_each_command(c) \
	for (c = command_after(""); c; c = command_after(c->name))

/* The command that @argv begins with, and *@words its name has; or NULL. */
const struct monitor_command *command_find(char *const *argv, unsigned argc,
					   unsigned *words);
/*
 * Splits @text into words, kept in @words of @size bytes, and points @argv of
 * MONITOR_ARGS_MAX to them. Their number; -EINVAL for an open quote, -E2BIG.
 */
int command_split(const char *text, char *words, size_t size, char **argv);
/* Runs one command of @argc words, and says what is wrong with it. */
int command_run(char *const *argv, unsigned argc);
/* One line of help: how something is used, and what for. */
void help_line(const char *name, const char *between, const char *values,
	       const char *help);

/* terminal.c --------------------------------------------------------------- */

/* The next line that somebody types; NULL: no more. Valid until the next. */
const char *terminal_read_line(void);
/*
 * Waits so long, or until somebody types ^C: true then, and for one that was
 * typed before. What else is typed is kept for the next line.
 */
bool terminal_wait(u64 ns);
/* Around other output: takes the line being typed off the screen, and back. */
void terminal_interrupt_begin(void);
void terminal_interrupt_end(void);

/* look.c ------------------------------------------------------------------- */

/* "0x1234", "1234" or "SYM[+OFF]", as probes mean it; prints what is wrong. */
int __must_check monitor_address(const char *text, unsigned long *addr);
/* Says why @text names no address or too many; returns @error. */
int monitor_symbol_fail(const char *text, int error);

/* probes.c ----------------------------------------------------------------- */

/* A probe placed from the console. */
struct monitor_probe {
	struct kretprobe rp; /* only its kp, unless it is a return probe */
	struct list_head link;
	int id;
	bool full;	 /* show all registers */
	bool returns;	 /* a return probe */
	char symbol[64]; /* as typed; "" if a number was */
	char where[80];	 /* name and offset of its address */
	int budget;	 /* hits that will still be shown this second */
	u64 not_shown;	 /* hits since then that were not */
};

/* What became of probes whose handlers were abandoned, a line each. */
void probes_verdicts(void);
/* A second is over: says what was not shown, and lets more be shown. */
void probes_refill(void);
/* Removes all probes of the monitor, after showing what they saw. */
void probes_close(void);
/* Closes @s, and forgets the probes of the monitor that it owned. */
int probes_close_session(struct probe_session *s);

/* hostile.c ---------------------------------------------------------------- */

/*
 * The handler that kind=@name of `probe add` means. -EINVAL if there is none;
 * -ENODEV if it would never return and has no time budget.
 */
int __must_check hostile_handler(const char *name,
				 kprobe_pre_handler_t *handler);

/* sessions.c --------------------------------------------------------------- */

/* The monitor ends: closes all sessions, of whoever ends with it. */
void sessions_close(void);
/* Gives handlers a time budget, if there is a CPU that can watch. */
void budget_start(void);

/* hits.c ------------------------------------------------------------------- */

#define HITS_SHOWN_PER_SECOND 10 /* of one probe */

/* Rings and the thread that prints; 0 or -ENOMEM. Opened once per probe. */
int __must_check hits_open(void);
/* The thread, where hits_open() was too early in boot for one. */
int __must_check hits_start(void);
void hits_close(void);
/* The handlers of all monitor probes. */
int hit_record(struct kprobe *kp, struct pt_regs *regs);
int hit_record_return(struct kretprobe_instance *ri, struct pt_regs *regs);
/* Prints what the rings hold. */
void hits_show(void);
/* All of @regs by name, four to a line. */
void registers_print(const struct pt_regs *regs);

/* guided.c ----------------------------------------------------------------- */

void guided_trace(void);

#endif
