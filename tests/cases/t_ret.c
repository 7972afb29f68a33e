// SPDX-License-Identifier: MIT
/*
 * Return probes: what their handlers see, on functions of all kinds, alone and in
 * company. What becomes of calls that do not return is in t_ret_gone.c.
 */
#include <kernel/symtab.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/kretprobe.h>
#include <probe/session.h>
#include <tests/cases/ret.h>
#include <tests/cases/ret_area.h>
#include <tests/cases/threads.h>

/* In the order in which things happened: what, and a return value. */
#define EVENTS 64
static struct {
	const void *who;
	long value;
} events[EVENTS];
static unsigned nr_events;

static void note(const void *who, long value)
{
	if (nr_events < EVENTS) {
		events[nr_events].who = who;
		events[nr_events].value = value;
	}
	nr_events++;
}

static int on_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	note(get_kretprobe(ri), (long)regs_return_value(regs));
	return 0;
}

static int on_call(struct kprobe *p, struct pt_regs *regs)
{
	note(p, (long)regs_get_kernel_argument(regs, 0));
	return 0;
}

#define RETURN(f)                                         \
	{                                                 \
		.kp.symbol_name = f, .handler = on_return \
	}
#define ENTRY(f)                                         \
	{                                                \
		.symbol_name = f, .pre_handler = on_call \
	}

static __noclone long ret_plain(long x)
{
	return x * 3;
}

/* All entered calls of @rp have returned, @n of them. */
static void expect_returned(const struct kretprobe *rp, u64 n)
{
	struct kretprobe_counts c;

	kretprobe_counts(rp, &c);
	EXPECT_EQ(c.entered, n);
	EXPECT_EQ(c.returned, n);
	EXPECT_EQ(c.skipped, 0);
	EXPECT_EQ(c.outstanding, 0);
}

TEST_BOTH(the_handler_sees_the_return_value_and_the_caller)
{
	struct kretprobe rp = RETURN("ret_plain");

	nr_events = 0;
	ASSERT_EQ(ret_register(&rp), 0);
	for (long i = 0; i < 3; i++)
		EXPECT_EQ(ret_plain(i), i * 3);
	EXPECT_EQ(nr_events, 3);
	for (long i = 0; i < 3; i++)
		EXPECT_EQ(events[i].value, i * 3);
	expect_returned(&rp, 3);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	expect_returned(&rp, 3);
	EXPECT_EQ(ret_plain(4), 12);
	EXPECT_EQ(nr_events, 3);
	EXPECT_EQ(rp.nmissed, 0);
}

static unsigned long seen_pc, seen_sp, told_pc;

static int look(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	seen_pc = instruction_pointer(regs);
	seen_sp = kernel_stack_pointer(regs);
	told_pc = ri->ret_addr;
	return 0;
}

static __noclone long ret_caller_of_plain(long x)
{
	return ret_plain(x) + 1;
}

TEST_BOTH(the_registers_are_those_of_the_caller)
{
	struct kretprobe rp = { .kp.symbol_name = "ret_plain",
				.handler = look };
	unsigned long here = (unsigned long)__builtin_frame_address(0);
	struct symbol sym;

	ASSERT_EQ(ret_register(&rp), 0);
	EXPECT_EQ(ret_caller_of_plain(2), 7);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	EXPECT_EQ(seen_pc, told_pc);
	ASSERT_EQ(symtab_lookup(seen_pc, &sym), 0);
	EXPECT_STREQ(sym.name, "ret_caller_of_plain");
	EXPECT_LT(seen_sp, here + 256);
	EXPECT_GT(seen_sp, here - 1024);
}

static int change_value(struct kretprobe_instance *ri __unused,
			struct pt_regs *regs)
{
	regs_return_value_set(regs, regs_return_value(regs) + 1000);
	instruction_pointer_set(regs, 1); /* without effect */
	return 0;
}

TEST_BOTH(a_changed_return_value_reaches_the_caller)
{
	struct kretprobe rp = { .kp.symbol_name = "ret_plain",
				.handler = change_value };

	ASSERT_EQ(ret_register(&rp), 0);
	EXPECT_EQ(ret_plain(5), 1015);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	EXPECT_EQ(ret_plain(5), 15);
}

static long call_plain(void)
{
	return ret_plain(1);
}

TEST_BOTH(the_callers_registers_are_kept)
{
	struct kretprobe rp = RETURN("ret_plain");

	ASSERT_EQ(ret_register(&rp), 0);
	for (unsigned i = 0; i < 10; i++)
		EXPECT_EQ(ret_keeps(call_plain), 0);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
}

