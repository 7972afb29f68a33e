/* SPDX-License-Identifier: MIT */
/*
 * Jumps over several instructions, and tasks that are inside while they come and
 * go: preempted, asleep in a callee, or running through on all CPUs.
 */
#include "../threads.h"
#include "region_area.h"
#include <kernel/smp.h>
#include <kernel/vm.h>
#include <probe/explain.h>
#include <probe/patch.h>

/* Tasks inside -------------------------------------------------------------------- */

static bool over;

/* Has its CPU be shared, so that whoever is on it is preempted. */
static void hog(void *arg __unused)
{
	while (!READ_ONCE(over))
		cpu_relax();
}

#define SLOW_PAGES 256 /* bytes that take many time slices */

struct slow {
	long (*fn)(long a, long b);
	long result;
	bool done;
};

static void *slow_bytes;

static void run_slowly(void *arg)
{
	struct slow *slow = arg;

	slow->result = slow->fn((long)slow_bytes, SLOW_PAGES * PAGE_SIZE);
	store_release(&slow->done, true);
}

static bool is_preempted_at(struct thread *t, unsigned long where)
{
	unsigned long pc;

	return sched_whereabouts(t, &pc) == THREAD_PREEMPTED && pc == where;
}

static bool is_preempted_in_detour(struct thread *t, unsigned long site)
{
	unsigned long pc;
	const struct exec *x;

	if (sched_whereabouts(t, &pc) != THREAD_PREEMPTED)
		return false;
	x = exec_at(pc);
	return x && x->detour && x->site->addr == site;
}

/* Keeps a thread of its CPU where it is preempted, if that is @at. */
struct keeper {
	struct thread *thread;
	unsigned long at;
	bool has, over;
};

static void keep(void *arg)
{
	struct keeper *k = arg;

	while (!READ_ONCE(k->has) && !READ_ONCE(k->over)) {
		preempt_disable();
		if (is_preempted_at(k->thread, k->at)) {
			store_release(&k->has, true);
			while (!READ_ONCE(k->over))
				cpu_relax();
		}
		preempt_enable();
	}
}

/* Somebody stays at @at + @n until told to go; then nobody asks for the jump. */
static void keep_inside(const struct call *c, unsigned n)
{
	struct kprobe p = probe_of(c->at);
	struct slow slow = { .fn = c->fn };
	struct keeper keeper = { .at = inside(c->at, n) };
	struct thread *t = start_on(last_cpu(), run_slowly, &slow), *k;
	char told[512];

	keeper.thread = t;
	k = start_on(last_cpu(), keep, &keeper);
	WAIT_FOR(load_acquire(&keeper.has));
	opt_wish(JUMP_REGION);
	EXPECT_EQ(register_kprobe(&p), 0);
	for (unsigned i = 0; i < 2; i++) {
		EXPECT_EQ(opt_sync(), 0);
		EXPECT_FALSE(is_region(p.addr));
	}
	EXPECT_EQ(probe_explain(p.addr, told, sizeof(told)), 0);
	EXPECT_TRUE(strstr(told, "\n  not jump: somebody stays where the jump "
				 "would be\n"));
	WRITE_ONCE(keeper.over, true);
	join(k);
	join(t);
	EXPECT_EQ(slow.result, n);
	EXPECT_EQ(p.nhit, 0);
	WAIT_FOR(is_region(p.addr));
	EXPECT_EQ(c->fn((long)few, 1), n);
	EXPECT_EQ(p.nhit, 1);
	remove_region(&p);
}

/* It is in the detour, at the instruction that has moved there. */
static void keep_in_detour(const struct call *c, unsigned n)
{
	struct kprobe p = probe_of(c->at);
	struct kprobe in = { .addr = inside(c->at, 1), .pre_handler = see };
	struct slow slow = { .fn = c->fn };
	struct thread *t;

	make_region(&p);
	t = start_on(last_cpu(), run_slowly, &slow);
	WAIT_FOR(is_preempted_in_detour(t, p.addr));
	EXPECT_EQ(register_kprobe(&in), 0);
	/* Else it would have missed the probe. */
	EXPECT_TRUE(load_acquire(&slow.done) ||
		    !is_preempted_in_detour(t, p.addr));
	EXPECT_FALSE(is_region(p.addr));
	join(t);
	EXPECT_EQ(slow.result, n);
	EXPECT_EQ(p.nhit, 1);
	EXPECT_EQ(in.nhit, 0); /* behind it already */
	EXPECT_EQ(c->fn((long)few, 1), n);
	EXPECT_EQ(in.nhit, 1);
	EXPECT_EQ(unregister_kprobe(&in), 0);
	remove_region(&p);
}

