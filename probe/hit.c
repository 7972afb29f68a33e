// SPDX-License-Identifier: MIT
/*
 * THE HIT PATH, in execution order. Read it top to bottom; docs/tour.md follows
 * one hit through it and the files around it.
 *
 *	vectors.S	saves pt_regs
 *	probe_hit_break()	finds the site
 *				runs the handlers
 *				pc = the relocated form: done
 *	... or, where a post-handler wants to know the end:
 *				begins the step of the copy
 *	... the copy runs, one instruction, interrupts off ...
 *	trap()
 *	probe_hit_step()	ends the step
 *				runs the post-handlers
 *	vectors.S	restores
 *
 * Through a jump, what a detour does not do itself is the end of this file.
 *
 * Interrupts are off while handlers run and in a step, so a CPU has at most one
 * hit under way per level of nesting (level.h). What goes wrong is in abandon.c.
 *
 * What is read here (sites, probe arrays) is immutable once published and freed
 * only after quiesce_cpus(), which waits for this CPU's interrupts to be on.
 * Nothing here takes a lock or allocates. Everything is no-probe.
 */
#include <arch/cpu.h>
#include <arch/probe.h>
#include <arch/regs.h>
#include <kernel/panic.h>
#include <kernel/thread.h>
#include <probe/hit.h>
#include "detour.h"
#include "level.h"
#include "region.h"
#include "site.h"

static struct hit levels[MAX_CPUS][HIT_LEVELS];

struct hit *probe_hit_levels(unsigned cpu_id)
{
	return levels[cpu_id];
}

/*
 * Calls the pre-handlers in order of registration. Each sees the probed address
 * as pc, whatever the one before it did. One that is disabled is not in the set.
 */
static __always_inline void call_pre(struct hit *h)
{
	struct kprobe *const *turn = h->turn;
	struct pt_regs *regs = h->regs;
	unsigned long pc = h->site->addr;
	struct kprobe *p;

	for (; (p = *turn); WRITE_ONCE(h->turn, ++turn)) {
		kprobe_count(&p->nhit);
		p->call(p, regs);
		if (likely(instruction_pointer(regs) == pc))
			continue;
		if ((*turn)->flags & KPROBE_FLAG_CONTROL)
			h->go_on = region_actual(instruction_pointer(regs));
		instruction_pointer_set(regs, pc);
	}
}

/* Has somebody to be told when the instruction has run? */
static __always_inline bool wants_end(const struct cpu *cpu,
				      const struct hit *h)
{
	return h->set->post && h == cpu->hits;
}

static __always_inline void go_on(struct cpu *cpu, struct hit *h,
				  unsigned long pc)
{
	instruction_pointer_set(h->regs, pc);
	level_end(cpu);
}

static __noprobe void displaced(struct cpu *cpu, struct hit *h,
				struct pt_regs *regs);

/*
 * Not if it would fault: then the hardware shall have it. The emulator may be
 * probed, since only the outermost hit uses it: a hit in there is a nested one.
 */
static __noprobe bool emulate(const struct insn *insn, struct pt_regs *regs)
{
	struct insn_op op;

	return arch_insn_analyse(insn, regs, &op) != INSN_EMU_NONE &&
	       arch_insn_apply(&op, regs) == 0;
}

/* All but the usual: that the pc is set and the hit is over. */
static __noprobe void displace_with_care(struct cpu *cpu, struct hit *h)
{
	const struct site *s = h->site;
	bool end = wants_end(cpu, h);
	bool step = s->can_step && regs_traced(h->regs);
	unsigned plan = step ? PLAN_STEP : end ? s->end_plan : s->plan;

	if (h->go_on && h->go_on != s->exec.at + ARCH_STEP_SIZE) {
		/* A control probe's wish, or a region. */
		go_on(cpu, h, h->go_on);
	} else if (plan == PLAN_EMULATE && h == cpu->hits &&
		   emulate(&s->insn, h->regs)) {
		displaced(cpu, h, h->regs);
	} else if (plan != PLAN_STEP && s->can_slot && !end) {
		go_on(cpu, h, s->exec.at + ARCH_STEP_SIZE);
	} else {
		h->stepping = true;
		arch_probe_step_begin(&h->step, &s->insn, s->exec.at, h->regs);
	}
}

/*
 * Runs the displaced instruction, or goes where a control probe wants. Who is to be
 * told of the end is asked of the set of this hit: the site may have a newer one.
 */
static __always_inline void displace(struct cpu *cpu, struct hit *h)
{
	if (likely(h->go_on) && likely(!h->set->post) &&
	    likely(!regs_traced(h->regs)))
		go_on(cpu, h, h->go_on);
	else
		displace_with_care(cpu, h);
}

static __always_inline void run(struct cpu *cpu, struct hit *h)
{
	call_pre(h);
	displace(cpu, h);
}

static __noprobe void resume_break(struct cpu *cpu, struct hit *h)
{
	instruction_pointer_set(h->regs, h->site->addr);
	h->turn++;
	run(cpu, h);
}

static __always_inline void fill(struct hit *h, struct site *s,
				 struct pt_regs *regs)
{
	h->site = s;
	h->regs = regs;
	/* Pairs with the release in site_commit(). */
	h->set = READ_ONCE(s->set);
	h->go_on = READ_ONCE(s->run_at);
}

static __noprobe void miss_all(const struct probe_set *set)
{
	struct kprobe *p;

	for (unsigned i = 0; (p = set->probes[i]); i++) {
		if (kprobe_is_enabled(p))
			kprobe_count(&p->nmissed);
	}
}

/* A hit inside a hit runs its instruction. Nobody is called, all missed it. */
static __noprobe void hit_nested(struct cpu *cpu, struct site *s,
				 struct pt_regs *regs)
{
	struct hit *h;

