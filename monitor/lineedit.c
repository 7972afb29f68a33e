/* SPDX-License-Identifier: MIT */
/*
 * The line editor. Each key changes line, len and pos, and then the line is drawn
 * again; only a character typed at the end is just echoed, so that a transcript
 * of the console reads well.
 *
 * A line longer than the screen is shown through a window that follows the
 * cursor:
 *
 *	line:	p r o b e   a d d   t h r e a d _ s l ...
 *		      ^left           ^pos
 *	screen: sonde> o b e   a d d   t h r e
 */
#include "lineedit.h"
#include <lib/string.h>
#include <lib/text.h>

#define CTRL(c) ((c) % 32)
#define ESC	0x1b
#define DELETE	0x7f

static void put(struct lineedit *e, const char *s)
{
	e->write(e->arg, s, strlen(s));
}

/* Characters of the line that fit beside the prompt, one column kept free. */
static unsigned window(const struct lineedit *e)
{
	return LINEEDIT_COLUMNS - 1 - (unsigned)strlen(e->prompt);
}

static void draw(struct lineedit *e)
{
	unsigned width = window(e);
	char move[16];

	if (e->pos < e->left)
		e->left = e->pos;
	if (e->pos > e->left + width)
		e->left = e->pos - width;

	put(e, "\r");
	put(e, e->prompt);
	e->write(e->arg, e->line + e->left, min(e->len - e->left, width));
	put(e, "\x1b[K\r");
	snprintf(move, sizeof(move), "\x1b[%uC",
		 (unsigned)strlen(e->prompt) + e->pos - e->left);
	put(e, move);
	e->shown = true;
}

void lineedit_show(struct lineedit *e)
{
	draw(e);
}

void lineedit_hide(struct lineedit *e)
{
	if (e->shown)
		put(e, "\r\x1b[K");
	e->shown = false;
}

static void set_line(struct lineedit *e, const char *s)
{
	strscpy(e->line, s, sizeof(e->line));
	e->len = e->pos = (unsigned)strlen(e->line);
	e->left = 0;
	e->refused = false;
}

void lineedit_begin(struct lineedit *e)
{
	set_line(e, "");
	e->escape = 0;
	e->history_back = 0;
	put(e, e->prompt);
	e->shown = true;
}

static void bell(struct lineedit *e)
{
	put(e, "\a");
}

/* Changing the line ---------------------------------------------------------*/

static bool insert(struct lineedit *e, const char *s, unsigned n)
{
	if (e->len + n > LINEEDIT_MAX)
		return false;
	memmove(e->line + e->pos + n, e->line + e->pos, e->len - e->pos + 1);
	memcpy(e->line + e->pos, s, n);
	e->len += n;
	e->pos += n;
	return true;
}

/* Removes the characters @from up to @to; the cursor ends up there. */
static void erase(struct lineedit *e, unsigned from, unsigned to)
{
	memmove(e->line + from, e->line + to, e->len - to + 1);
	e->len -= to - from;
	e->refused &= from == to;
	e->pos = from;
	draw(e);
}

static void type(struct lineedit *e, char c)
{
	if (!insert(e, &c, 1)) {
		e->refused = true;
		bell(e);
		return;
	}
	if (e->pos == e->len && e->len - e->left <= window(e))
		e->write(e->arg, &c, 1);
	else
		draw(e);
}

static void move_to(struct lineedit *e, unsigned pos)
{
	e->pos = pos;
	draw(e);
}

static unsigned word_start(const struct lineedit *e)
{
	unsigned i = e->pos;

	while (i > 0 && char_is_space(e->line[i - 1]))
		i--;
	while (i > 0 && !char_is_space(e->line[i - 1]))
		i--;
	return i;
}

/* History ------------------------------------------------------------------ */

static char *history_line(struct lineedit *e, unsigned back)
{
	return e->history[(e->history_count - back) % LINEEDIT_HISTORY];
}

