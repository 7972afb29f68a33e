/* SPDX-License-Identifier: MIT */
/*
 * The monitor's commands, run as a person would type them, and what they print.
 */
#include "../test.h"
#include <kernel/heap.h>
#include <kernel/monitor.h>
#include <kernel/percpu.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <lib/text.h>
#include <probe/kprobe.h>
#include <probe/patch.h>
#include <probe/watch.h>
#include <tests/cases/budget.h>

/* What commands printed, in place of the console -------------------------- */

static char *printed;
static size_t printed_len;
#define PRINTED_MAX 16384

static void print_to_buffer(void *arg, const char *s, size_t n)
{
	(void)arg;
	n = min(n, PRINTED_MAX - 1 - printed_len);
	memcpy(printed + printed_len, s, n);
	printed_len += n;
	printed[printed_len] = '\0';
}

static bool capture_begin(void)
{
	printed = kzalloc(PRINTED_MAX);
	printed_len = 0;
	if (printed)
		monitor_output_set(print_to_buffer, NULL);
	else
		FAIL("no memory");
	return printed;
}

static void capture_end(void)
{
	monitor_output_set(NULL, NULL);
	kfree(printed);
	printed = NULL;
}

/* Runs @commands: the status is @status, and @part is printed. */
static void expect(const char *commands, int status, const char *part)
{
	if (!capture_begin())
		return;
	int got = monitor_run(commands);

	if (got != status)
		FAIL("'%s' returned %d, not %d", commands, got, status);
	if (!strstr(printed, part))
		FAIL("'%s' printed \"%s\" without \"%s\"", commands, printed,
		     part);
	capture_end();
}

/* Something to probe: called by the tests, and by nobody else. */
static __noclone int monitor_target(int a, int b)
{
	barrier();
	return a + b;
}

/* The command language ----------------------------------------------------- */

TEST(monitor, an_empty_line_is_no_error)
{
	EXPECT_EQ(monitor_run(""), 0);
	EXPECT_EQ(monitor_run("   "), 0);
	EXPECT_EQ(monitor_run(" ; ;;"), 0);
}

TEST(monitor, an_unknown_command_is_refused_with_the_nearest_ones)
{
	expect("uptme", -ENOENT, "did you mean: uptime");
	expect("quit", -ENOENT, "did you mean: poweroff");
	expect("probe remove 1", -ENOENT, "probe add, probe del, probe list");
	expect("hlep", -ENOENT, "no command 'hlep'");
	expect("probe lst", -ENOENT, "probe list");
	expect("probe", -ENOENT, "probe add, probe del, probe list");
	expect("xyzzy", -ENOENT, "'help' lists them");
}

TEST(monitor, wrong_arguments_are_refused_with_the_usage)
{
	expect("probe add", -EINVAL, "usage: probe add SYM[+OFF]|ADDR [full]");
	expect("uptime now", -EINVAL, "too much: 'now'\nusage: uptime\n");
	expect("probe add monitor_target half", -EINVAL,
	       "'half' instead of 'full'");
	expect("patch slowly", -EINVAL, "usage: patch [break|stop]");
	expect("bt zero", -EINVAL, "'zero' is no thread id");
	expect("peek monitor_target 0", -EINVAL, "'0' is no number");
	expect("sleep soon", -EINVAL, "'soon' is no number");
}

TEST(monitor, all_commands_of_a_line_run_and_the_first_error_is_returned)
{
	expect("uptme; peek 0x10; uptime", -ENOENT, "seconds\n");
	expect("uptime; peek 0x10; uptme", -EFAULT, "no command 'uptme'");
}

TEST(monitor, quotes_keep_semicolons_and_must_be_closed)
{
	expect("sym 'a;b'", -ENOENT, "no symbol 'a;b'");
	expect("sym \"open", -EINVAL, "a quote is not closed");
}

TEST(monitor, a_line_that_is_too_long_is_refused)
{
	char line[MONITOR_LINE_MAX + 20];

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\0';
	expect(line, -E2BIG, "longer than");
	expect("help a a a a a a a a a", -E2BIG, "too many words");
}

