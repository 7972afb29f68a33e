/* SPDX-License-Identifier: MIT */
/*
 * Return probes for clients: names and meaning are those of Linux's kretprobes.
 *
 *	static int returned(struct kretprobe_instance *ri, struct pt_regs *regs)
 *	{
 *		... regs_return_value(regs) ...
 *	}
 *	static struct kretprobe rp = { .kp = { .symbol_name = "open_file" },
 *				       .handler = returned };
 *
 * Handlers of both kinds keep the rules of <probe/kprobe.h> and have the same
 * rights: one that faults or loops is abandoned, and kp.verdict says why. Several
 * return probes on one function are entered in the order of registration and
 * return in the reverse order, as frames do.
 *
 * At a return the registers that a call may change hold nothing of meaning,
 * except those of the return value. What a handler writes to the others and to
 * the return value takes effect. docs/ret.md tells how it works.
 */
#ifndef SONDE_PROBE_KRETPROBE_H
#define SONDE_PROBE_KRETPROBE_H

#include <probe/kprobe.h>

struct kretprobe;
struct ret_owner; /* probe/ret.h: outlives the probe while frames are out */

/* One call under way: on the shadow stack of its thread. */
struct kretprobe_instance {
	struct ret_owner *owner;
	unsigned long ret_addr; /* the true one, in the caller */
	unsigned long sp;	/* which frame it is; 0: none any more */
	struct kretprobe_instance *below;
	char data[]; /* of kretprobe.data_size bytes, for the client */
};

/*
 * Returns are ignored; but of an entry handler, not 0 means that this call is
 * not of interest: handler will not be called for it.
 */
typedef int (*kretprobe_handler_t)(struct kretprobe_instance *ri,
				   struct pt_regs *regs);

/* Entered are those that got an instance: = returned + skipped + outstanding. */
struct kretprobe_counts {
	u64 entered;
	u64 returned;
	u64 skipped; /* left by longjmp or by the end of their thread */
	u64 changed; /* of the returned: to another address than they should */
	u64 outstanding;
};

#define KRETPROBE_DATA_MAX 1024

/*
 * With KRETPROBE_FLAG_RETSITE in kp.flags the return address is not changed:
 * there are breakpoints behind all calls that can be found in text. Calls through
 * pointers are missed, and so is the earlier one when a function goes back to
 * its own entry. For study, and for functions that look at their return address.
 */
struct kretprobe {
	struct kprobe kp; /* where; its pre_handler is the engine's */
	kretprobe_handler_t handler;
	kretprobe_handler_t entry_handler; /* may be NULL */
	int maxactive;	  /* calls under way at one time; 0: any number */
	size_t data_size; /* of ri->data, not zeroed; up to KRETPROBE_DATA_MAX */
	unsigned long nmissed; /* calls that got no instance */
	/* The engine's, under probe_mutex: */
	struct ret_owner *owner;
	struct kretprobe_counts left; /* the counts, once unregistered */
};

/* The probe of @ri. In handlers only. */
struct kretprobe *get_kretprobe(const struct kretprobe_instance *ri);

/*
 * As register_kprobe(); also -EINVAL if the address is not the entry of a
 * function, or data_size is too large; -EOPNOTSUPP if the function returns twice.
 */
int __must_check register_kretprobe(struct kretprobe *rp);
/*
 * When this returns no handler of @rp runs or will, and @rp may be used again at
 * once. Calls that are under way return as if nothing had been.
 */
int unregister_kretprobe(struct kretprobe *rp);
int __must_check register_kretprobes(struct kretprobe **rps, unsigned n);
int unregister_kretprobes(struct kretprobe **rps, unsigned n);

/* An entry probe and a return probe: both or neither. Each may leave alone. */
int __must_check register_kprobe_pair(struct kprobe *kp, struct kretprobe *rp);
int unregister_kprobe_pair(struct kprobe *kp, struct kretprobe *rp);

int __must_check enable_kretprobe(struct kretprobe *rp);
int disable_kretprobe(struct kretprobe *rp);

/* Of now; after unregistering, of then. */
void kretprobe_counts(const struct kretprobe *rp, struct kretprobe_counts *c);

#endif
