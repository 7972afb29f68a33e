/* SPDX-License-Identifier: MIT */
/*
 * Probes for clients: names and meaning are those of Linux's kprobes.
 *
 * A handler runs with interrupts off, on the CPU and the stack of the probed
 * code, in whatever context that runs; it must not sleep or take locks. It sees
 * the registers as they are just before the probed instruction, with
 * instruction_pointer() its address; what it writes to them takes effect, but for
 * the pc: that takes a control probe. Then the instruction does not run, and no
 * post-handler is called. A post-handler sees the registers, and the pc, behind it.
 */
#ifndef SONDE_PROBE_KPROBE_H
#define SONDE_PROBE_KPROBE_H

#include <lib/compiler.h>
#include <lib/list.h>
#include <arch/regs.h>

struct kprobe;
struct probe_session; /* <probe/session.h> */

/* Return values are ignored: no probe can keep another from being called. */
typedef int (*kprobe_pre_handler_t)(struct kprobe *p, struct pt_regs *regs);
typedef void (*kprobe_post_handler_t)(struct kprobe *p, struct pt_regs *regs,
				      unsigned long flags);
typedef int (*kprobe_fault_handler_t)(struct kprobe *p, struct pt_regs *regs,
				      int trap_kind);

/* Why the engine disabled a probe. */
enum kprobe_verdict {
	KPROBE_WELL,
	KPROBE_FAULTED,	   /* a handler faulted, and nothing repaired it */
	KPROBE_OVERFLOWED, /* a handler ran out of stack */
	KPROBE_OVERDUE,	   /* a handler did not return in time */
	KPROBE_LOCKED,	   /* a handler wanted a lock, or to wait */
};
const char *kprobe_verdict_name(enum kprobe_verdict verdict);

enum kprobe_flag {
	KPROBE_FLAG_DISABLED = BIT(0), /* registered, but not called */
	KPROBE_FLAG_CONTROL = BIT(1),  /* may change the pc; one per address */
	KPROBE_FLAG_NO_JUMP = BIT(2),  /* its address stays a breakpoint */
	KRETPROBE_FLAG_RETSITE = BIT(3), /* see <probe/kretprobe.h> */
	/* The engine's: */
	KPROBE_FLAG_ENTRY = BIT(5),	  /* only at a function's entry */
	KPROBE_FLAG_QUARANTINED = BIT(6), /* its session was stopped */
	KPROBE_FLAG_RETURN = BIT(7),	  /* it is part of a kretprobe */
};

/*
 * Either @addr, or @symbol_name with @offset; @symbol_name "name+0x10" is
 * understood too. A bare function name means its entry (ppc64: local entry);
 * "name+0" is exact. The caller keeps the struct until unregister returned.
 */
struct kprobe {
	unsigned long addr;
	const char *symbol_name;
	unsigned long offset;
	kprobe_pre_handler_t pre_handler;
	kprobe_post_handler_t post_handler;
	kprobe_fault_handler_t fault_handler;
	unsigned flags;
	enum kprobe_verdict verdict;
	struct probe_session *session; /* NULL: the kernel's own */
	unsigned long nhit;	       /* times the handlers were called */
	unsigned long nmissed;	       /* times they could not be */
	unsigned long verdict_pc;      /* where the handler was abandoned */
	/* The engine's: what a hit calls, see probe/call.c */
	kprobe_pre_handler_t call;
	kprobe_post_handler_t call_post;
	const char *verdict_lock; /* which one the handler wanted, or NULL */
	/* ... under probe_mutex: */
	struct list_head owned; /* by its session */
	struct kprobe *next;	/* at its site, then among those that leave */
};

/* Boot, once, after heap_init(). -ENOMEM. */
int __must_check probe_init(void);

/*
 * Arms @p. Threads only (waits for other CPUs). 0, or with nothing changed:
 * -EINVAL	neither or both of addr and symbol, no handler, not text
 * -ENOENT	no such symbol
 * -EADDRNOTAVAIL several symbols of that name
 * -EILSEQ	not an instruction boundary, or undecodable
 * -EACCES	code that may not be probed
 * -EOPNOTSUPP	this instruction may not be probed
 * -EBUSY	@p is registered already; the address has a control probe
 * -EDQUOT	its session may not have more probes, or memory for them
 * -EPERM	its session is in quarantine
 * -EDEADLK	called from a handler, or with interrupts off
 * -ENOMEM, -ENOSPC no memory, no slot
 * kprobe_reason() tells more about a refusal.
 */
int __must_check register_kprobe(struct kprobe *p);
/*
 * Returns when no handler of @p runs or will. -EINVAL if it is not registered;
 * -EDEADLK from a handler or with interrupts off. Never fails for want of memory.
 */
int unregister_kprobe(struct kprobe *p);

/* All or none; one wait for the whole batch. */
int __must_check register_kprobes(struct kprobe **ps, unsigned n);
int unregister_kprobes(struct kprobe **ps, unsigned n);

/*
 * Enabling gives a probe with a verdict another chance. -EINVAL if it is not
 * registered; enabling: -EPERM if its session is in quarantine, -ENOMEM.
 */
int __must_check enable_kprobe(struct kprobe *p);
int disable_kprobe(struct kprobe *p);

/* Why the last register of this thread was refused; never NULL. */
const char *kprobe_reason(void);

/* Called for each registered probe in address order, under the probe mutex. */
void kprobe_for_each(bool (*fn)(struct kprobe *p, void *arg), void *arg);

#endif
