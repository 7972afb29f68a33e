/* SPDX-License-Identifier: MIT */
/*
 * The test framework, the same on the host and in the kernel.
 *
 *	TEST(slot, a_freed_slot_is_used_again)
 *	{
 *		struct slot *slot = slot_alloc(...);
 *
 *		ASSERT_TRUE(slot);
 *		EXPECT_EQ(slot->size, 64);
 *	}
 *
 * A case is a sentence that is true when it passes. Cases need no list: a
 * linker section collects them. EXPECT_* note a failure and go on, ASSERT_*
 * also return from the function they stand in. Both may be used on any CPU and
 * in any thread while the case runs.
 *
 * What a case takes (see test_leak_snapshot) it must have given back when it
 * returns. Output is KTAP; nothing in it depends on time or addresses of its
 * own, so two runs can be compared byte by byte.
 */
#ifndef SONDE_TESTS_TEST_H
#define SONDE_TESTS_TEST_H

#include <lib/compiler.h>

struct test {
	const char *suite;
	const char *name;
	const char *file;
	int line;
	void (*run)(void);
};

/*
 * The section holds pointers: an array of the structures themselves would have
 * holes where the compiler aligns large objects.
 */
#define TEST(suite_, name_)                                                   \
	static void test_##suite_##_##name_(void);                            \
	static const struct test test_of_##suite_##_##name_ = {               \
		#suite_, #name_, __FILE__, __LINE__, test_##suite_##_##name_, \
	};                                                                    \
	static const struct test *const test_at_##suite_##_##name_ __used     \
		__section("tests") = &test_of_##suite_##_##name_;             \
	static void test_##suite_##_##name_(void)

/*
 * Runs the cases whose `suite` or `suite.name` matches the glob, or one of
 * several with commas between; all if it is NULL or empty. Sorted by suite, then
 * file, then line. Ends with the line "N passed, N failed, N skipped" and
 * returns the number failed, or -ENOENT if nothing matches; -EINTR if @stop,
 * which may be NULL and is asked before each case, said so. Not to be called
 * twice at once.
 */
int tests_run(const char *glob, bool (*stop)(void));

/* The cases that the glob matches, in the order of tests_run(); how many. */
unsigned tests_find(const char *glob, const struct test **found, unsigned max);

/* Runs @test as a part of the case that runs: its failures are that one's. */
void test_run_inside(const struct test *test);

/* Prints the names of the cases that the glob matches; returns how many. */
int tests_list(const char *glob);

/* Where output goes, a whole line at a time. Each environment defines it. */
void test_puts(const char *line);

/*
 * What is in use, by name: frames, slots, sites, sessions, heap bytes. Taken
 * before and after each case; a difference fails the case. The weak default
 * takes nothing. The kernel's should first let deferred frees finish.
 */
#define TEST_LEAKS_MAX 24

struct test_leaks {
	unsigned count;
	struct {
		const char *name;
		u64 in_use;
	} item[TEST_LEAKS_MAX];
};

void test_leak_snapshot(struct test_leaks *leaks);
void test_leaks_add(struct test_leaks *leaks, const char *name, u64 in_use);

/* Ends the case as skipped, with a reason that says what was missing. */
#define SKIP(reason)               \
	do {                       \
		test_skip(reason); \
		return;            \
	} while (0)

/*
 * From here on failures of this case are a known deviation if @cond: "not ok
 * ... # TODO reason", counted as skipped. A pass counts as passed and says that
 * the note can go.
 */
#define TODO_IF(cond, reason)              \
	do {                               \
		if (cond)                  \
			test_todo(reason); \
	} while (0)

/* Fails the case with a message, and goes on. */
#define FAIL(...) test_fail(&TEST_WHERE("FAIL"), __VA_ARGS__)
/* A diagnostic line that is no failure. */
void test_note(const char *fmt, ...) __printf(1, 2);