TEST_BOTH(interrupts_stay_as_they_are)
{
	struct kretprobe rp = RETURN("ret_plain");
	unsigned long flags;

	ASSERT_EQ(ret_register(&rp), 0);
	ret_plain(1);
	EXPECT_FALSE(arch_irqs_disabled());
	flags = arch_irq_save();
	ret_plain(1);
	EXPECT_TRUE(arch_irqs_disabled());
	arch_irq_restore(flags);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
}

/* Company ------------------------------------------------------------------------ */

TEST_BOTH(entry_and_return_probes_need_and_disturb_each_other_in_no_order)
{
	struct kprobe kp = ENTRY("ret_plain");
	struct kretprobe rp = RETURN("ret_plain");

	for (unsigned order = 0; order < 4; order++) {
		nr_events = 0;
		ASSERT_EQ(order & 1 ? register_kprobe(&kp) : ret_register(&rp),
			  0);
		ret_plain(1);
		ASSERT_EQ(order & 1 ? ret_register(&rp) : register_kprobe(&kp),
			  0);
		EXPECT_EQ(ret_plain(2), 6);
		ASSERT_EQ(order & 2 ? unregister_kprobe(&kp)
				    : unregister_kretprobe(&rp),
			  0);
		ret_plain(3);
		ASSERT_EQ(order & 2 ? unregister_kretprobe(&rp)
				    : unregister_kprobe(&kp),
			  0);
		ret_plain(4);
		ASSERT_EQ(nr_events, 4);
		EXPECT_EQ(events[1].who, &kp);
		EXPECT_EQ(events[2].who, &rp);
		EXPECT_EQ(events[2].value, 6);
	}
}

TEST(ret, a_pair_is_registered_and_removed_in_one_call)
{
	struct kprobe kp = ENTRY("ret_plain");
	struct kretprobe rp = RETURN("ret_plain");

	nr_events = 0;
	ASSERT_EQ(register_kprobe_pair(&kp, &rp), 0);
	EXPECT_EQ(register_kprobe_pair(&kp, &rp), -EBUSY);
	ret_plain(2);
	EXPECT_EQ(nr_events, 2);
	EXPECT_EQ(unregister_kprobe_pair(&kp, &rp), 0);
	ret_plain(2);
	EXPECT_EQ(nr_events, 2);
	/* Both or neither. */
	rp.kp.symbol_name = "no_such_function";
	EXPECT_EQ(register_kprobe_pair(&kp, &rp), -ENOENT);
	ret_plain(2);
	EXPECT_EQ(nr_events, 2);
}

TEST_BOTH(probes_of_one_function_return_in_the_reverse_order)
{
	static struct kretprobe a = RETURN("ret_plain"),
				b = RETURN("ret_plain"),
				c = RETURN("ret_plain");
	struct kretprobe *all[] = { &a, &b, &c };
	struct kprobe kp = ENTRY("ret_plain");

	ASSERT_EQ(ret_register_all(all, 3), 0);
	ASSERT_EQ(register_kprobe(&kp), 0);
	for (long i = 0; i < 3; i++) {
		nr_events = 0;
		EXPECT_EQ(ret_plain(i), i * 3);
		ASSERT_EQ(nr_events, 4);
		EXPECT_EQ(events[0].who, &kp);
		EXPECT_EQ(events[1].who, &c);
		EXPECT_EQ(events[2].who, &b);
		EXPECT_EQ(events[3].who, &a);
	}
	EXPECT_EQ(disable_kretprobe(&b), 0);
	nr_events = 0;
	EXPECT_EQ(ret_plain(1), 3);
	EXPECT_EQ(nr_events, 3);
	EXPECT_EQ(enable_kretprobe(&b), 0);
	EXPECT_EQ(unregister_kprobe(&kp), 0);
	EXPECT_EQ(unregister_kretprobes(all, 3), 0);
	expect_returned(&a, 4);
	expect_returned(&b, 3);
}

/* Entry handlers and data -------------------------------------------------------- */

struct cookie {
	long argument;
	unsigned long thread;
};

static unsigned long wrong_cookies, right_cookies;

static int odd_declines(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	struct cookie *cookie = (struct cookie *)ri->data;
	long x = (long)regs_get_kernel_argument(regs, 0);

	cookie->argument = x;
	cookie->thread = (unsigned long)current;
	return x & 1;
}

static int check_cookie(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	const struct cookie *cookie = (const struct cookie *)ri->data;
	bool right = cookie->argument * 3 == (long)regs_return_value(regs) &&
		     cookie->thread == (unsigned long)current &&
		     !(cookie->argument & 1);

	__atomic_fetch_add(right ? &right_cookies : &wrong_cookies, 1,
			   __ATOMIC_RELAXED);
	return 0;
}

