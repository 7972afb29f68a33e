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
	/* Of KRETPROBE_FLAG_RETSITE, see retsite.c: */
	struct ret_place *places;
	unsigned long *place_addrs; /* NULL: it changes return addresses */
	unsigned nr_places;
	struct ret_owner *next; /* all there are */
};

/* A breakpoint where a function returns to. */
struct ret_place {
	struct kprobe kp;
	struct ret_place *next;
	bool attached;
};

/* kretprobe.c: the parts of registration, see there. Errors have a reason. */
int __must_check ret_check(struct kprobe *p, unsigned long addr,
			   const char **why);
int __must_check ret_attach(struct kprobe *p, unsigned long addr);
void ret_start(struct kprobe *p);
void ret_stop(struct kprobe *p); /* any context; no-probe */
void ret_leave(struct kprobe *p);
/*
 * Owners that nobody needs, off the list, and their breakpoints, as part of a
 * change; freed after quiesce_cpus().
 */
struct site_change;
struct ret_owner *ret_owners_finished(struct site_change *c);
void ret_owners_free(struct ret_owner *finished);
/* Has one of them breakpoints? */
bool ret_places_left(void);

/* The kretprobe's pre_handler: in general, and without a bound. No-probe. */
int ret_enter(struct kprobe *p, struct pt_regs *regs);
int ret_enter_plain(struct kprobe *p, struct pt_regs *regs);
int ret_enter_asking(struct kprobe *p, struct pt_regs *regs);
/* retsite.c: makes the list of places; frees it, also half made. */
int __must_check ret_places_find(struct ret_owner *owner);
void ret_places_free(struct ret_owner *owner);
/* No-probe: */
bool ret_place_is_known(const struct ret_owner *owner, unsigned long addr);
int ret_place_hit(struct kprobe *p, struct pt_regs *regs);

/* ret.c, for retsite.c. No-probe: */
/* The note of a call that returns to here, or NULL; those above are settled. */
const struct kretprobe_instance *ret_place_settle(struct pt_regs *regs);
/* Takes all notes of frame h->frame and calls their handlers, at @pc. */
struct cpu;
struct hit;
void ret_call_all(struct cpu *cpu, struct hit *h, unsigned long pc);

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
