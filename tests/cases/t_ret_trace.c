// SPDX-License-Identifier: MIT
/*
 * Backtraces through frames whose return address is hijacked name the true
 * callers: from the innermost function, from handlers, of other threads, in NMIs.
 */
#include <arch/regs.h>
#include <kernel/smp.h>
#include <kernel/symtab.h>
#include <lib/string.h>
#include <probe/kretprobe.h>
#include <probe/opt.h>
#include <tests/cases/ret.h>
#include <tests/cases/threads.h>

#define TRACE_MAX 32

static struct trace {
	unsigned n;
	unsigned long pc[TRACE_MAX];
} trace;

/* In a handler, of which the probed code overwrites the other. */
static struct trace seen;

static bool add(unsigned long pc, void *arg)
{
	struct trace *t = arg;

	t->pc[t->n++] = pc;
	return t->n < TRACE_MAX;
}

/* The names from @first on are these, one after the other. */
static void expect_callers(const char *const *names, unsigned n)
{
	struct symbol sym;
	unsigned at = 0;

	while (at < trace.n && (symtab_lookup(trace.pc[at] - (at > 0), &sym) ||
				strcmp(sym.name, names[0])))
		at++;
	for (unsigned i = 0; i < n; i++, at++) {
		if (at >= trace.n || symtab_lookup(trace.pc[at] - 1, &sym)) {
			FAIL("the trace ends before %s", names[i]);
			return;
		}
		EXPECT_STREQ(sym.name, names[i]);
	}
}

static bool hold, held;

static __noclone void trace_now(void)
{
	struct pt_regs regs;

	trace.n = 0;
	arch_regs_capture(&regs);
	arch_unwind(current, &regs, add, &trace);
}

static __noclone void trace_wait(void)
{
	preempt_disable(); /* who looks at this CPU finds this thread */
	store_release(&held, true);
	while (load_acquire(&hold))
		cpu_relax();
	preempt_enable();
}

static __noclone void trace_inner(bool wait)
{
	if (wait)
		trace_wait();
	else
		trace_now();
	barrier();
}

static __noclone void trace_middle(bool wait)
{
	trace_inner(wait);
	barrier();
}

static __noclone void trace_outer(bool wait)
{
	trace_middle(wait);
	barrier();
}

static const char *const callers[] = { "trace_inner", "trace_middle",
				       "trace_outer", "call_outer" };

static __noclone void call_outer(bool wait)
{
	trace_outer(wait);
	barrier();
}

static int unwind_there(struct kretprobe_instance *ri __unused,
			struct pt_regs *regs)
{
	trace.n = 0;
	arch_unwind(current, regs, add, &trace);
	return 0;
}

/* From within the handler itself, through the engine's own frames. */
static int unwind_here(struct kretprobe_instance *ri __unused,
		       struct pt_regs *regs __unused)
{
	struct pt_regs here;

	trace.n = 0;
	arch_regs_capture(&here);
	arch_unwind(current, &here, add, &trace);
	return 0;
}

static int nothing(struct kretprobe_instance *ri __unused,
		   struct pt_regs *regs __unused)
{
	return 0;
}

static struct kretprobe rps[3];

/* All of callers[] but the last. */
static void hijack(kretprobe_handler_t inner)
{
	for (unsigned i = 0; i < 3; i++) {
		rps[i] = (struct kretprobe){ .kp.symbol_name = callers[i],
					     .handler = i ? nothing : inner };
		EXPECT_EQ(ret_register(&rps[i]), 0);
	}
}

static void release(void)
{
	for (unsigned i = 0; i < 3; i++)
		EXPECT_EQ(unregister_kretprobe(&rps[i]), 0);
}

TEST_BOTH(a_backtrace_names_the_true_callers)
{
	call_outer(false);
	expect_callers(callers, 4);
	hijack(nothing);
	call_outer(false);
	expect_callers(callers, 4);
	release();
}