#define COOKIE_CALLS 2000

static void call_many(void *arg __unused)
{
	for (long i = 0; i < COOKIE_CALLS; i++)
		ret_plain(i);
}

TEST_BOTH(an_entry_handler_may_decline_and_data_are_the_calls_own)
{
	struct kretprobe rp = { .kp.symbol_name = "ret_plain",
				.entry_handler = odd_declines,
				.handler = check_cookie,
				.data_size = sizeof(struct cookie) };
	struct thread *threads[MAX_CPUS];
	u64 half = COOKIE_CALLS / 2 * cpu_count;

	right_cookies = wrong_cookies = 0;
	ASSERT_EQ(ret_register(&rp), 0);
	for (unsigned i = 0; i < cpu_count; i++)
		threads[i] = start_on(i, call_many, NULL);
	for (unsigned i = 0; i < cpu_count; i++)
		join(threads[i]);
	EXPECT_EQ(wrong_cookies, 0);
	EXPECT_EQ(right_cookies, half);
	expect_returned(&rp, half);
	EXPECT_EQ(rp.kp.nhit, half * 2);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	EXPECT_EQ(rp.nmissed, 0);
}

static int stamp(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	memset(ri->data, (int)regs_get_kernel_argument(regs, 0),
	       get_kretprobe(ri)->data_size);
	return 0;
}

static int check_stamp(struct kretprobe_instance *ri,
		       struct pt_regs *regs __unused)
{
	size_t n = get_kretprobe(ri)->data_size;

	for (size_t i = 1; i < n; i++)
		wrong_cookies += ri->data[i] != ri->data[0];
	note(get_kretprobe(ri), ri->data[0]);
	return 0;
}

static __noclone long ret_deep(long n)
{
	long below = n == 0 ? -1 : ret_deep(n - 1);

	barrier(); /* no loop */
	return below + 1;
}

TEST_BOTH(data_of_any_size_survive_the_calls_within)
{
	struct kretprobe a = { .kp.symbol_name = "ret_deep",
			       .entry_handler = stamp,
			       .handler = check_stamp,
			       .data_size = 1 };
	struct kretprobe b = a;

	b.data_size = 77;
	nr_events = 0;
	wrong_cookies = 0;
	ASSERT_EQ(ret_register(&a), 0);
	ASSERT_EQ(ret_register(&b), 0);
	EXPECT_EQ(ret_deep(4), 4);
	EXPECT_EQ(unregister_kretprobe(&a), 0);
	EXPECT_EQ(unregister_kretprobe(&b), 0);
	EXPECT_EQ(wrong_cookies, 0);
	ASSERT_EQ(nr_events, 10);
	for (unsigned i = 0; i < 10; i++) {
		EXPECT_EQ(events[i].who, i % 2 ? &a : &b);
		EXPECT_EQ(events[i].value, i / 2);
	}
}

/* Functions of all kinds --------------------------------------------------------- */

TEST_BOTH(every_level_of_a_recursion_returns_in_order)
{
	struct kretprobe rp = RETURN("ret_deep");

	nr_events = 0;
	ASSERT_EQ(ret_register(&rp), 0);
	EXPECT_EQ(ret_deep(20), 20);
	EXPECT_EQ(ret_deep(3), 3);
	ASSERT_EQ(nr_events, 25);
	for (long i = 0; i <= 20; i++)
		EXPECT_EQ(events[i].value, i);
	for (long i = 0; i <= 3; i++)
		EXPECT_EQ(events[21 + i].value, i);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
}

TEST_BOTH(a_level_that_was_missed_does_not_shift_the_others)
{
	struct kretprobe rp = RETURN("ret_deep");

	nr_events = 0;
	rp.maxactive = 8;
	ASSERT_EQ(ret_register(&rp), 0);
	EXPECT_EQ(ret_deep(20), 20);
	EXPECT_EQ(rp.nmissed, 13);
	ASSERT_EQ(nr_events, 8);
	for (long i = 0; i < 8; i++)
		EXPECT_EQ(events[i].value, 13 + i);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
}

static __noclone long ret_ping(long n);

static __noclone long ret_pong(long n)
{
	return n == 0 ? 100 : ret_ping(n - 1) + 1;
}

static __noclone long ret_ping(long n)
{
	return n == 0 ? 200 : ret_pong(n - 1) + 1;
}

