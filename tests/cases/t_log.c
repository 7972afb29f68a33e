// SPDX-License-Identifier: MIT
/*
 * What printk() and kprintf() hand to the console, seen by a probe there. The
 * lines come out as comments of the report.
 */
#include <arch/regs.h>
#include <kernel/extable.h>
#include <kernel/lock.h>
#include <kernel/log.h>
#include <kernel/smp.h>
#include <lib/printf.h>
#include <lib/string.h>
#include <probe/kprobe.h>
#include <tests/cases/threads.h>

#define LONGEST 255 /* of a line, its end included */

static struct {
	char text[2 * LONGEST];
	size_t n;
	unsigned calls, odd; /* lines of the case; not whole ones */
} seen;

/* Only calls with a line of this case are looked at. */
static int look(struct kprobe *p __unused, struct pt_regs *regs)
{
	const char *s = (const char *)regs_get_kernel_argument(regs, 0);
	size_t n = regs_get_kernel_argument(regs, 1);
	char text[sizeof(seen.text)] = "";

	if (peek(text, s, min(n, sizeof(text) - 1)) < 0)
		return 0;
	if (strncmp(text, "# case", 6))
		return 0; /* a warning: a host that is busy, for one */
	__atomic_fetch_add(&seen.calls, 1, __ATOMIC_RELAXED);
	if (n == 0 || text[n - 1] != '\n' || memchr(text, '\n', n - 1))
		__atomic_fetch_add(&seen.odd, 1, __ATOMIC_RELAXED);
	memcpy(seen.text, text, sizeof(text));
	seen.n = n;
	return 0;
}

static struct kprobe probe = { .symbol_name = "console_write",
			       .pre_handler = look };

static bool look_begin(void)
{
	int err = register_kprobe(&probe);

	if (err)
		FAIL("console_write() cannot be probed: %d", err);
	memset(&seen, 0, sizeof(seen));
	return err == 0;
}

static void look_end(void)
{
	unregister_kprobe(&probe);
}

TEST(log, kprintf_hands_over_one_whole_line)
{
	if (!look_begin())
		return;
	kprintf("# case %d %s\n", 42, "whole");
	look_end();
	EXPECT_EQ(seen.calls, 1);
	EXPECT_EQ(seen.odd, 0);
	EXPECT_STREQ(seen.text, "# case 42 whole\n");
	EXPECT_EQ(seen.n, strlen("# case 42 whole\n"));
}

/* Prints a line of @len bytes, its end included. */
static void print_line(size_t len)
{
	kprintf("# case%0*d\n", (int)len - 7, 7);
}

TEST(log, a_line_that_just_fits_is_not_cut)
{
	if (!look_begin())
		return;
	print_line(LONGEST);
	look_end();
	EXPECT_EQ(seen.calls, 1);
	EXPECT_EQ(seen.n, LONGEST);
	EXPECT_EQ(seen.text[LONGEST - 2], '7');
	EXPECT_EQ(seen.odd, 0);
}

TEST(log, a_longer_line_is_cut_and_says_so)
{
	for (size_t len = LONGEST + 1; len < LONGEST + 30; len += 28) {
		if (!look_begin())
			return;
		print_line(len);
		look_end();
		EXPECT_EQ(seen.n, LONGEST);
		EXPECT_STREQ(seen.text + LONGEST - 5, "0...\n");
		EXPECT_EQ(seen.odd, 0);
	}
}

static void print_some(void *number __unused)
{
	for (unsigned i = 0; i < 3; i++)
		kprintf("# case of several CPUs\n");
}

TEST(log, lines_of_all_cpus_stay_whole)
{
	if (!look_begin())
		return;
	on_all_cpus(print_some);
	look_end();
	EXPECT_EQ(seen.calls, 3 * cpu_count);
	EXPECT_EQ(seen.odd, 0);
}

static void print_in_nmi(void *unused __unused, struct pt_regs *regs __unused)
{
	kprintf("# case in an NMI\n");
}

TEST(log, an_nmi_may_print)
{
	unsigned before = locks_held();

	EXPECT_EQ(smp_nmi_call(0, print_in_nmi, NULL), 0);
	EXPECT_EQ(locks_held(), before);
}