TEST(monitor, help_lists_commands_in_alphabetic_order)
{
	expect("help", 0, "probe del");
	expect("help probe", 0, "probe list");
	expect("help probe add", 0, "probe add SYM");
	expect("help probe nothing", -ENOENT, "'probe nothing'");
	expect("help nothing", -ENOENT, "no command 'nothing'");
	expect("help boot", 0, "  patch=break|stop ");
	if (!capture_begin())
		return;
	monitor_run("help");
	EXPECT_LT(strstr(printed, "  bt "), strstr(printed, "  cpus"));
	EXPECT_LT(strstr(printed, "  cpus"), strstr(printed, "  uptime"));
	capture_end();
}

/* Looking ------------------------------------------------------------------ */

TEST(monitor, sym_finds_names_addresses_and_patterns)
{
	char command[64];

	expect("sym monitor_target", 0, "t_monitor.c:monitor_target");
	expect("sym monitor_tar*", 0, "monitor_target");
	expect("sym thread_slep", -ENOENT, "no symbol 'thread_slep'");
	expect("sym no_such_*", -ENOENT, "no symbol matches");
	expect("sym 0x10", -ENOENT, "in no function");
	expect("sym monitor_target+zz", -EINVAL, "'zz' is no offset");
	expect("sym monitor_target+0x10000", -ERANGE, "has only");
	snprintf(command, sizeof(command), "sym 0x%lx",
		 (unsigned long)monitor_target);
	expect(command, 0, "monitor_target+0x0");
}

TEST(monitor, peek_shows_bytes_and_survives_unmapped_addresses)
{
	static const char text[] = "Sonde was here.";
	char command[64];

	snprintf(command, sizeof(command), "peek 0x%lx 15",
		 (unsigned long)text);
	expect(command, 0, "Sonde was here.");
	expect("peek 0x10", -EFAULT, "not mapped");
	expect("peek 0x12q4", -EINVAL, "'0x12q4' is no address");
}

TEST(monitor, ps_cpus_mem_stats_and_uptime_answer)
{
	expect("ps", 0, current->name);
	expect("cpus", 0, "online");
	expect("mem", 0, "frames");
	expect("stats", 0, "patch");
	expect("uptime", 0, "seconds");
}

TEST(monitor, bt_shows_the_running_thread_and_refuses_unknown_ones)
{
	expect("bt", 0, "cmd_bt");
	expect("bt 1000000000", -ENOENT, "no thread 1000000000");
}

TEST(monitor, patch_shows_and_changes_the_mode)
{
	enum patch_mode mode = patch_mode();

	expect("patch stop; patch", 0, "stop");
	EXPECT_EQ(patch_mode(), PATCH_STOP);
	expect("patch break; patch", 0, "break");
	EXPECT_EQ(patch_mode(), PATCH_BREAK);
	patch_mode_set(mode);
}

TEST(monitor, dis_shows_instructions_without_probes_and_why_not_to_probe)
{
	static char before[PRINTED_MAX / 4];

	if (!capture_begin())
		return;
	EXPECT_EQ(monitor_run("dis monitor_target 2"), 0);
	strscpy(before, printed, sizeof(before));
	EXPECT_EQ(monitor_run("probe add monitor_target"), 0);
	printed_len = 0;
	EXPECT_EQ(monitor_run("dis monitor_target 2"), 0);
	EXPECT_STREQ(printed, before);
	EXPECT_EQ(monitor_run("probe del all"), 0);
	capture_end();
	expect("dis trap 1", 0, "no probe: a probe hit itself runs");
	expect("dis 0x10", -EFAULT, "is not mapped");
	expect("dis trap many", -EINVAL, "usage: dis");
}

/* Sessions ----------------------------------------------------------------- */