#define EXPECT_EQ(a, b)	      ((void)TEST_COMPARE("EXPECT_EQ", a, TEST_EQ, b))
#define EXPECT_NE(a, b)	      ((void)TEST_COMPARE("EXPECT_NE", a, TEST_NE, b))
#define EXPECT_LT(a, b)	      ((void)TEST_COMPARE("EXPECT_LT", a, TEST_LT, b))
#define EXPECT_LE(a, b)	      ((void)TEST_COMPARE("EXPECT_LE", a, TEST_LE, b))
#define EXPECT_GT(a, b)	      ((void)TEST_COMPARE("EXPECT_GT", a, TEST_GT, b))
#define EXPECT_GE(a, b)	      ((void)TEST_COMPARE("EXPECT_GE", a, TEST_GE, b))
#define EXPECT_TRUE(a)	      ((void)TEST_TRUTH("EXPECT_TRUE", a, true))
#define EXPECT_FALSE(a)	      ((void)TEST_TRUTH("EXPECT_FALSE", a, false))
#define EXPECT_STREQ(a, b)    ((void)TEST_STRINGS("EXPECT_STREQ", a, b))
#define EXPECT_MEMEQ(a, b, n) ((void)TEST_BYTES("EXPECT_MEMEQ", a, b, n))

#define ASSERT_EQ(a, b)	      TEST_ASSERT(TEST_COMPARE("ASSERT_EQ", a, TEST_EQ, b))
#define ASSERT_NE(a, b)	      TEST_ASSERT(TEST_COMPARE("ASSERT_NE", a, TEST_NE, b))
#define ASSERT_LT(a, b)	      TEST_ASSERT(TEST_COMPARE("ASSERT_LT", a, TEST_LT, b))
#define ASSERT_LE(a, b)	      TEST_ASSERT(TEST_COMPARE("ASSERT_LE", a, TEST_LE, b))
#define ASSERT_GT(a, b)	      TEST_ASSERT(TEST_COMPARE("ASSERT_GT", a, TEST_GT, b))
#define ASSERT_GE(a, b)	      TEST_ASSERT(TEST_COMPARE("ASSERT_GE", a, TEST_GE, b))
#define ASSERT_TRUE(a)	      TEST_ASSERT(TEST_TRUTH("ASSERT_TRUE", a, true))
#define ASSERT_FALSE(a)	      TEST_ASSERT(TEST_TRUTH("ASSERT_FALSE", a, false))
#define ASSERT_STREQ(a, b)    TEST_ASSERT(TEST_STRINGS("ASSERT_STREQ", a, b))
#define ASSERT_MEMEQ(a, b, n) TEST_ASSERT(TEST_BYTES("ASSERT_MEMEQ", a, b, n))

/* What the macros above are made of. */

struct test_where {
	const char *file;
	int line;
	const char *what; /* the check as it stands in the source */
};

/* An integer or pointer operand with its sign: -1 and ~0u are not equal. */
struct test_value {
	u64 bits;
	bool is_signed;
};

enum test_relation { TEST_EQ, TEST_NE, TEST_LT, TEST_LE, TEST_GT, TEST_GE };

#define TEST_WHERE(what) ((const struct test_where){ __FILE__, __LINE__, what })

#define TEST_VALUE(x)                                              \
	((struct test_value){ (u64)(x),                            \
			      _Generic((x) + 0, int : 1, long : 1, \
				       long long : 1, default : 0) })

#define TEST_COMPARE(macro, a, relation, b)                                \
	test_compare(&TEST_WHERE(macro "(" #a ", " #b ")"), TEST_VALUE(a), \
		     relation, TEST_VALUE(b))
#define TEST_TRUTH(macro, a, wanted) \
	test_truth(&TEST_WHERE(macro "(" #a ")"), !!(a), wanted)
#define TEST_STRINGS(macro, a, b) \
	test_strings(&TEST_WHERE(macro "(" #a ", " #b ")"), a, b)
#define TEST_BYTES(macro, a, b, n) \
	test_bytes(&TEST_WHERE(macro "(" #a ", " #b ", " #n ")"), a, b, n)
#define TEST_ASSERT(check)      \
	do {                    \
		if (!(check))   \
			return; \
	} while (0)

bool test_compare(const struct test_where *where, struct test_value a,
		  enum test_relation relation, struct test_value b);
bool test_truth(const struct test_where *where, bool value, bool wanted);
bool test_strings(const struct test_where *where, const char *a, const char *b);
bool test_bytes(const struct test_where *where, const void *a, const void *b,
		size_t n);
void test_fail(const struct test_where *where, const char *fmt, ...)
	__printf(2, 3);
void test_skip(const char *reason);
void test_todo(const char *reason);

#endif