static void history_add(struct lineedit *e)
{
	if (!e->len)
		return;
	if (e->history_count && !strcmp(history_line(e, 1), e->line))
		return;
	e->history_count++;
	strscpy(history_line(e, 1), e->line, LINEEDIT_MAX + 1);
}

static void history_go(struct lineedit *e, unsigned back)
{
	if (back > min(e->history_count, (unsigned)LINEEDIT_HISTORY)) {
		bell(e);
		return;
	}
	if (e->history_back == 0)
		strscpy(e->pending, e->line, sizeof(e->pending));
	e->history_back = back;
	set_line(e, back ? history_line(e, back) : e->pending);
	draw(e);
}

static void history_older(struct lineedit *e)
{
	history_go(e, e->history_back + 1);
}

static void history_newer(struct lineedit *e)
{
	if (e->history_back)
		history_go(e, e->history_back - 1);
	else
		bell(e);
}

/* Completion --------------------------------------------------------------- */

#define COMPLETION_MAX	64 /* bytes of a candidate that are looked at */
#define COMPLETION_SHOW 60 /* candidates listed */

struct completion {
	struct lineedit *e;
	const char *word; /* what is there of it */
	size_t word_len;
	char common[COMPLETION_MAX]; /* what all candidates begin with */
	char last[COMPLETION_MAX];
	unsigned count;
	bool list;	 /* second round: print them */
	unsigned column; /* where the list stands */
};

static void list_candidate(struct completion *c, const char *candidate)
{
	unsigned len = (unsigned)strlen(candidate);

	if (c->column && c->column + len + 2 > LINEEDIT_COLUMNS - 1) {
		put(c->e, "\n");
		c->column = 0;
	}
	put(c->e, "  ");
	put(c->e, candidate);
	c->column += len + 2;
}

static void offer(void *ctx, const char *candidate)
{
	struct completion *c = ctx;
	size_t i;

	if (strncmp(candidate, c->word, c->word_len))
		return;
	if (c->count && !strncmp(candidate, c->last, COMPLETION_MAX - 1))
		return;
	strscpy(c->last, candidate, sizeof(c->last));
	if (c->count++ == 0)
		strscpy(c->common, candidate, sizeof(c->common));
	for (i = 0; c->common[i] && c->common[i] == candidate[i]; i++)
		;
	c->common[i] = '\0';
	if (c->list && c->count <= COMPLETION_SHOW)
		list_candidate(c, candidate);
}

static void list_all(struct lineedit *e, struct completion *c, char *before)
{
	char more[32];

	*c = (struct completion){
		.e = e, .word = c->word, .word_len = c->word_len, .list = true
	};
	put(e, "\n");
	e->complete(e->arg, before, offer, c);
	if (c->count > COMPLETION_SHOW) {
		snprintf(more, sizeof(more), "  and %u more",
			 c->count - COMPLETION_SHOW);
		put(e, more);
	}
	put(e, "\n");
	draw(e);
}

static void complete(struct lineedit *e)
{
	char before[LINEEDIT_MAX + 1]; /* the line up to the cursor */
	unsigned start = e->pos;
	struct completion c = { .e = e };

	if (!e->complete)
		return;
	memcpy(before, e->line, e->pos);
	before[e->pos] = '\0';
	while (start > 0 && !char_is_space(before[start - 1]) &&
	       before[start - 1] != ';')
		start--;
	c.word = before + start;
	c.word_len = e->pos - start;

	e->complete(e->arg, before, offer, &c);
	size_t more = strlen(c.common);
	more = more > c.word_len ? more - c.word_len : 0;
	if (c.count == 0) {
		bell(e);
	} else if (c.count > 1 && more == 0) {
		list_all(e, &c, before);
	} else {
		if (!insert(e, c.common + c.word_len, (unsigned)more) ||
		    (c.count == 1 && e->pos == e->len &&
		     !strchr(c.common, '=') && !insert(e, " ", 1)))
			bell(e);
		draw(e);
	}
}