TEST(monitor, sessions_are_opened_listed_and_closed_with_their_probes)
{
	expect("session new one 1; session list", 0, "one ");
	expect("session new one", -EEXIST, "there is a session 'one'");
	expect("session new two none", -EINVAL, "'none' is no number");
	expect("probe add monitor_target session=one kind=count", 0, "probe 1");
	expect("probe add monitor_target session=one", -EDQUOT,
	       "may not have more probes");
	EXPECT_EQ(monitor_target(1, 1), 2);
	expect("session close one", 0, "1 hit, 0 missed");
	expect("session close one", -ENOENT, "no session 'one'");
	expect("probe list", 0, "no probes");
	expect("probe add monitor_target session=one", -ENOENT, "no session");
	expect("probe add monitor_target kind=kind", -EINVAL, "null, loop");
}

TEST(monitor, a_return_probe_is_listed_and_counts_returns)
{
	expect("probe add monitor_target return", 0,
	       "probe 1 on the return of monitor_target");
	expect("probe list", 0, "monitor_target+0x0 return");
	EXPECT_EQ(monitor_target(1, 1), 2);
	expect("probe del 1", 0, "returns 0x2");
	expect("probe add monitor_main+4 return", -EINVAL,
	       "not the entry of a function");
	expect("probe add monitor_target return; probe del all", 0,
	       "0 hits, 0 missed, 0 returned, 0 skipped, 0 under way");
}

TEST(monitor, session_list_says_what_became_of_a_bad_handler)
{
	expect("session new bad; probe add monitor_target session=bad "
	       "kind=null",
	       0, "probe 1");
	EXPECT_EQ(monitor_target(1, 2), 3);
	expect("session list", 0,
	       "bad: probe on monitor_target+0x0 disabled: its handler "
	       "faulted");
	expect("session release bad; session close bad", 0, "1 hit, 0 missed");
	expect("session release bad", -ENOENT, "no session 'bad'");
}

TEST(monitor, an_endless_handler_is_refused_where_nobody_would_notice)
{
	u64 budget = probe_budget();

	ASSERT_EQ(probe_budget_set(0), 0);
	expect("budget; probe add monitor_target kind=loop", -ENODEV,
	       "without a time budget");
	expect("budget never", -EINVAL, "'never' is no number");
	if (!somebody_notices()) {
		expect("budget 5", -ENODEV, "second CPU");
		return;
	}
	expect("budget 5; budget", 0, "5 ms");
	ASSERT_EQ(probe_budget_set(budget), 0);
}

TEST(monitor, explain_says_why_not_and_how)
{
	expect("explain trap", 0, "may not be probed: a probe hit itself");
	expect("explain monitor_target", 0, "plan: ");
	expect("explain 0x10", 0, "not in the kernel's text");
	expect("explain monitor_targe", -ENOENT, "no symbol");
}

/* Probes ------------------------------------------------------------------- */

TEST(monitor, a_probe_is_added_counts_is_listed_and_removed)
{
	expect("probe add monitor_target", 0, "probe 1 on monitor_target+0x0");
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(monitor_target(i, 1), i + 1);
	expect("probe list", 0, "monitor_target+0x0");
	expect("probe del 1", 0, "3 hits, 0 missed");
	EXPECT_EQ(monitor_target(1, 1), 2);
	expect("probe del 1", -ENOENT, "no probe '1'");
}

TEST(monitor, a_hit_is_shown_with_thread_arguments_and_callers)
{
	if (!capture_begin())
		return;
	EXPECT_EQ(monitor_run("probe add monitor_target"), 0);
	monitor_target(0x1234, 0x5678);
	EXPECT_EQ(monitor_run("probe del monitor_target"), 0);
	EXPECT_TRUE(strstr(printed, "probe 1 monitor_target+0x0"));
	EXPECT_TRUE(strstr(printed, "args 0x1234 0x5678 "));
	EXPECT_TRUE(strstr(printed, current->name));
	EXPECT_TRUE(strstr(printed, "<- test_monitor_a_hit_is_shown"));
	capture_end();
}

