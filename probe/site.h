/* SPDX-License-Identifier: MIT */
/*
 * Inside the engine: sites and slots. Clients see <probe/kprobe.h>.
 */
#ifndef SONDE_PROBE_SITE_H
#define SONDE_PROBE_SITE_H

#include <arch/insn.h>
#include <arch/probe.h>
#include <arch/text.h>
#include <kernel/wait.h>
#include <lib/list.h>
#include <lib/printf.h>
#include <lib/rbtree.h>
#include <probe/kprobe.h>
#include <probe/plan.h>

/*
 * What a hit calls: the enabled probes of a site in order of registration.
 * Immutable: a change makes a new set, publishes it by one store and frees the
 * old one after quiescence.
 */
struct probe_set {
	struct probe_set *retired; /* garbage list until quiescence */
	bool post;		   /* somebody has a post-handler */
	struct kprobe *probes[];   /* NULL behind the last */
};

/* A run of executable bytes near text: a slot, or a detour. */
struct exec {
	unsigned long at; /* 0: none */
	unsigned size;
	bool leaving; /* unreachable: who is in it is waited for */
	struct site *site;
	struct detour *detour; /* whose code it is, or NULL: the slot's */
};

/*
 * One instrumented instruction; at most one per address.
 *
 *	site_create()	decoded, slot filled, not findable
 *	site_publish()	findable, text unchanged
 *	armed		a breakpoint stands in the text; later perhaps a jump
 *	site_unlink()	text restored; not findable, perhaps still in use
 *	site_free()	after quiescence
 */
struct site {
	unsigned long addr;
	struct site *next;	/* hash chain */
	struct rb_node node;	/* by address; under probe_mutex */
	struct probe_set *set;	/* never NULL */
	unsigned long run_at;	/* where hits go on, or 0: site_route() */
	struct detour *through; /* ... in this one, whose region they run */
	struct exec exec;	/* its slot: <arch/probe.h> */
	bool can_step;		/* has a copy to step */
	bool can_slot;		/* has a relocated form */
	bool can_emulate;	/* its effect can be computed */
	u8 plan;		/* enum probe_plan, but not AUTO */
	u8 end_plan;	  /* ... where a post-handler wants to know its end */
	struct insn insn; /* the original instruction */
	/* Under probe_mutex: */
	struct kprobe *probes;	  /* all of them, in order of registration */
	struct probe_set *coming; /* prepared to be published */
	struct detour *detour;	  /* where its jump leads; NULL: no jump */
	struct detour *coming_detour; /* prepared to be jumped to */
	const char *no_jump; /* why, when it was tried last; NULL: not yet */
	bool armed;	     /* a breakpoint stands in the text, or a jump */
	bool wanted;	     /* one is to, when a change under way is done */
	bool changed;	     /* on the list of a change under way */
	struct site *next_changed;
	struct list_head work; /* opt.c's */
};

/* Serialises registration, enabling, and all changes of sites. */
extern struct mutex probe_mutex;

/* Flags are changed by hits, too: handlers that are abandoned. */
static __always_inline void kprobe_flags_set(struct kprobe *p, unsigned flags)
{
	__atomic_fetch_or(&p->flags, flags, __ATOMIC_RELEASE);
}
static __always_inline void kprobe_flags_clear(struct kprobe *p, unsigned flags)
{
	__atomic_fetch_and(&p->flags, ~flags, __ATOMIC_RELEASE);
}

static __always_inline bool kprobe_is_enabled(const struct kprobe *p)
{
	return !(READ_ONCE(p->flags) &
		 (KPROBE_FLAG_DISABLED | KPROBE_FLAG_QUARANTINED));
}