/* Keys --------------------------------------------------------------------- */

static enum lineedit_event leave(struct lineedit *e, const char *say,
				 enum lineedit_event event)
{
	if (e->pos != e->len && event == LINEEDIT_LINE)
		move_to(e, e->len);
	put(e, say);
	e->shown = false;
	return event;
}

static void control(struct lineedit *e, char c)
{
	switch (c) {
	case CTRL('A'):
		move_to(e, 0);
		break;
	case CTRL('B'):
		move_to(e, e->pos - (e->pos > 0));
		break;
	case CTRL('D'):
		erase(e, e->pos, e->pos + (e->pos < e->len));
		break;
	case CTRL('E'):
		move_to(e, e->len);
		break;
	case CTRL('F'):
		move_to(e, e->pos + (e->pos < e->len));
		break;
	case CTRL('H'):
	case DELETE:
		erase(e, e->pos - (e->pos > 0), e->pos);
		break;
	case CTRL('K'):
		erase(e, e->pos, e->len);
		break;
	case CTRL('L'):
		put(e, "\x1b[H\x1b[2J");
		draw(e);
		break;
	case CTRL('N'):
		history_newer(e);
		break;
	case CTRL('P'):
		history_older(e);
		break;
	case CTRL('U'):
		erase(e, 0, e->pos);
		break;
	case CTRL('W'):
		erase(e, word_start(e), e->pos);
		break;
	case '\t':
		complete(e);
		break;
	}
}

/* What the keys that send ESC [ LETTER, ESC O LETTER or ESC [ DIGIT ~ mean. */
static const struct {
	char letter, digit, control;
} escape_keys[] = {
	{ 'A', 0, CTRL('P') },	 /* Up */
	{ 'B', 0, CTRL('N') },	 /* Down */
	{ 'C', 0, CTRL('F') },	 /* Right */
	{ 'D', 0, CTRL('B') },	 /* Left */
	{ 'H', '1', CTRL('A') }, /* Home */
	{ 'F', '4', CTRL('E') }, /* End */
	{ 0, '7', CTRL('A') },	 { 0, '8', CTRL('E') },
	{ 0, '3', CTRL('D') }, /* Delete */
};

static void escape_end(struct lineedit *e, char c)
{
	for (size_t i = 0; i < ARRAY_SIZE(escape_keys); i++)
		if (c == '~' ? escape_keys[i].digit == e->escape_digit
			     : escape_keys[i].letter == c)
			control(e, escape_keys[i].control);
}

/* One byte of an escape sequence; false if it belongs to none. */
static bool escape(struct lineedit *e, char c)
{
	if (e->escape == 0) {
		if (c != ESC)
			return false;
		e->escape = 1;
		e->escape_digit = '?';
	} else if (e->escape == 1) {
		e->escape = c == '[' || c == 'O' ? 2 : 0;
	} else if (char_is_digit(c) || c == ';') {
		if (e->escape++ == 2)
			e->escape_digit = c;
	} else {
		e->escape = 0;
		escape_end(e, c);
	}
	return true;
}

enum lineedit_event lineedit_byte(struct lineedit *e, char c)
{
	bool after_cr = e->after_cr;

	e->after_cr = c == '\r';
	if (c == '\n' && after_cr)
		return LINEEDIT_MORE;
	if (escape(e, c))
		return LINEEDIT_MORE;

	switch (c) {
	case '\r':
	case '\n':
		if (e->refused)
			return leave(e, "\n", LINEEDIT_LONG);
		history_add(e);
		return leave(e, "\n", LINEEDIT_LINE);
	case CTRL('C'):
		return leave(e, "^C\n", LINEEDIT_CANCEL);
	case CTRL('D'):
		if (!e->len)
			return leave(e, "\n", LINEEDIT_EOF);
	}
	if (char_is_print(c))
		type(e, c);
	else
		control(e, c);
	return LINEEDIT_MORE;
}
