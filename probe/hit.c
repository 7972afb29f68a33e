// SPDX-License-Identifier: MIT
/*
 * THE HIT PATH, in execution order. Read it top to bottom; docs/tour.md follows
 * one hit through it and the files around it.
 *
 *	vectors.S	saves pt_regs, calls trap()
 *	trap()		probe_hit_break():  find the site
 *					    run the handlers
 *					    pc = the relocated form: done
 *	... or, where a post-handler wants to know the end:
 *					    begin the step of the copy
 *	... the copy runs, one instruction, interrupts off ...
 *	trap()		probe_hit_step():   end the step
 *					    run the post-handlers
 *	vectors.S	restores
 *
 * Interrupts are off while handlers run and in a step, so a CPU has at most one
 * hit under way per level of nesting: a hit in a handler, in an NMI, or in what
 * handles a fault of the copy. Levels are a small stack per CPU.
 *
 * A handler can be abandoned at any instruction: when it faults, or when it runs
 * too long (probe/watch.c). Everything above its level is dropped, its probe is
 * disabled, and the hit goes on behind it in probe_hit_restart(), called on the
 * stack of the breakpoint. Hence all that a hit has to remember between two
 * handlers is in its level, not in local variables.
 *
 * What is read here (sites, probe arrays) is immutable once published and freed
 * only after quiesce_cpus(), which waits for this CPU's interrupts to be on.
 * Nothing here takes a lock or allocates. Everything is no-probe.
 */
#include <arch/cpu.h>
#include <arch/probe.h>
#include <arch/regs.h>
#include <kernel/panic.h>
#include <kernel/percpu.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <lib/printf.h>
#include <probe/hit.h>
#include "site.h"

/* Handler, its NMI, a handler's fault, its NMI: more is a runaway. */
#define HIT_LEVELS 8

struct hit {
	struct site *site;
	const struct probe_set *set; /* as it was when the hit began */
	struct pt_regs *regs;	     /* of the breakpoint, then of the step */
	unsigned next;		/* handlers before it have had their turn */
	struct kprobe *running; /* whose handler is being called */
	unsigned long wanted;	/* pc that a control probe asked for */
	bool nested;		/* a hit inside a hit: nobody is called */
	bool stepping;		/* false while the level is free */
	bool post;		/* the step has ended */
	bool faulting;		/* a fault handler is being asked */
	unsigned preempt_count; /* of the probed code */
	struct arch_step step;
};

struct hit_cpu {
	unsigned levels;
	unsigned floor; /* levels that an NMI interrupted: not its to blame */
	u64 turns;	/* handlers called so far: probe/watch.c looks at it */
	struct hit hits[HIT_LEVELS];
};
static DEFINE_PER_CPU(struct hit_cpu, hit_cpus);

