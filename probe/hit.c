// SPDX-License-Identifier: MIT
/*
 * THE HIT PATH, in execution order. Read it top to bottom; docs/tour.md follows
 * one hit through it and the files around it.
 *
 *	vectors.S	saves pt_regs, calls trap()
 *	trap()		probe_hit_break():  find the site
 *					    run the handlers
 *					    begin the step of the copy
 *	... the copy runs, one instruction, interrupts off ...
 *	trap()		probe_hit_step():   end the step
 *					    run the post-handlers
 *	vectors.S	restores
 *
 * Interrupts are off from the breakpoint to the end of the step, so a CPU has at
 * most one hit under way per level of nesting: a hit in a handler, in an NMI, or
 * in what handles a fault of the copy. Levels are a small stack per CPU.
 *
 * What is read here (sites, probe arrays) is immutable once published and freed
 * only after quiesce_cpus(), which waits for this CPU's interrupts to be on.
 * Nothing here takes a lock or allocates. Everything is no-probe.
 */
#include <arch/probe.h>
#include <arch/regs.h>
#include <kernel/panic.h>
#include <kernel/percpu.h>
#include <kernel/symtab.h>
#include <lib/printf.h>
#include <probe/hit.h>
#include "site.h"

/* Handler, its NMI, a handler's fault, its NMI: more is a runaway. */
#define HIT_LEVELS 8

struct hit {
	struct site *site;
	const struct probe_set *set; /* as it was when the hit began */
	struct kprobe *running;	     /* whose handler is being called */
	bool nested;		     /* a hit inside a hit: nobody is called */
	bool stepping;		     /* false while the level is free */
	struct arch_step step;
};

struct hit_cpu {
	unsigned levels;
	struct hit hits[HIT_LEVELS];
};
static DEFINE_PER_CPU(struct hit_cpu, hit_cpus);

static __noprobe void count(unsigned long *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static __always_inline bool is_enabled(const struct kprobe *p)
{
	return !(READ_ONCE(p->flags) &
		 (KPROBE_FLAG_DISABLED | KPROBE_FLAG_PENDING));
}

static __noprobe void miss_all(const struct probe_set *set)
{
	for (unsigned i = 0; i < set->n; i++) {
		if (is_enabled(set->probes[i]))
			count(&set->probes[i]->nmissed);
	}
}

/*
 * Calls the pre-handlers in order of registration. Each sees the probed address
 * as pc, whatever the one before it did. Returns the pc that a control probe
 * asked for, or 0.
 */
static __noprobe unsigned long call_pre(struct hit *h, struct pt_regs *regs,
					unsigned long pc)
{
	unsigned long wanted = 0;

	for (unsigned i = 0; i < h->set->n; i++) {
		struct kprobe *p = h->set->probes[i];

		if (!is_enabled(p))
			continue;
		count(&p->nhit);
		if (!p->pre_handler)
			continue;
		h->running = p;
		p->pre_handler(p, regs);
		if (instruction_pointer(regs) != pc) {
			if (p->flags & KPROBE_FLAG_CONTROL)
				wanted = instruction_pointer(regs);
			instruction_pointer_set(regs, pc);
		}
	}
	h->running = NULL;
	return wanted;
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

/*
 * The breakpoint behind a copy: its step has ended, and the step trap was lost.
 * QEMU does that after `pause` (docs/emulator.md).
 */
static __noprobe bool step_overran(struct hit_cpu *cpu, struct pt_regs *regs,
				   struct trap *t)
{
	struct hit *h = stepping_hit(cpu);

	if (!h || t->pc != h->site->slot + h->site->insn.len)
		return false;
	instruction_pointer_set(regs, t->pc);
	return probe_hit_step(regs, t);
}

__noprobe bool probe_hit_break(struct pt_regs *regs, struct trap *t)
{
	struct hit_cpu *cpu = &this_cpu_ref(hit_cpus);
	struct site *s = site_find(t->pc);
	unsigned long wanted = 0;
	struct hit *h;

	if (t->flags & TRAP_REAL_MODE)
		return false;
	if (!s)
		return step_overran(cpu, regs, t);
	if (unlikely(cpu->levels == HIT_LEVELS))
		panic_regs(regs, "probe hits nested %u deep", HIT_LEVELS);
	/* Taken before it is filled: an NMI's hit uses the next one. */
	h = &cpu->hits[cpu->levels++];
	barrier();
	h->site = s;
	/* Pairs with the release in probe.c's set_publish(). */
	h->set = load_acquire(&s->set);
	h->nested = cpu->levels > 1;

	instruction_pointer_set(regs, t->pc);
	if (unlikely(h->nested))
		miss_all(h->set);
	else
		wanted = call_pre(h, regs, t->pc);
	if (unlikely(wanted)) {
		instruction_pointer_set(regs, wanted);
		cpu->levels--;
		return true;
	}
	arch_probe_step_begin(&h->step, &s->insn, s->slot, regs);
	h->stepping = true;
	return true;
}

static __noprobe void call_post(struct hit *h, struct pt_regs *regs)
{
	for (unsigned i = 0; i < h->set->n; i++) {
		struct kprobe *p = h->set->probes[i];

		if (!p->post_handler || !is_enabled(p))
			continue;
		h->running = p;
		p->post_handler(p, regs, 0);
	}
	h->running = NULL;
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
	if (h->set->n_post > 0 && !h->nested)
		call_post(h, regs);
	cpu->levels--;
	if (likely(!arch_probe_step_traced(&h->step)))
		return true;
	/* The program is being stepped itself: its trap is due now. */
	t->pc = instruction_pointer(regs);
	return false;
}

/* Off the straight path: faults ---------------------------------------------- */

/* The copy faulted: the original did, and this hit is over. */
static __noprobe void step_faulted(struct hit_cpu *cpu, struct hit *h,
				   struct pt_regs *regs, struct trap *t)
{
	arch_probe_step_abort(&h->step, &h->site->insn, regs);
	h->stepping = false;
	t->pc = instruction_pointer(regs);
	cpu->levels--;
}

static __noprobe bool in_slot(const struct hit *h, unsigned long pc)
{
	return pc >= h->site->slot && pc < h->site->slot + ARCH_SLOT_SIZE;
}

__noprobe bool probe_hit_fault(struct pt_regs *regs, struct trap *t)
{
	struct hit_cpu *cpu = &this_cpu_ref(hit_cpus);
	struct hit *h = stepping_hit(cpu);
	struct kprobe *p;

	if (h && in_slot(h, t->pc)) {
		step_faulted(cpu, h, regs, t);
		return false;
	}
	if (cpu->levels == 0)
		return false;
	p = cpu->hits[cpu->levels - 1].running;
	return p && p->fault_handler && p->fault_handler(p, regs, t->kind);
}

/* No-probe: stepped, it would see its own hit. */
__noprobe bool probe_hit_in_handler(void)
{
	return this_cpu_ref(hit_cpus).levels > 0;
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
