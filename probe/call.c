// SPDX-License-Identifier: MIT
/*
 * What a hit calls. kprobe.call and kprobe.call_post are never NULL while a probe
 * is registered, so nobody who calls through them asks anything: not hits, not
 * generated code. To be switched off is to have a pointer to a function that does
 * nothing; that works at once, in any context and whatever array still names the
 * probe.
 */
#include "owner.h"
#include "site.h"

static __noprobe int call_nothing(struct kprobe *p __unused,
				  struct pt_regs *regs __unused)
{
	return 0;
}

/* The hit was counted before the call, but this is no hit. */
static __noprobe int call_off(struct kprobe *p, struct pt_regs *regs __unused)
{
	__atomic_fetch_sub(&p->nhit, 1, __ATOMIC_RELAXED);
	return 0;
}

static __noprobe void call_no_post(struct kprobe *p __unused,
				   struct pt_regs *regs __unused,
				   unsigned long flags __unused)
{
}

__noprobe void kprobe_stop(struct kprobe *p, unsigned flag)
{
	kprobe_flags_set(p, flag);
	/* Pairs with the fence in kprobe_start(): the last store says off. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	WRITE_ONCE(p->call, call_off);
	if (kprobe_is_return(p))
		ret_stop(p);
	WRITE_ONCE(p->call_post, call_no_post);
}

/* For sessions that may use so much time: nobody else pays for it. */
static __noprobe int call_timed(struct kprobe *p, struct pt_regs *regs)
{
	session_clock_start();
	p->pre_handler(p, regs);
	session_clock_stop(p);
	return 0;
}

static __noprobe void call_post_timed(struct kprobe *p, struct pt_regs *regs,
				      unsigned long flags)
{
	session_clock_start();
	p->post_handler(p, regs, flags);
	session_clock_stop(p);
}

void kprobe_start(struct kprobe *p)
{
	kprobe_pre_handler_t pre = p->pre_handler;
	kprobe_post_handler_t post = p->post_handler;

	if (session_is_timed(p)) {
		pre = pre ? call_timed : NULL;
		post = post ? call_post_timed : NULL;
	}
	WRITE_ONCE(p->call, pre ?: call_nothing);
	WRITE_ONCE(p->call_post, post ?: call_no_post);
	if (kprobe_is_return(p))
		ret_start(p);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!kprobe_is_enabled(p))
		kprobe_stop(p, 0);
}