static __always_inline void count(unsigned long *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static __always_inline bool is_enabled(const struct kprobe *p)
{
	return !(p->flags & (KPROBE_FLAG_DISABLED | KPROBE_FLAG_QUARANTINED |
			     KPROBE_FLAG_PENDING));
}

static __noprobe void miss_all(const struct probe_set *set)
{
	for (unsigned i = 0; i < set->n; i++) {
		if (is_enabled(set->probes[i]))
			count(&set->probes[i]->nmissed);
	}
}

/* The next enabled probe of @set that has not had its turn, or NULL. */
static __always_inline struct kprobe *next_probe(struct hit *h,
						 const struct probe_set *set)
{
	for (unsigned i = h->next; i < set->n;) {
		struct kprobe *p = set->probes[i++];

		h->next = i;
		if (likely(is_enabled(p)))
			return p;
	}
	return NULL;
}

/* Who abandons it looks at both. @p stays the running one until another is. */
static __always_inline void turn_begin(struct hit_cpu *cpu, struct hit *h,
				       struct kprobe *p)
{
	cpu->turns++;
	barrier(); /* an NMI for the turn before must not find @p */
	h->running = p;
	barrier();
}

static __always_inline void turns_end(struct hit *h)
{
	barrier();
	h->running = NULL;
}

/*
 * Calls the pre-handlers in order of registration. Each sees the probed address
 * as pc, whatever the one before it did.
 */
static __always_inline void call_pre(struct hit_cpu *cpu, struct hit *h)
{
	const struct probe_set *set = h->set;
	struct pt_regs *regs = h->regs;
	unsigned long pc = h->site->addr;
	struct kprobe *p;

	while ((p = next_probe(h, set))) {
		count(&p->nhit);
		if (unlikely(!p->pre_handler))
			continue;
		turn_begin(cpu, h, p);
		p->pre_handler(p, regs);
		if (likely(instruction_pointer(regs) == pc))
			continue;
		if (h->running->flags & KPROBE_FLAG_CONTROL)
			h->wanted = instruction_pointer(regs);
		instruction_pointer_set(regs, pc);
	}
	turns_end(h);
}

/* Runs the displaced instruction, or goes where a control probe wants. */
static __always_inline void displace(struct hit_cpu *cpu, struct hit *h)
{
	const struct site *s = h->site;

	if (unlikely(h->wanted)) {
		instruction_pointer_set(h->regs, h->wanted);
		cpu->levels--;
	} else if (likely(h->set->run_at && !regs_traced(h->regs))) {
		instruction_pointer_set(h->regs, h->set->run_at);
		cpu->levels--;
	} else {
		arch_probe_step_begin(&h->step, &s->insn, s->slot, h->regs);
		h->stepping = true;
	}
}

/* The part of a hit that can begin anew behind any of its handlers. */
static __noprobe bool hit_run(struct hit_cpu *cpu, struct hit *h)
{
	call_pre(cpu, h);
	displace(cpu, h);
	return true;
}

__noprobe bool probe_hit_break(struct pt_regs *regs, unsigned long pc)
{
	struct hit_cpu *cpu;
	struct site *s = site_find(pc);
	struct hit *h;

	if (unlikely(!s))
		return false;
	cpu = &this_cpu_ref(hit_cpus);
	if (unlikely(cpu->levels == HIT_LEVELS))
		panic_regs(regs, "probe hits nested %u deep", HIT_LEVELS);
	/* Taken before it is filled: an NMI's hit uses the next one. */
	h = &cpu->hits[cpu->levels++];
	barrier();
	h->site = s;
	/* Pairs with the release in site.c's set_publish(). */
	h->set = READ_ONCE(s->set);
	h->regs = regs;
	h->preempt_count = current->preempt_count;
	h->next = 0;
	h->wanted = 0;
	h->nested = false;
	h->post = false;

	regs_break_undo(regs);
	if (unlikely(h != cpu->hits)) {
		h->nested = true;
		miss_all(h->set);
		h->next = h->set->n;
	}
	return hit_run(cpu, h);
}

/* The innermost hit of this CPU if its copy is being stepped, or NULL. */
static __noprobe struct hit *stepping_hit(struct hit_cpu *cpu)
{
	struct hit *h;

	if (cpu->levels == 0)
		return NULL;
	h = &cpu->hits[cpu->levels - 1];
	return h->stepping ? h : NULL;
}

static __noprobe void call_post(struct hit_cpu *cpu, struct hit *h)
{
	struct kprobe *p;

	while ((p = next_probe(h, h->set))) {
		if (!p->post_handler)
			continue;
		turn_begin(cpu, h, p);
		p->post_handler(p, h->regs, 0);
	}
	turns_end(h);
}

__noprobe bool probe_hit_step(struct pt_regs *regs, struct trap *t)
{
	struct hit_cpu *cpu = &this_cpu_ref(hit_cpus);
	struct hit *h = stepping_hit(cpu);
	bool again = false;

	if (!h)
		return false;
	if (!arch_probe_step_end(&h->step, &h->site->insn, regs, &again))
		return again;
	h->stepping = false;
	if (h->set->n_post > 0 && !h->nested) {
		h->post = true;
		h->regs = regs;
		h->next = 0;
		call_post(cpu, h);
	}
	cpu->levels--;
	if (likely(!arch_probe_step_traced(&h->step)))
		return true;
	/* The program is being stepped itself: its trap is due now. */
	t->pc = instruction_pointer(regs);
	return false;
}

/*
 * The breakpoint behind a copy: its step has ended, and the step trap was lost.
 * QEMU does that after `pause` (docs/emulator.md).
 */
__noprobe bool probe_hit_overran(struct pt_regs *regs, struct trap *t)
{
	struct hit *h = stepping_hit(&this_cpu_ref(hit_cpus));

	if (!h || t->pc != h->site->slot + h->site->insn.len)
		return false;
	instruction_pointer_set(regs, t->pc);
	return probe_hit_step(regs, t);
}

/* Off the straight path: faults, and handlers that do not end ---------------- */

static __noprobe bool in_copy(const struct hit *h, unsigned long pc)
{
	return pc >= h->site->slot && pc < h->site->slot + ARCH_STEP_SIZE;
}

__noprobe bool probe_hit_fault(struct pt_regs *regs, struct trap *t)
{
	struct hit_cpu *cpu = &this_cpu_ref(hit_cpus);
	struct hit *h = stepping_hit(cpu);
	const struct site *s;

	if (h && in_copy(h, t->pc)) {
		/* The copy faulted: the original did, and this hit is over. */
		arch_probe_step_abort(&h->step, &h->site->insn, regs);
		h->stepping = false;
		cpu->levels--;
	} else if ((s = slot_site(t->pc))) {
		/* So did the relocated form; its hit was over already. */
		instruction_pointer_set(regs, s->addr);
	} else {
		return false;
	}
	t->pc = instruction_pointer(regs);
	return false;
}

/* The innermost hit of @cpu that is calling a handler, or NULL. */
static __noprobe struct hit *running_hit(struct hit_cpu *cpu)
{
	for (unsigned n = cpu->levels; n > cpu->floor; n--) {
		if (cpu->hits[n - 1].running)
			return &cpu->hits[n - 1];
	}
	return NULL;
}

/* The hit goes on behind the handler that was abandoned. */
static __noprobe void probe_hit_restart(struct pt_regs *regs __unused)
{
	struct hit_cpu *cpu = &this_cpu_ref(hit_cpus);
	struct hit *h = &cpu->hits[cpu->levels - 1];

	if (h->post) {
		call_post(cpu, h);
		cpu->levels--;
		return;
	}
	instruction_pointer_set(h->regs, h->site->addr);
	hit_run(cpu, h);
}

/*
 * Gives up the handler that @h is calling, wherever it is: @regs are those of a
 * trap that interrupted it, or something that it called.
 */
static __noprobe void abandon(struct hit_cpu *cpu, struct hit *h,
			      struct pt_regs *regs, enum kprobe_verdict why,
			      unsigned long pc)
{
	struct kprobe *p = h->running;

	p->verdict_pc = pc;
	WRITE_ONCE(p->verdict, why);
	kprobe_flags_set(p, KPROBE_FLAG_DISABLED);
	session_blame(p);
	while (&cpu->hits[cpu->levels - 1] != h) {
		struct hit *above = &cpu->hits[--cpu->levels];

		above->running = NULL;
		above->stepping = false;
	}
	h->running = NULL;
	h->stepping = false;
	h->faulting = false;
	current->preempt_count = h->preempt_count;
	arch_trap_restart(regs, h->regs, probe_hit_restart);
}

/* Nobody else wanted this fault: is it a handler's? */
__noprobe bool probe_hit_handler_fault(struct pt_regs *regs, struct trap *t)
{
	struct hit_cpu *cpu = &this_cpu_ref(hit_cpus);
	struct hit *h = running_hit(cpu);
	bool handled = false;

	if (!h)
		return false;
	if (h->running->fault_handler && !h->faulting &&
	    t->kind != TRAP_DOUBLE_FAULT) {
		h->faulting = true;
		handled = h->running->fault_handler(h->running, regs, t->kind);
		h->faulting = false;
	}
	if (!handled)
		abandon(cpu, h, regs,
			t->kind == TRAP_DOUBLE_FAULT ? KPROBE_OVERFLOWED
						     : KPROBE_FAULTED,
			t->pc);
	return true;
}

u64 probe_hit_turn(unsigned cpu_id)
{
	struct hit_cpu *cpu = &per_cpu(hit_cpus, cpu_id);
	u64 turn = READ_ONCE(cpu->turns);

	for (unsigned i = 0; i < min(READ_ONCE(cpu->levels), HIT_LEVELS + 0u);
	     i++) {
		if (READ_ONCE(cpu->hits[i].running))
			return turn;
	}
	return 0;
}

__noprobe bool probe_hit_overdue(struct pt_regs *regs, u64 turn)
{
	struct hit_cpu *cpu = &this_cpu_ref(hit_cpus);
	struct hit *h = running_hit(cpu);

	if (!h || cpu->turns != turn)
		return false;
	abandon(cpu, h, regs, KPROBE_OVERDUE, instruction_pointer(regs));
	return true;
}

/* No-probe: stepped, it would see its own hit. */
__noprobe bool probe_hit_in_handler(void)
{
	/* Handlers have interrupts off; who has them on may migrate meanwhile. */
	return arch_irqs_disabled() && this_cpu_ref(hit_cpus).levels > 0;
}

__noprobe unsigned probe_hit_nmi_enter(void)
{
	struct hit_cpu *cpu = &this_cpu_ref(hit_cpus);
	unsigned before = cpu->floor;

	cpu->floor = cpu->levels;
	return before;
}

__noprobe void probe_hit_nmi_exit(unsigned before)
{
	this_cpu_ref(hit_cpus).floor = before;
}

const char *probe_hit_describe(void)
{
	static char text[128];
	const struct hit_cpu *cpu = &this_cpu_ref(hit_cpus);
	const struct hit *h;

	if (cpu->levels == 0)
		return "";
	h = &cpu->hits[cpu->levels - 1];
	snprintf(text, sizeof(text), "\n  in %s of the probe at %pS",
		 h->running ? "a handler" : "a hit", (void *)h->site->addr);
	return text;
}
