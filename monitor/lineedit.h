/* SPDX-License-Identifier: MIT */
/*
 * A line editor for a terminal that understands CR, ESC [ K and ESC [ n C. Lines
 * end in LF alone: the console adds the CR.
 *
 * Bytes go in one at a time, bytes come out through a function; no allocation,
 * no waiting, no other state than struct lineedit. So it runs anywhere, and the
 * host tests feed it keys and compare screens.
 */
#ifndef SONDE_MONITOR_LINEEDIT_H
#define SONDE_MONITOR_LINEEDIT_H

#include <lib/compiler.h>
#include <kernel/monitor.h>

#define LINEEDIT_MAX	 MONITOR_LINE_MAX
#define LINEEDIT_HISTORY 16
#define LINEEDIT_COLUMNS 80

enum lineedit_event {
	LINEEDIT_MORE,	 /* the line goes on */
	LINEEDIT_LINE,	 /* e->line is complete */
	LINEEDIT_CANCEL, /* ^C: e->line was thrown away */
	LINEEDIT_EOF,	 /* ^D on an empty line */
	LINEEDIT_LONG,	 /* characters were refused: e->line is not all of it */
};

typedef void (*lineedit_offer)(void *ctx, const char *candidate);

struct lineedit {
	const char *prompt;
	void (*write)(void *arg, const char *s, size_t n);
	/*
	 * Calls @offer for every word that can stand where the last word of
	 * @line is, equal ones one after another. NULL: no completion.
	 */
	void (*complete)(void *arg, const char *line, lineedit_offer offer,
			 void *ctx);
	void *arg;

	/* The rest is the editor's; zero at first. */
	char line[LINEEDIT_MAX + 1];
	unsigned len, pos;
	unsigned left;	   /* first character on the screen */
	bool refused;	   /* a character, and nothing was erased since */
	bool shown;	   /* the line is on the screen */
	bool after_cr;	   /* swallow the LF of a CR LF */
	unsigned escape;   /* bytes of an escape sequence seen */
	char escape_digit; /* first one in it */

	char history[LINEEDIT_HISTORY][LINEEDIT_MAX + 1];
	unsigned history_count;		/* lines ever entered */
	unsigned history_back;		/* 0: the new line; n: n lines ago */
	char pending[LINEEDIT_MAX + 1]; /* the new line, while looking back */
};

/* Starts a line: shows the prompt. */
void lineedit_begin(struct lineedit *e);
/* After anything but LINEEDIT_MORE call lineedit_begin() for the next line. */
enum lineedit_event lineedit_byte(struct lineedit *e, char c);
/* Takes the line off the screen for other output, and shows it again. */
void lineedit_hide(struct lineedit *e);
void lineedit_show(struct lineedit *e);

#endif
