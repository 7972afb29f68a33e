/* SPDX-License-Identifier: MIT */
/*
 * What the monitor's files share among themselves.
 */
#ifndef SONDE_MONITOR_MONITOR_H
#define SONDE_MONITOR_MONITOR_H

#include <kernel/monitor.h>
#include <lib/list.h>
#include <probe/kprobe.h>

/* shell.c ------------------------------------------------------------------ */

extern const struct monitor_command *const __start_monitor_commands[];
extern const struct monitor_command *const __stop_monitor_commands[];

#define for_each_command(c)                           \
	for (const struct monitor_command *const *c = \
		     __start_monitor_commands;        \
	     c < __stop_monitor_commands; c++)

/*
 * Around output that does not answer the line being typed: takes that line off
 * the screen, and shows it again.
 */
void shell_interrupt_begin(void);
void shell_interrupt_end(void);

/* look.c ------------------------------------------------------------------- */

/* "0x1234", "1234" or "SYM[+OFF]"; says what is wrong if it returns an error. */
int __must_check monitor_address(const char *text, unsigned long *addr);
/* Says why @text names no address or too many; returns @error. */
int monitor_symbol_fail(const char *text, int error);

/* Symbol and offset of @addr, "schedule+0x10", or the number. */
void symbol_text(unsigned long addr, char *buf, size_t size);

/* probes.c ----------------------------------------------------------------- */

/* A probe placed from the console. */
struct monitor_probe {
	struct kprobe kp;
	struct list_head link;
	int id;
	bool full;	 /* show all registers */
	char symbol[64]; /* as typed; "" if a number was */
	int budget;	 /* hits that will still be shown this second */
	u64 not_shown;	 /* hits since then that were not */
};

/* A second is over: says what was not shown, and lets more be shown. */
void probes_refill(void);
/* Removes all probes of the monitor, after showing what they saw. */
void probes_close(void);

/* hits.c ------------------------------------------------------------------- */

/* Rings and the thread that prints; 0 or -ENOMEM. Opened once per probe. */
int __must_check hits_open(void);
void hits_close(void);
/* The handler of all monitor probes. */
int hit_record(struct kprobe *kp, struct pt_regs *regs);
/* Prints what the rings hold. */
void hits_show(void);
/* All of @regs by name, four to a line. */
void registers_print(const struct pt_regs *regs);

/* guided.c ----------------------------------------------------------------- */

void guided_trace(void);

#endif
