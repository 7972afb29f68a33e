/* SPDX-License-Identifier: MIT */
/*
 * The line editor against a terminal of one row: keys go in, and the row, the
 * cursor and the line are what they should be.
 */
#include "../test.h"
#include "ours.h"
#include "../../monitor/lineedit.c"

#define ROW 120

static struct {
	char row[ROW + 1];
	unsigned col;
	unsigned lines; /* LFs so far */
	unsigned bells;
	char all[8192]; /* everything, for lists */
	size_t n;
} screen;

/* ESC [ NUMBER FINAL at @s; its length. */
static size_t terminal_escape(const char *s)
{
	size_t i = 2;
	unsigned number = 0;

	while (char_is_digit(s[i]))
		number = number * 10 + (unsigned)(s[i++] - '0');
	if (s[i] == 'K')
		memset(screen.row + screen.col, ' ', ROW - screen.col);
	else if (s[i] == 'C')
		screen.col += number;
	else if (s[i] == 'H')
		screen.col = 0;
	else if (s[i] == 'J')
		memset(screen.row, ' ', ROW);
	else
		FAIL("escape sequence %c", s[i]);
	return i + 1;
}

static void terminal(void *arg, const char *s, size_t n)
{
	char buf[1024];

	(void)arg;
	ASSERT_LT(n, sizeof(buf));
	memcpy(buf, s, n);
	buf[n] = '\0';
	memcpy(screen.all + screen.n, s, min(n, sizeof(screen.all) - screen.n));
	screen.n += min(n, sizeof(screen.all) - screen.n);
	for (size_t i = 0; i < n;) {
		if (buf[i] == 0x1b) {
			i += terminal_escape(buf + i);
			continue;
		}
		if (buf[i] == '\r') {
			screen.col = 0;
		} else if (buf[i] == '\n') {
			screen.col = 0;
			screen.lines++;
			memset(screen.row, ' ', ROW);
		} else if (buf[i] == '\a') {
			screen.bells++;
		} else {
			ASSERT_LT(screen.col, LINEEDIT_COLUMNS);
			screen.row[screen.col++] = buf[i];
		}
		i++;
	}
}

static void words(void *arg, const char *line, lineedit_offer offer_word,
		  void *ctx)
{
	static const char *const list[] = { "peek", "probe", "probe", "probe",
					    "poweroff" };

	(void)arg;
	if (strchr(line, ' ')) {
		offer_word(ctx, "thread_sleep");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		offer_word(ctx, list[i]);
}

static struct lineedit ed;

static void begin(void)
{
	memset(&screen, 0, sizeof(screen));
	memset(screen.row, ' ', ROW);
	memset(&ed, 0, sizeof(ed));
	ed.prompt = "> ";
	ed.write = terminal;
	ed.complete = words;
	lineedit_begin(&ed);
}

/* The event of the last key. */
static enum lineedit_event keys(const char *s)
{
	enum lineedit_event event = LINEEDIT_MORE;

	while (*s)
		event = lineedit_byte(&ed, *s++);
	return event;
}

/* The row without trailing blanks, the cursor shown as '_' before its column. */
static const char *row(void)
{
	static char text[ROW + 2];
	size_t n;

	memcpy(text, screen.row, screen.col);
	text[screen.col] = '_';
	memcpy(text + screen.col + 1, screen.row + screen.col,
	       ROW - screen.col);
	n = ROW + 1;
	while (n > screen.col + 1 && text[n - 1] == ' ')
		n--;
	text[n] = '\0';
	return text;
}

#define LEFT  "\x1b[D"
#define RIGHT "\x1b[C"
#define UP    "\x1b[A"
#define DOWN  "\x1b[B"

TEST(lineedit, typed_text_is_echoed_and_returned_at_enter)
{
	begin();
	EXPECT_EQ(keys("help"), LINEEDIT_MORE);
	EXPECT_STREQ(row(), "> help_");
	EXPECT_EQ(keys("\r"), LINEEDIT_LINE);
	EXPECT_STREQ(ed.line, "help");
	EXPECT_EQ(screen.lines, 1);
}

TEST(lineedit, cr_lf_is_one_line_end_and_lf_alone_is_one)
{
	begin();
	EXPECT_EQ(keys("a\r"), LINEEDIT_LINE);
	lineedit_begin(&ed);
	EXPECT_EQ(keys("\n"), LINEEDIT_MORE);
	EXPECT_EQ(keys("b\n"), LINEEDIT_LINE);
	lineedit_begin(&ed);
	EXPECT_EQ(keys("\n"), LINEEDIT_LINE);
	EXPECT_STREQ(ed.line, "");
}

TEST(lineedit, text_is_inserted_where_the_cursor_is)
{
	begin();
	keys("help" LEFT LEFT "xy");
	EXPECT_STREQ(row(), "> hexy_lp");
	keys(RIGHT "z");
	EXPECT_STREQ(row(), "> hexylz_p");
	keys("\r");
	EXPECT_STREQ(ed.line, "hexylzp");
}

TEST(lineedit, home_end_and_their_control_keys_move_to_the_ends)
{
	static const char *const homes[] = { "\x01", "\x1b[H", "\x1b[1~",
					     "\x1b[7~", "\x1bOH" };
	static const char *const ends[] = { "\x05", "\x1b[F", "\x1b[4~",
					    "\x1b[8~", "\x1bOF" };

	for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
		begin();
		keys("abc");
		keys(homes[i]);
		EXPECT_STREQ(row(), "> _abc");
		keys(LEFT);
		EXPECT_STREQ(row(), "> _abc");
		keys(ends[i]);
		EXPECT_STREQ(row(), "> abc_");
		keys(RIGHT);
		EXPECT_STREQ(row(), "> abc_");
	}
}

