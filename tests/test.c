// SPDX-License-Identifier: MIT
/*
 * Runs test cases and reports in KTAP. One case at a time; checks may come from
 * any CPU, so the count of failures is atomic and each line of output is one
 * call of test_puts().
 */
#include "test.h"
#include <lib/errno.h>
#include <lib/printf.h>
#include <lib/string.h>
#include <lib/text.h>

#define LINE_MAX_BYTES 320
/* Failed checks shown per case; a loop may make millions. */
#define FAILURES_SHOWN 5

/* Set by the linker around the section that TEST() fills. */
extern const struct test *const __start_tests[], *const __stop_tests[];
/* So that the section exists in a program without cases. */
static const struct test *const none __used __section("tests") = NULL;

/* The case that runs. */
static struct {
	unsigned failures;
	const char *skip;
	const char *todo;
} current;

static struct {
	unsigned passed, failed, skipped;
} total;

__weak void test_leak_snapshot(struct test_leaks *leaks __unused)
{
}

void test_leaks_add(struct test_leaks *leaks, const char *name, u64 in_use)
{
	if (leaks->count == TEST_LEAKS_MAX)
		return;
	leaks->item[leaks->count].name = name;
	leaks->item[leaks->count++].in_use = in_use;
}

static void __printf(1, 2) say(const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	n = min(n, (int)sizeof(line) - 2);
	/* A line of KTAP stays one, whatever text a case shows. */
	for (int i = 0; i < n; i++)
		if (!char_is_print(line[i]))
			line[i] = ' ';
	line[n++] = '\n';
	line[n] = '\0';
	test_puts(line);
}

void test_note(const char *fmt, ...)
{
	char line[LINE_MAX_BYTES - 8];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	say("# %s", line);
}

/* Counts a failure; whether it is to be shown. */
static bool note_failure(const struct test_where *where)
{
	unsigned n = __atomic_add_fetch(&current.failures, 1, __ATOMIC_RELAXED);

	if (n == FAILURES_SHOWN + 1)
		say("# more failures of this case are not shown");
	if (n > FAILURES_SHOWN)
		return false;
	say("# %s:%d: %s", where->file, where->line, where->what);
	return true;
}

void test_fail(const struct test_where *where, const char *fmt, ...)
{
	char text[LINE_MAX_BYTES - 8];
	va_list ap;

	if (!note_failure(where))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	say("#   %s", text);
}

static bool is_negative(struct test_value v)
{
	return v.is_signed && (s64)v.bits < 0;
}

/* -1, 0 or 1 by mathematical value, whatever the types. */
static int order_of(struct test_value a, struct test_value b)
{
	if (is_negative(a) != is_negative(b))
		return is_negative(a) ? -1 : 1;
	/* Two's complement keeps the order among negative numbers. */
	return a.bits < b.bits ? -1 : a.bits > b.bits;
}

static void show_value(const char *side, struct test_value v)
{
	if (is_negative(v))
		say("#   %s %lld (%#llx)", side, (s64)v.bits, v.bits);
	else
		say("#   %s %llu (%#llx)", side, v.bits, v.bits);
}

bool test_compare(const struct test_where *where, struct test_value a,
		  enum test_relation relation, struct test_value b)
{
	int order = order_of(a, b);
	bool holds = false;

	switch (relation) {
	case TEST_EQ:
		holds = order == 0;
		break;
	case TEST_NE:
		holds = order != 0;
		break;
	case TEST_LT:
		holds = order < 0;
		break;
	case TEST_LE:
		holds = order <= 0;
		break;
	case TEST_GT:
		holds = order > 0;
		break;
	case TEST_GE:
		holds = order >= 0;
		break;
	}
	if (!holds && note_failure(where)) {
		show_value("left: ", a);
		show_value("right:", b);
	}
	return holds;
}

bool test_truth(const struct test_where *where, bool value, bool wanted)
{
	if (value != wanted && note_failure(where))
		say("#   is %s", value ? "true" : "false");
	return value == wanted;
}

bool test_strings(const struct test_where *where, const char *a, const char *b)
{
	if (a && b ? !strcmp(a, b) : a == b)
		return true;
	if (note_failure(where)) {
		say("#   left:  \"%s\"", a);
		say("#   right: \"%s\"", b);
	}
	return false;
}

/* The bytes around the first that differs. */
static void show_bytes(const char *side, const u8 *p, size_t first, size_t n)
{
	char text[16 * 3 + 1];
	size_t at = 0, end = min(first + 16, n);

	for (size_t i = first; i < end; i++)
		at += scnprintf(text + at, sizeof(text) - at, " %02x", p[i]);
	say("#   %s +%zu:%s", side, first, text);
}

bool test_bytes(const struct test_where *where, const void *a, const void *b,
		size_t n)
{
	const u8 *p = a, *q = b;
	size_t i = 0;

	while (i < n && p[i] == q[i])
		i++;
	if (i == n)
		return true;
	if (note_failure(where)) {
		show_bytes("left: ", p, i, n);
		show_bytes("right:", q, i, n);
	}
	return false;
}