static unsigned nr_ends;

static void see_end(struct kprobe *p __unused, struct pt_regs *regs __unused,
		    unsigned long flags __unused)
{
	nr_ends++;
}

/* ... and somebody comes who would know when the first instruction has run. */
static void keep_in_detour_from_ends(const struct call *c, unsigned n)
{
	struct kprobe p = probe_of(c->at), post = probe_of(c->at);
	struct slow slow = { .fn = c->fn };
	struct thread *t;

	nr_ends = 0;
	post.post_handler = see_end;
	make_region(&p);
	t = start_on(last_cpu(), run_slowly, &slow);
	WAIT_FOR(is_preempted_in_detour(t, p.addr));
	EXPECT_EQ(register_kprobe(&post), 0);
	EXPECT_FALSE(is_region(p.addr));
	EXPECT_FALSE(is_preempted_in_detour(t, p.addr));
	EXPECT_EQ(c->fn((long)few, 1), n);
	EXPECT_EQ(nr_ends, 1);
	join(t);
	EXPECT_EQ(slow.result, n);
	EXPECT_EQ(post.nhit, 1);
	EXPECT_EQ(nr_ends, 1);
	EXPECT_EQ(unregister_kprobe(&post), 0);
	EXPECT_EQ(p.nhit, 2);
	remove_region(&p);
}

static const struct call *const slow_calls = &calls[ARRAY_SIZE(calls) - 4];

static void with_hogs(void (*fn)(const struct call *c, unsigned n),
		      enum patch_mode mode)
{
	enum patch_mode before = patch_mode();
	struct thread *hogs[3];

	if (cpu_count < 2)
		SKIP("one CPU is long in coming to see where who is preempted");
	slow_bytes = vm_alloc(SLOW_PAGES, VM_READ | VM_WRITE);
	ASSERT_TRUE(slow_bytes);
	over = false;
	patch_mode_set(mode);
	for (unsigned i = 0; i < ARRAY_SIZE(hogs); i++)
		hogs[i] = start_on(last_cpu(), hog, NULL);
	for (unsigned n = 1; n <= 4; n++)
		fn(&slow_calls[n - 1], n);
	WRITE_ONCE(over, true);
	for (unsigned i = 0; i < ARRAY_SIZE(hogs); i++)
		join(hogs[i]);
	patch_mode_set(before);
	vm_free(slow_bytes);
}

TEST(region_tasks, it_comes_by_itself_once_nobody_is_inside_by_break)
{
	with_hogs(keep_inside, PATCH_BREAK);
}

TEST(region_tasks, it_comes_by_itself_once_nobody_is_inside_by_stop)
{
	with_hogs(keep_inside, PATCH_STOP);
}

TEST(region_tasks, who_is_in_its_detour_is_waited_for_by_break)
{
	with_hogs(keep_in_detour, PATCH_BREAK);
}

TEST(region_tasks, who_is_in_its_detour_is_waited_for_by_stop)
{
	with_hogs(keep_in_detour, PATCH_STOP);
}

TEST(region_tasks, who_is_in_its_detour_does_not_hide_an_end)
{
	with_hogs(keep_in_detour_from_ends, PATCH_BREAK);
}

/* Tasks that come back ------------------------------------------------------------ */

struct sleeper {
	unsigned long
		like_a_return[2]; /* on its stack, both ends of a region */
	bool asleep, wake;
	long result;
};

static struct sleeper *sleeper;

static long sleep(void)
{
	store_release(&sleeper->asleep, true);
	while (!load_acquire(&sleeper->wake))
		thread_sleep(NSEC_PER_MSEC);
	return 30;
}

static void run_sleeper(void *arg)
{
	struct sleeper s = {
		.like_a_return = { inside(region_sleeps_at, 1),
				   inside(region_fine_at, 1) },
	};

	WRITE_ONCE(*(struct sleeper **)arg, &s);
	s.result = region_sleeps((long)sleep, 4);
	EXPECT_EQ(s.result, 34);
	EXPECT_EQ(s.like_a_return[1], inside(region_fine_at, 1));
}

static struct thread *start_sleeper(void)
{
	struct thread *t;

	sleeper = NULL;
	t = start_on(last_cpu(), run_sleeper, &sleeper);
	WAIT_FOR(READ_ONCE(sleeper) && load_acquire(&sleeper->asleep));
	return t;
}