TEST(lineedit, backspace_and_delete_remove_one_character)
{
	begin();
	keys("\x7f\b"
	     "abcd" LEFT "\x7f");
	EXPECT_STREQ(row(), "> ab_d");
	keys("\b");
	EXPECT_STREQ(row(), "> a_d");
	keys("\x1b[3~\x1b[3~");
	EXPECT_STREQ(row(), "> a_");
	keys(LEFT "\x04");
	EXPECT_STREQ(row(), "> _");
}

TEST(lineedit, control_keys_kill_to_the_end_to_the_start_and_a_word)
{
	begin();
	keys("one two  three");
	keys("\x17");
	EXPECT_STREQ(row(), "> one two  _");
	keys("\x17");
	EXPECT_STREQ(row(), "> one _");
	keys("xyz" LEFT LEFT "\x0b");
	EXPECT_STREQ(row(), "> one x_");
	keys(LEFT "\x15");
	EXPECT_STREQ(row(), "> _x");
	keys("\x17");
	EXPECT_STREQ(row(), "> _x");
}

TEST(lineedit, control_l_clears_the_screen_and_draws_the_line_again)
{
	begin();
	keys("abc\x0c");
	EXPECT_STREQ(row(), "> abc_");
}

TEST(lineedit, control_c_throws_the_line_away)
{
	begin();
	EXPECT_EQ(keys("abc\x03"), LINEEDIT_CANCEL);
	lineedit_begin(&ed);
	EXPECT_STREQ(row(), "> _");
	EXPECT_EQ(keys("\r"), LINEEDIT_LINE);
	EXPECT_STREQ(ed.line, "");
}

TEST(lineedit, control_d_is_the_end_only_on_an_empty_line)
{
	begin();
	EXPECT_EQ(keys("a\x04"), LINEEDIT_MORE);
	EXPECT_EQ(keys("\x7f\x04"), LINEEDIT_EOF);
}

TEST(lineedit, history_goes_back_and_forth_and_keeps_the_new_line)
{
	begin();
	keys("first\r");
	lineedit_begin(&ed);
	keys("second\r");
	lineedit_begin(&ed);
	keys("new");
	keys(UP);
	EXPECT_STREQ(row(), "> second_");
	keys(UP);
	EXPECT_STREQ(row(), "> first_");
	keys(UP);
	EXPECT_STREQ(row(), "> first_");
	EXPECT_EQ(screen.bells, 1);
	keys(DOWN DOWN);
	EXPECT_STREQ(row(), "> new_");
	keys(DOWN);
	EXPECT_EQ(screen.bells, 2);
}

TEST(lineedit, history_skips_empty_and_repeated_lines_and_forgets_the_oldest)
{
	char line[16];

	begin();
	keys("same\r");
	lineedit_begin(&ed);
	keys("same\r");
	lineedit_begin(&ed);
	keys("\r");
	EXPECT_EQ(ed.history_count, 1);
	for (int i = 0; i < LINEEDIT_HISTORY; i++) {
		lineedit_begin(&ed);
		snprintf(line, sizeof(line), "%d\r", i);
		keys(line);
	}
	lineedit_begin(&ed);
	for (int i = 0; i < LINEEDIT_HISTORY + 5; i++)
		keys("\x10");
	EXPECT_STREQ(row(), "> 0_");
	EXPECT_EQ(screen.bells, 5);
}

TEST(lineedit, a_changed_history_line_leaves_history_as_it_was)
{
	begin();
	keys("abc\r");
	lineedit_begin(&ed);
	keys(UP "d\r");
	EXPECT_STREQ(ed.line, "abcd");
	lineedit_begin(&ed);
	keys(UP UP);
	EXPECT_STREQ(row(), "> abc_");
}