	level_settle(cpu);
	h = &cpu->hits[cpu->hit_levels];
	if (unlikely(cpu->hit_levels == HIT_LEVELS))
		panic_regs(regs, "probe hits nested %u deep", HIT_LEVELS);
	/* Taken before it is filled: an NMI's hit uses the next one. */
	cpu->hit_levels++;
	barrier();
	fill(h, s, regs);
	miss_all(h->set);
	displace(cpu, h);
}

__noprobe void probe_hit_break(struct pt_regs *regs)
{
	struct cpu *cpu = this_cpu();
	struct site *s = site_find(regs_break_pc(regs));
	struct hit *h;

	if (unlikely(!s)) {
		trap(regs);
		return;
	}
	cpu->traps[TRAP_BREAKPOINT]++;
	regs_break_undo(regs);
	if (unlikely(cpu->hit_levels > 0)) {
		hit_nested(cpu, s, regs);
		return;
	}
	h = level_begin(cpu);
	fill(h, s, regs);
	h->turn = h->set->probes;
	h->resume = resume_break;
	h->preempt_count = current->preempt_count;
	run(cpu, h);
}

/* ... here the copy is stepped, if there is a need for it ... */

/* Each sees where the instruction has led, and has no say in it. */
static __noprobe void run_post(struct cpu *cpu, struct hit *h)
{
	struct kprobe *p;

	for (; (p = *h->turn); h->turn++) {
		p->call_post(p, h->regs, 0);
		instruction_pointer_set(h->regs, h->go_on);
	}
	level_end(cpu);
}

static __noprobe void resume_post(struct cpu *cpu, struct hit *h)
{
	instruction_pointer_set(h->regs, h->go_on);
	h->turn++;
	run_post(cpu, h);
}

/* The instruction has run, and @regs say how it ended. */
static __noprobe void displaced(struct cpu *cpu, struct hit *h,
				struct pt_regs *regs)
{
	if (!wants_end(cpu, h)) {
		level_end(cpu);
		return;
	}
	cpu->hit_turns++;
	barrier();
	h->regs = regs;
	h->resume = resume_post;
	h->go_on = instruction_pointer(regs);
	h->turn = h->set->probes;
	run_post(cpu, h);
}

__noprobe bool probe_hit_step(struct pt_regs *regs, struct trap *t)
{
	struct cpu *cpu = this_cpu();
	struct hit *h = level_stepping(cpu);
	bool again = false;

	if (!h)
		return false;
	if (!arch_probe_step_end(&h->step, &h->site->insn, regs, &again))
		return again;
	h->stepping = false;
	displaced(cpu, h, regs);
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
	struct hit *h = level_stepping(this_cpu());

	if (!h || t->pc != h->site->exec.at + h->site->insn.len)
		return false;
	instruction_pointer_set(regs, t->pc);
	return probe_hit_step(regs, t);
}

/* Through a jump: called by detours ------------------------------------------- */

/*
 * Post-handlers have to know the end. Where emulation does not tell it, the detour
 * comes back behind its displaced instruction, or else that is stepped. The set
 * may be newer than the detour.
 */
static __always_inline void displace_in_detour(struct cpu *cpu, struct hit *h)
{
	const struct detour_code *code = &h->detour->code;

	if (h->go_on != code->displaced) {
		go_on(cpu, h, h->go_on);
	} else if (code->post) {
		/* Interrupts stay off to the end, as they do in a step. */
		h->irqs = regs_irqs_enabled(h->regs);
		regs_irqs_set(h->regs, false);
		instruction_pointer_set(h->regs, code->displaced);
	} else if (likely(!h->set->post)) {
		go_on(cpu, h, code->displaced);
	} else {
		h->go_on = READ_ONCE(h->site->run_at);
		displace_with_care(cpu, h);
	}
}

static __noprobe void resume_detour(struct cpu *cpu, struct hit *h)
{
	instruction_pointer_set(h->regs, h->site->addr);
	h->turn++;
	call_pre(h);
	displace_in_detour(cpu, h);
}

/* The displaced code of a detour with post-handlers would want a level. */
static __noprobe void detour_nested(struct pt_regs *regs,
				    const struct detour *d)
{
	miss_all(READ_ONCE(d->site->set));
	instruction_pointer_set(regs,
				d->code.post ? d->site->exec.at + ARCH_STEP_SIZE
					     : d->code.displaced);
}

__noprobe void probe_hit_detour(struct pt_regs *regs, const struct detour *d)
{
	struct cpu *cpu = this_cpu();
	struct hit *h;

	instruction_pointer_set(regs, d->site->addr);
	if (unlikely(cpu->hit_levels > 0)) {
		detour_nested(regs, d);
		return;
	}
	h = level_begin(cpu);
	fill(h, d->site, regs);
	h->detour = d;
	h->go_on = d->code.displaced;
	h->turn = h->set->probes;
	h->resume = resume_detour;
	h->preempt_count = current->preempt_count;
	call_pre(h);
	displace_in_detour(cpu, h);
}

/* ... here the displaced instruction runs ... */

__noprobe void probe_hit_detour_post(struct pt_regs *regs,
				     const struct detour *d)
{
	struct cpu *cpu = this_cpu();
	struct hit *h = cpu->hits;

	regs_irqs_set(regs, h->irqs);
	instruction_pointer_set(regs, d->code.back);
	displaced(cpu, h, regs);
}

__noprobe void probe_hit_direct_abandoned(struct hit *h)
{
	h->go_on = h->detour->code.displaced;
	h->resume = resume_detour;
	h->preempt_count = arch_detour_preempt(h->regs);
}