TEST_BOTH(functions_that_call_each_other_return_in_order)
{
	struct kretprobe ping = RETURN("ret_ping"), pong = RETURN("ret_pong");
	struct kretprobe *both[] = { &ping, &pong };

	nr_events = 0;
	ASSERT_EQ(ret_register_all(both, 2), 0);
	EXPECT_EQ(ret_ping(5), 105);
	ASSERT_EQ(nr_events, 6);
	for (unsigned i = 0; i < 6; i++) {
		EXPECT_EQ(events[i].who, i % 2 ? &ping : &pong);
		EXPECT_EQ(events[i].value, 100 + i);
	}
	EXPECT_EQ(unregister_kretprobes(both, 2), 0);
}

TEST_BOTH(a_tail_call_returns_from_both_functions)
{
	struct kretprobe f = RETURN("ret_tail"), g = RETURN("ret_tail_end");
	struct kretprobe *both[] = { &f, &g };

	ASSERT_EQ(ret_register_all(both, 2), 0);
	for (long i = 0; i < 3; i++) {
		nr_events = 0;
		EXPECT_EQ(ret_tail(i), i + 1);
		ASSERT_EQ(nr_events, 2);
		EXPECT_EQ(events[0].who, &g);
		EXPECT_EQ(events[1].who, &f);
		EXPECT_EQ(events[0].value, i + 1);
		EXPECT_EQ(events[1].value, i + 1);
	}
	EXPECT_EQ(ret_tail_end(7), 8);
	EXPECT_EQ(unregister_kretprobes(both, 2), 0);
	expect_returned(&f, 3);
	expect_returned(&g, 4);
}

TEST(ret, a_loop_back_to_the_entry_is_a_tail_call_of_itself)
{
	struct kretprobe rp = RETURN("ret_loop");

	nr_events = 0;
	ASSERT_EQ(ret_register(&rp), 0);
	EXPECT_EQ(ret_loop(5), 7);
	EXPECT_EQ(nr_events, 6);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	expect_returned(&rp, 6);
}

TEST_BOTH(functions_without_a_frame_return_early)
{
	struct kretprobe rp = RETURN("ret_early");

	nr_events = 0;
	ASSERT_EQ(ret_register(&rp), 0);
	for (long i = 0; i < 4; i++)
		EXPECT_EQ(ret_early(i & 1), 1 + (i & 1));
	EXPECT_EQ(nr_events, 4);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	expect_returned(&rp, 4);
}

TEST_BOTH(functions_may_pop_their_arguments)
{
	struct kretprobe rp = RETURN("ret_pops_callee");

	nr_events = 0;
	ASSERT_EQ(ret_register(&rp), 0);
	EXPECT_EQ(ret_pops(), 3);
	EXPECT_EQ(ret_pops(), 3);
	EXPECT_EQ(nr_events, 2);
	EXPECT_EQ(unregister_kretprobe(&rp), 0);
	expect_returned(&rp, 2);
}

TEST(ret, calls_through_a_pointer_are_seen_however_the_function_is_named)
{
	long (*volatile pointer)(long) = ret_plain;
	static struct kretprobe rp[] = {
		{ .kp.symbol_name = "ret_plain", .handler = on_return },
		{ .kp.symbol_name = "ret_plain+0", .handler = on_return },
		{ .kp.addr = (unsigned long)ret_plain, .handler = on_return },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rp); i++) {
		nr_events = 0;
		ASSERT_EQ(ret_register(&rp[i]), 0);
		EXPECT_EQ(pointer(2), 6);
		EXPECT_EQ(ret_plain(3), 9);
		EXPECT_EQ(nr_events, 2);
		EXPECT_EQ(unregister_kretprobe(&rp[i]), 0);
	}
}

/* Refusals ------------------------------------------------------------------------- */

static void expect_refused(struct kretprobe rp, int error)
{
	EXPECT_EQ(ret_register(&rp), error);
	EXPECT_NE(kprobe_reason()[0], 0);
}

TEST(ret, what_cannot_be_a_return_probe_is_refused)
{
	struct kretprobe rp = RETURN("ret_plain+4");

	expect_refused(rp, -EINVAL);
	rp = (struct kretprobe)RETURN("setjmp");
	expect_refused(rp, -EOPNOTSUPP);
	rp = (struct kretprobe)RETURN("ret_trampoline");
	expect_refused(rp, -EACCES);
	rp = (struct kretprobe)RETURN("ret_plain");
	rp.data_size = KRETPROBE_DATA_MAX + 1;
	expect_refused(rp, -EINVAL);
	rp = (struct kretprobe)RETURN("ret_plain");
	rp.handler = NULL;
	rp.entry_handler = on_return;
	expect_refused(rp, -EINVAL);
	EXPECT_EQ(unregister_kretprobe(&rp), -EINVAL);
}