void test_skip(const char *reason)
{
	current.skip = reason;
}

void test_todo(const char *reason)
{
	current.todo = reason;
}

static void check_leaks(const struct test *test,
			const struct test_leaks *before,
			const struct test_leaks *after)
{
	for (unsigned i = 0; i < min(before->count, after->count); i++) {
		if (before->item[i].in_use == after->item[i].in_use)
			continue;
		test_fail(
			&(struct test_where){
				test->file, test->line,
				"as much in use after as before" },
			"%s: %llu before, %llu after", after->item[i].name,
			before->item[i].in_use, after->item[i].in_use);
	}
}

static void report(const struct test *test, unsigned number)
{
	const char *verdict = current.failures ? "not ok" : "ok";
	const char *directive = "", *reason = "";

	if (current.todo) {
		directive = " # TODO ";
		reason = current.todo;
	} else if (current.skip && !current.failures) {
		directive = " # SKIP ";
		reason = current.skip;
	}
	say("%s %u %s.%s%s%s", verdict, number, test->suite, test->name,
	    directive, reason);

	if (current.failures && !current.todo)
		total.failed++;
	else if (current.failures || current.skip)
		total.skipped++;
	else
		total.passed++;
	if (current.todo && !current.failures && !current.skip)
		say("# passes although it is noted as a known deviation");
}

static void run_one(const struct test *test, unsigned number)
{
	struct test_leaks before = { 0 }, after = { 0 };

	memset(&current, 0, sizeof(current));
	say("# running %s.%s", test->suite, test->name);
	test_leak_snapshot(&before);
	test->run();
	test_leak_snapshot(&after);
	check_leaks(test, &before, &after);
	report(test, number);
}

/* Does one of the globs, which commas separate, match the case? */
static bool is_match(const struct test *test, const char *globs)
{
	char full[LINE_MAX_BYTES / 2], glob[LINE_MAX_BYTES / 2];

	snprintf(full, sizeof(full), "%s.%s", test->suite, test->name);
	while (*globs) {
		const char *comma = strchr(globs, ',');
		size_t n = comma ? (size_t)(comma - globs) : strlen(globs);

		snprintf(glob, sizeof(glob), "%.*s", (int)n, globs);
		if (glob_match(glob, test->suite) || glob_match(glob, full))
			return true;
		globs += n + (globs[n] == ',');
	}
	return false;
}

static bool is_wanted(const struct test *test, const char *globs)
{
	if (!globs || !*globs)
		globs = "*";
	/* Suite bad fails on purpose, for tests of the runner: by name only. */
	if (!strcmp(test->suite, "bad") && strncmp(globs, "bad", 3))
		return false;
	return is_match(test, globs);
}

/* <0, 0, >0 by suite, file, line. */
static int test_order(const struct test *a, const struct test *b)
{
	int order = strcmp(a->suite, b->suite);

	if (!order)
		order = strcmp(a->file, b->file);
	return order ? order : a->line - b->line;
}

/*
 * The first wanted case behind @last, from the start if that is NULL. Each call
 * looks at all: the section is read-only, and there are hundreds, not millions.
 */
static const struct test *next_test(const struct test *last, const char *glob)
{
	const struct test *best = NULL;

	for (const struct test *const *p = __start_tests; p < __stop_tests;
	     p++) {
		if (!*p || (last && test_order(*p, last) <= 0))
			continue;
		if (best && test_order(*p, best) >= 0)
			continue;
		if (is_wanted(*p, glob))
			best = *p;
	}
	return best;
}

int tests_run(const char *glob, bool (*stop)(void))
{
	const struct test *test = NULL;
	unsigned count = 0, number = 0;
	bool stopped = false;

	memset(&total, 0, sizeof(total));
	while ((test = next_test(test, glob)))
		count++;
	say("KTAP version 1");
	say("1..%u", count);
	if (!count)
		say("# no test matches \"%s\"", glob ? glob : "*");
	while ((test = next_test(test, glob)) && !(stopped = stop && stop()))
		run_one(test, ++number);
	say("%u passed, %u failed, %u skipped", total.passed, total.failed,
	    total.skipped);
	if (stopped)
		return -EINTR;
	return count ? (int)total.failed : -ENOENT;
}

unsigned tests_find(const char *glob, const struct test **found, unsigned max)
{
	const struct test *test = NULL;
	unsigned n = 0;

	while (n < max && (test = next_test(test, glob)))
		found[n++] = test;
	return n;
}

void test_run_inside(const struct test *test)
{
	test->run();
	current.skip = current.todo = NULL;
}

int tests_list(const char *glob)
{
	const struct test *test = NULL;
	int count = 0;

	for (; (test = next_test(test, glob)); count++)
		say("%s.%s", test->suite, test->name);
	return count;
}