TEST(monitor, hits_beyond_the_limit_are_counted_but_not_shown)
{
	if (!capture_begin())
		return;
	EXPECT_EQ(monitor_run("probe add monitor_target"), 0);
	for (int i = 0; i < 500; i++)
		monitor_target(i, 1);
	EXPECT_EQ(monitor_run("probe del all"), 0);
	EXPECT_TRUE(strstr(printed, "500 hits, 0 missed"));
	EXPECT_TRUE(strstr(printed, "not shown"));
	capture_end();
}

TEST(monitor, full_shows_all_registers)
{
	if (!capture_begin())
		return;
	EXPECT_EQ(monitor_run("probe add monitor_target full"), 0);
	monitor_target(1, 2);
	EXPECT_EQ(monitor_run("probe del all"), 0);
	for (unsigned i = 0; i < arch_reg_desc_count; i++)
		if (!strstr(printed, arch_reg_descs[i].name))
			FAIL("no register %s", arch_reg_descs[i].name);
	capture_end();
}

TEST(monitor, refused_probes_say_why_and_leave_nothing)
{
	static const struct {
		const char *command;
		int status;
		const char *part;
	} cases[] = {
		{ "probe add monitor_targe", -ENOENT, "no symbol" },
		{ "probe add no_such_function", -ENOENT, "no symbol" },
		{ "probe add 0x10", -EINVAL, "not in the kernel's text" },
		{ "probe add 12monkeys", -EINVAL, "is no address" },
		{ "probe add trap", -EACCES, "a probe hit itself runs" },
		{ "probe del 7", -ENOENT, "no probe '7'" },
		{ "probe del monitor_target", -ENOENT, "'probe list'" },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++)
		expect(cases[i].command, cases[i].status, cases[i].part);
	expect("probe list", 0, "no probes");
}

TEST(monitor, probes_get_numbers_and_all_are_removed_at_once)
{
	expect("probe add monitor_target; probe add thread_sleep", 0,
	       "probe 2 on thread_sleep+0x");
	expect("probe list", 0, "thread_sleep+0x");
	expect("probe del all; probe list", 0, "no probes");
	expect("probe del all", 0, "no probes");
}

TEST(monitor, a_probe_may_be_given_as_a_number)
{
	char command[64];

	snprintf(command, sizeof(command), "probe add 0x%lx",
		 (unsigned long)monitor_target);
	expect(command, 0, "monitor_target");
	monitor_target(1, 1);
	snprintf(command, sizeof(command), "probe del 0x%lx",
		 (unsigned long)monitor_target);
	expect(command, 0, "probe 1 off");
}

TEST(monitor, a_probe_is_removed_by_any_name_of_its_address)
{
	char command[80], where[48];
	struct symbol sym;
	unsigned long entry;

	ASSERT_EQ(symtab_find("monitor_target", &sym), 0);
	entry = symbol_entry(&sym);
	symtab_text(entry, where, sizeof(where));

	snprintf(command, sizeof(command),
		 "probe add monitor_target; probe del %s", where);
	expect(command, 0, "probe 1 off");
	snprintf(command, sizeof(command),
		 "probe add monitor_target; probe del monitor_target+%lu",
		 entry - sym.addr);
	expect(command, 0, "probe 1 off");
	snprintf(command, sizeof(command),
		 "probe add 0x%lx; probe del monitor_target", entry);
	expect(command, 0, "probe 1 off");
	expect("probe add monitor_target; probe del monitor_target+0x100",
	       -ENOENT, "no probe 'monitor_target+0x100'");
	expect("probe del all", 0, "probe 1 off");
}

TEST(monitor, running_out_of_memory_while_adding_leaves_nothing)
{
	int failed = 0;

	if (!capture_begin())
		return;
	for (int n = 0; n < 40; n++) {
		int status;

		heap_fail_after(n);
		status = monitor_run("probe add monitor_target");
		if (status)
			failed++;
		else
			EXPECT_EQ(monitor_run("probe del all"), 0);
	}
	heap_fail_after(-1);
	capture_end();
	EXPECT_GT(failed, 0);
	expect("probe list", 0, "no probes");
}
