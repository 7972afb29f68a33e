/* SPDX-License-Identifier: MIT */
/*
 * Inside the engine: what outlives a return probe while calls are under way.
 */
#ifndef SONDE_PROBE_OWNER_H
#define SONDE_PROBE_OWNER_H

#include <probe/kretprobe.h>

/*
 * Instances point here and not to the client's struct kretprobe, which may be
 * gone or used anew when they return. Freed when the last one did.
 */
struct ret_owner {
	struct kprobe *kp;	  /* whose handler it is, for struct hit */
	kretprobe_handler_t call; /* never NULL: the handler, or nothing */
	u64 returned, entered, skipped, changed; /* atomic */
	size_t size;				 /* of an instance */
	unsigned long addr;			 /* of the function */
	bool orphan;				 /* its probe is gone */
	struct ret_owner *next;			 /* all there are */
};

/* kretprobe.c: the parts of registration, see there. Errors have a reason. */
int __must_check ret_check(struct kprobe *p, unsigned long *addr,
			   const char **why);
int __must_check ret_attach(struct kprobe *p, unsigned long addr);
void ret_start(struct kprobe *p);
void ret_stop(struct kprobe *p); /* any context; no-probe */
void ret_leave(struct kprobe *p);
/* Owners that nobody needs, off the list; freed after quiesce_cpus(). */
struct ret_owner *ret_owners_finished(void);
void ret_owners_free(struct ret_owner *finished);

/* The kretprobe's pre_handler: in general, and without a bound. No-probe. */
int ret_enter(struct kprobe *p, struct pt_regs *regs);
int ret_enter_plain(struct kprobe *p, struct pt_regs *regs);
int ret_enter_asking(struct kprobe *p, struct pt_regs *regs);
/* What owner->call is while the probe may not be called. No-probe. */
int ret_call_nothing(struct kretprobe_instance *ri, struct pt_regs *regs);

/* The owner at @owner, which may be no more, if there is one. Any context. */
const struct ret_owner *ret_owner_check(const struct ret_owner *owner);

static __always_inline struct kretprobe *kretprobe_of(struct kprobe *p)
{
	return container_of(p, struct kretprobe, kp);
}

static __always_inline bool kprobe_is_return(const struct kprobe *p)
{
	return p->flags & KPROBE_FLAG_RETURN;
}

static __always_inline void ret_count(u64 *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

#endif