static __always_inline void kprobe_count(unsigned long *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* call.c */
/* Its handlers are not called any more, for the reason @flag. Any context. */
void kprobe_stop(struct kprobe *p, unsigned flag);
/* They are called, as far as flags allow. Under probe_mutex. */
void kprobe_start(struct kprobe *p);

/* session.c: what happens to a probe, in this order */
/* May it be registered? 0, or an error with *why a reason. */
int __must_check session_admit(const struct kprobe *p, const char **why);
void session_join(struct kprobe *p);
/* Are its handlers to be called between the next two? */
bool session_is_timed(const struct kprobe *p);
/* From the hit path: a handler of @p begins, ends. No-probe. */
void session_clock_start(void);
void session_clock_stop(const struct kprobe *p);
/* From the hit path: the handler of @p was abandoned. No-probe. */
void session_blame(const struct kprobe *p);
void session_leave(struct kprobe *p);
/* After quiesce_cpus(): its counters stand still. */
void session_settle(struct kprobe *p);

/* site.c */
/* Short chains with a probe on every instruction of the kernel, too. */
#define SITE_BUCKETS_LOG2 14
extern struct site *site_buckets[1 << SITE_BUCKETS_LOG2];

/* Fibonacci hashing; text is less than 4 GiB. */
static __always_inline struct site **site_bucket(unsigned long addr)
{
	return &site_buckets[(u32)addr * 0x9e3779b1u >>
			     (32 - SITE_BUCKETS_LOG2)];
}

/*
 * Lock-free; any context. NULL if @addr has no site. What is behind a pointer
 * is read through it: that orders the reads, behind site_publish()'s release.
 */
static __always_inline struct site *site_find(unsigned long addr)
{
	struct site *s = READ_ONCE(*site_bucket(addr));

	while (s && s->addr != addr)
		s = READ_ONCE(s->next);
	return s;
}

/* The following need probe_mutex. */
int __must_check site_create(unsigned long addr, const struct insn *insn,
			     struct site **site);
void site_publish(struct site *s);
void site_unlink(struct site *s);
void site_free(struct site *s);
/* In address order. */
void site_for_each(bool (*fn)(struct site *s, void *arg), void *arg);
unsigned site_count(void);
/*
 * Reads text as it is without any probe, under probe_mutex. Returns how many of
 * @n bytes could be read.
 */
size_t site_read_original(unsigned long addr, void *buf, size_t n);
/*
 * Decodes the instruction at @pc, which ends before @end, as it is without any probe:
 * arch_insn_decode(). For one after the other, text is read ahead into *ahead, which
 * begins as { 0 }.
 */
struct site_text {
	unsigned long addr;
	size_t n;
	u8 bytes[4 * INSN_MAX_BYTES];
};
int __must_check site_decode(struct site_text *ahead, unsigned long pc,
			     unsigned long end, struct insn *insn);
/* The last one at or below @addr, or NULL. */
struct site *site_at_or_below(unsigned long addr);
struct site *site_below(struct site *s); /* the one before, or NULL */
struct site *site_above(struct site *s); /* ... behind */

/*
 * A change of some sites: who was touched and what became garbage. site.c
 * collects, arm.c makes the text follow, probe.c frees.
 */
struct site_change {
	struct site *sites;
	unsigned n;
	bool plan_jumps; /* at once, where they are possible */
	struct probe_set *garbage;
	struct kprobe *leaving;
	struct detour *detours; /* that no jump leads to any more */
};

/*
 * A change, in this order: sites are touched, or probes come and go; sets are
 * prepared for what there is then, and committed, which makes hits see it. The
 * old sets are garbage, for probe_sets_free() after quiescence.
 */
void site_touch(struct site *s, struct site_change *c);
/* The same, at a place in the list. */
void site_insert(struct site *s, struct site **link, struct site_change *c);
void site_add_probe(struct site *s, struct kprobe *p, struct site_change *c);
void site_remove_probe(struct site *s, struct kprobe *p, struct site_change *c);
/* -ENOMEM. Needed only where probes come: going needs no memory. */
int __must_check site_prepare(struct site *s);
void site_commit(struct site *s, struct site_change *c);
/*
 * Says where hits go on: in @s->through, behind all instructions of its region; or
 * in the relocated form of the one, if that is all it takes.
 */
void site_route(struct site *s);
/* In order of registration, until @fn returns false; false then. */
bool site_each_probe(const struct site *s,
		     bool (*fn)(struct kprobe *p, void *arg), void *arg);
bool site_holds(const struct site *s, const struct kprobe *p);
bool site_has_flagged(const struct site *s, unsigned flag);
/* Is one of its probes enabled? */
bool site_wants_arming(const struct site *s);
void probe_sets_free(struct probe_set *garbage);

/* plan.c */
/*
 * How @s, decoded and with a slot, runs its instruction; fills the slot. Or
 * -EOPNOTSUPP, -ERANGE: it cannot, or not in the way that is forced.
 */
int __must_check site_plan_make(struct site *s);
/* Where registers decide: what there mostly is, whoever registers. */
bool plan_can_emulate(const struct insn *insn);
/* What its hits follow, with the probes that are there. */
enum probe_plan site_plan(const struct site *s);

/* check.c */
/*
 * May this caller wait for other CPUs? Not a handler, nor with interrupts off; but
 * during boot, when nobody else runs yet.
 */
bool probe_may_wait(void);
/* The same, as 0 or -EDEADLK with a reason. */
int __must_check probe_may_change(void);
/* Says why, for kprobe_reason(); returns @err. */
int __printf(2, 3) probe_refuse(int err, const char *fmt, ...);
/*
 * The address of @p: a number, "name" or "name+0x10". A bare name without offset
 * is the function's entry; any offset, +0 included, counts from its first byte.
 * -EINVAL if it is to be an entry and is none.
 */
int __must_check probe_resolve(const struct kprobe *p, unsigned long *addr);

/* probe.c */
/* Takes a registered probe out of its site, as part of a change. */
void probe_detach(struct kprobe *p, struct site_change *c);
/* Makes the text follow a change, waits, and frees what it left over. */
void probe_finish(struct site_change *c);

/* arm.c */
/* Makes the text follow a change. Hits have to see it by then. */
void probe_arm(struct site_change *c);
/*
 * What will stand at a site that changes, when all that is coming to it is
 * decided. Returns how many of @bytes (ARCH_PATCH_MAX) change.
 */
unsigned site_coming_text(const struct site *s, u8 *bytes);
/*
 * Sites with breakpoints, to which regions are coming: nobody is inside from here
 * on, or it does not come, and the change is without it. probe_arm() is next.
 */
void probe_close_regions(struct site_change *c);
/* Waits until nobody is in code that is leaving; frees the detours of @c. */
void probe_leave_code(struct site_change *c);

/* slot.c */
/* At least @size executable bytes within reach of text. -ENOSPC. */
int __must_check exec_alloc(struct exec *x, size_t size);
/* Keeps the first @size of them. Before exec_write(). */
void exec_trim(struct exec *x, size_t size);
/* Its code, for the next exec_flush(): before anything can lead there. */
void exec_write(const struct exec *x, const u8 *code, size_t n);
void exec_flush(void);
/* Only after quiesce_tasks_in(exec_is_leaving); full of breakpoints ... */
void exec_free(struct exec *x);
/* ... with all others that were freed. At the end of every change. */
void exec_sweep(void);
/* What @addr is in, or NULL; is that leaving? Any context. */
struct exec *exec_at(unsigned long addr);
bool exec_is_leaving(unsigned long pc);
bool exec_is_near(unsigned long addr); /* executable memory at all */
unsigned exec_units_used(void);

/* deny.c */
/*
 * May @addr be probed? Decodes it from the start of its function. 0 and *insn,
 * or the errors of register_kprobe() with *why a reason.
 */
int __must_check deny_check(unsigned long addr, struct insn *insn,
			    const char **why);

/* patch.c */
/* Writes to memory that nothing executes yet: slots. */
void text_write_unused(unsigned long addr, const u8 *bytes, size_t n);

#endif