TEST_BOTH(a_backtrace_of_a_handler_goes_on_in_the_true_caller)
{
	hijack(unwind_there);
	call_outer(false);
	expect_callers(callers + 1, 3);
	release();
	hijack(unwind_here);
	call_outer(false);
	expect_callers(callers + 1, 3);
	release();
}

static void run_outer(void *arg __unused)
{
	call_outer(true);
}

static void unwind_in_nmi(void *arg __unused, struct pt_regs *regs)
{
	trace.n = 0;
	arch_unwind(current, regs, add, &trace);
}

TEST_BOTH(a_backtrace_of_another_cpu_names_the_true_callers)
{
	struct thread *t;

	if (cpu_count < 2)
		SKIP("needs another CPU");
	hijack(nothing);
	stay_on(0);
	held = false;
	store_release(&hold, true);
	t = start_on(1, run_outer, NULL);
	if (SPIN_FOR(load_acquire(&held)) &&
	    smp_nmi_call(1, unwind_in_nmi, NULL) == 0)
		/* It may have hit where the innermost has no frame. */
		expect_callers(callers + 1, 3);
	store_release(&hold, false);
	join(t);
	stay_anywhere();
	release();
}

static __noclone void trace_sleep(void)
{
	/* Again and again, until somebody has seen it. */
	do {
		thread_sleep(20 * NSEC_PER_MSEC);
	} while (load_acquire(&hold));
	barrier();
}

static __noclone void call_sleep(void *arg __unused)
{
	trace_sleep();
	barrier();
}

TEST_BOTH(a_backtrace_of_a_sleeping_thread_names_the_true_callers)
{
	static const char *const names[] = { "schedule", "thread_sleep",
					     "trace_sleep", "call_sleep" };
	struct thread *t;
	unsigned long pc;
	u64 switches;

	for (unsigned i = 0; i < 3; i++) {
		rps[i] = (struct kretprobe){ .kp.symbol_name = names[i + 1],
					     .handler = nothing };
		EXPECT_EQ(ret_register(&rps[i]), 0);
	}
	store_release(&hold, true);
	t = thread_create("sleeper", call_sleep, NULL);
	ASSERT_TRUE(t);
	do {
		struct pt_regs regs;

		trace.n = 0;
		switches = READ_ONCE(t->switches);
		if (!WAIT_FOR(READ_ONCE(t->state) == THREAD_BLOCKED &&
			      sched_whereabouts(t, &pc) == THREAD_OFF))
			break;
		arch_context_regs(&t->ctx, &regs);
		arch_unwind(t, &regs, add, &trace);
	} while (READ_ONCE(t->switches) != switches); /* it woke up */
	expect_callers(names, 4);
	store_release(&hold, false);
	join(t);
	release();
}

/* The same of a probe's handler that a jump's detour calls. */
static int unwind_from_detour(struct kprobe *p __unused,
			      struct pt_regs *regs __unused)
{
	unwind_here(NULL, NULL);
	seen = trace;
	return 0;
}

static void nothing_post(struct kprobe *p __unused,
			 struct pt_regs *regs __unused,
			 unsigned long flags __unused)
{
}

static void check_detour(kprobe_post_handler_t post)
{
	struct kprobe p = { .symbol_name = "trace_inner",
			    .pre_handler = unwind_from_detour,
			    .post_handler = post };
	unsigned at = 0;

	ASSERT_EQ(register_kprobe(&p), 0);
	EXPECT_EQ(opt_sync(), 0);
	EXPECT_NE(kprobe_jump(&p), JUMP_NONE);
	call_outer(false);
	while (at < seen.n && seen.pc[at] != p.addr)
		at++;
	EXPECT_LT(at, seen.n);
	trace = seen;
	expect_callers(callers + 1, 3);
	EXPECT_EQ(unregister_kprobe(&p), 0);
}

TEST(detour, a_backtrace_of_a_handler_goes_on_in_the_probed_function)
{
	check_detour(NULL); /* direct */
	check_detour(nothing_post);
}