TEST(lineedit, tab_completes_what_is_unique_and_adds_a_space)
{
	begin();
	keys("pee\t");
	EXPECT_STREQ(row(), "> peek _");
	keys("th\t");
	EXPECT_STREQ(row(), "> peek thread_sleep _");
	EXPECT_STREQ(ed.line, "peek thread_sleep ");
}

TEST(lineedit, tab_counts_equal_candidates_once)
{
	begin();
	keys("pr\t");
	EXPECT_STREQ(row(), "> probe _");
}

TEST(lineedit, tab_lists_what_is_ambiguous_and_keeps_the_line)
{
	begin();
	keys("p\t");
	EXPECT_STREQ(row(), "> p_");
	EXPECT_EQ(screen.lines, 2);
	screen.all[min(screen.n, sizeof(screen.all) - 1)] = '\0';
	EXPECT_TRUE(strstr(screen.all, "  peek  probe  poweroff\n"));
	keys("x\t");
	EXPECT_EQ(screen.bells, 1);
}

TEST(lineedit, tab_starts_anew_behind_a_semicolon)
{
	begin();
	keys("a;pee\t");
	EXPECT_STREQ(row(), "> a;peek _");
}

TEST(lineedit, a_long_line_scrolls_and_keeps_within_the_columns)
{
	char line[LINEEDIT_MAX + 1];

	begin();
	for (int i = 0; i < LINEEDIT_MAX; i++)
		line[i] = (char)('a' + i % 26);
	line[LINEEDIT_MAX] = '\0';
	keys(line);
	EXPECT_EQ(ed.len, LINEEDIT_MAX);
	EXPECT_EQ(screen.col, LINEEDIT_COLUMNS - 1);
	keys("!");
	EXPECT_EQ(screen.bells, 1);
	keys("\x01");
	EXPECT_EQ(screen.col, 2);
	EXPECT_MEMEQ(screen.row, "> abcdef", 8);
	keys("\x05\x7f\r");
	EXPECT_EQ(strlen(ed.line), LINEEDIT_MAX - 1);
	EXPECT_MEMEQ(ed.line, line, LINEEDIT_MAX - 1);
}

TEST(lineedit, a_line_with_refused_characters_is_no_line_until_erased)
{
	begin();
	for (int i = 0; i < LINEEDIT_MAX; i++)
		keys("a");
	EXPECT_EQ(keys("bc\r"), LINEEDIT_LONG);
	EXPECT_EQ(screen.bells, 2);
	EXPECT_EQ(ed.history_count, 0);
	lineedit_begin(&ed);
	for (int i = 0; i < LINEEDIT_MAX; i++)
		keys("a");
	EXPECT_EQ(keys("b\x7f\r"), LINEEDIT_LINE);
	lineedit_begin(&ed);
	EXPECT_EQ(keys("\r"), LINEEDIT_LINE);
}

TEST(lineedit, unknown_escape_sequences_and_bytes_do_nothing)
{
	begin();
	keys("ab\x1b[24~\x1b[1;5Q\x1bx\x1b[Z\xc3\xa4\x02");
	EXPECT_STREQ(row(), "> a_b");
}

TEST(lineedit, a_hidden_line_comes_back_as_it_was)
{
	begin();
	keys("abc" LEFT);
	lineedit_hide(&ed);
	EXPECT_STREQ(row(), "_");
	terminal(NULL, "a hit\n", 6);
	lineedit_show(&ed);
	EXPECT_STREQ(row(), "> ab_c");
	keys("x\r");
	EXPECT_STREQ(ed.line, "abxc");
}

TEST(lineedit, a_million_random_keys_leave_the_row_as_the_line_says)
{
	u64 seed = 1;

	begin();
	for (int i = 0; i < 1000000; i++) {
		static const char likely_keys[] = "\x1b[DCAB~3abc d;\t\r\n\x17";
		u64 r = random_next(&seed);
		char c = r % 4 ? likely_keys[r / 4 % (sizeof(likely_keys) - 1)]
			       : (char)(r >> 8);

		screen.n = 0;
		if (lineedit_byte(&ed, c) != LINEEDIT_MORE)
			lineedit_begin(&ed);
		ASSERT_LE(ed.pos, ed.len);
		ASSERT_EQ(strlen(ed.line), ed.len);
		ASSERT_EQ(screen.col, 2 + ed.pos - ed.left);
		ASSERT_MEMEQ(screen.row + 2, ed.line + ed.left,
			     min(ed.len - ed.left, window(&ed)));
	}
}