static void wake(struct thread *t)
{
	store_release(&sleeper->wake, true);
	join(t);
}

TEST(region_tasks, a_callee_may_sleep_while_it_comes)
{
	struct kprobe p = probe_of(region_sleeps_at);
	struct thread *t = start_sleeper();

	make_region(&p);
	wake(t);
	EXPECT_EQ(p.nhit, 0);
	remove_region(&p);
}

TEST(region_tasks, a_callee_may_sleep_while_it_goes)
{
	struct kprobe p = probe_of(region_sleeps_at);
	struct thread *t;

	make_region(&p);
	t = start_sleeper();
	EXPECT_EQ(p.nhit, 1);
	remove_region(&p);
	wake(t);
}

TEST(region_tasks, what_looks_like_a_return_address_delays_nothing)
{
	struct kprobe p = probe_of(region_fine_at);
	struct thread *t = start_sleeper();

	make_region(&p);
	EXPECT_EQ(region_fine(4, 0), 7);
	wake(t);
	remove_region(&p);
}

/* All of it at once ------------------------------------------------------------ */

static void hammer(void *arg)
{
	unsigned long *wrong = arg;

	while (!READ_ONCE(over)) {
		for (unsigned i = 0; i < ARRAY_SIZE(calls); i++)
			*wrong += call(&calls[i]) != calls[i].result;
		thread_yield();
	}
}

static void in_nmi(void *arg, struct pt_regs *regs __unused)
{
	for (unsigned i = 0; i < ARRAY_SIZE(calls); i++)
		*(unsigned long *)arg += call(&calls[i]) != calls[i].result;
}

/* On the last CPU, to all others: at any boundary, and between all steps. */
static void send_nmis(void *arg)
{
	while (!READ_ONCE(over)) {
		for (unsigned i = 0; i < last_cpu(); i++)
			EXPECT_EQ(smp_nmi_call(i, in_nmi, arg), 0);
		thread_sleep(NSEC_PER_MSEC);
	}
}

/* All regions come; half of them go because of others inside. */
static void come_and_go(void)
{
	static struct kprobe ps[ARRAY_SIZE(calls)], in[ARRAY_SIZE(calls)];
	struct kprobe *all[ARRAY_SIZE(calls)], *all_in[ARRAY_SIZE(calls)];
	unsigned made = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(calls); i++) {
		ps[i] = probe_of(calls[i].at);
		in[i] = probe_of(
			(const char *)inside(calls[i].at, i == 3 ? 2 : 1));
		all[i] = &ps[i];
		all_in[i] = &in[i];
	}
	EXPECT_EQ(register_kprobes(all, ARRAY_SIZE(calls)), 0);
	EXPECT_EQ(opt_sync(), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(calls); i++)
		made += is_region(ps[i].addr);
	EXPECT_GE(made, 1);
	EXPECT_EQ(register_kprobes(all_in, ARRAY_SIZE(calls) / 2), 0);
	EXPECT_EQ(unregister_kprobes(all, ARRAY_SIZE(calls)), 0);
	EXPECT_EQ(unregister_kprobes(all_in, ARRAY_SIZE(calls) / 2), 0);
}

static void storm(enum patch_mode mode)
{
	enum patch_mode before = patch_mode();
	static struct thread *threads[MAX_CPUS];
	static unsigned long wrong[MAX_CPUS];
	unsigned long wrong_in_nmi = 0;
	struct thread *sender;

	over = false;
	memset(wrong, 0, sizeof(wrong));
	patch_mode_set(mode);
	opt_wish(JUMP_REGION);
	for (unsigned i = 0; i < cpu_count; i++)
		threads[i] = start_on(i, hammer, &wrong[i]);
	sender = start_on(last_cpu(), send_nmis, &wrong_in_nmi);
	for (unsigned i = 0; i < 3; i++)
		come_and_go();
	WRITE_ONCE(over, true);
	join(sender);
	for (unsigned i = 0; i < cpu_count; i++) {
		join(threads[i]);
		EXPECT_EQ(wrong[i], 0);
	}
	EXPECT_EQ(wrong_in_nmi, 0);
	opt_wish(JUMP_NONE);
	patch_mode_set(before);
}

TEST(region_tasks, regions_come_and_go_under_running_threads_by_break)
{
	storm(PATCH_BREAK);
}

TEST(region_tasks, regions_come_and_go_under_running_threads_by_stop)
{
	storm(PATCH_STOP);
}
