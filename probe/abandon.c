// SPDX-License-Identifier: MIT
/*
 * Off the straight path of hit.c: the displaced instruction faults, a handler
 * faults, a handler does not return.
 *
 * A handler can be abandoned at any instruction. Everything above its level is
 * dropped, its probe is switched off, and the hit goes on behind it in the
 * level's resume(), on the stack of the probed code. Only level 0 calls
 * handlers, so there is only one that can be abandoned.
 *
 * Everything that traps call is no-probe, takes no lock and allocates nothing.
 */
#include <arch/cpu.h>
#include <arch/probe.h>
#include <arch/regs.h>
#include <arch/ret.h>
#include <kernel/console.h>
#include <kernel/main.h>
#include <kernel/percpu.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <lib/printf.h>
#include <probe/hit.h>
#include "detour.h"
#include "level.h"
#include "region.h"
#include "site.h"

/* Level 0 of a direct detour: a mark, and where nobody's turn is. */
static struct kprobe *const nobody;
static __noprobe void resume_direct(struct cpu *cpu __unused,
				    struct hit *h __unused)
{
}

__noprobe void level_settle(struct cpu *cpu)
{
	struct hit *h = cpu->hits;
	unsigned long stored = READ_ONCE(cpu->hit_levels);

	if (likely(stored <= HIT_LEVELS))
		return;
	/* In an NMI within these lines the same happens. */
	h->regs = arch_detour_frame(stored);
	h->turn = &nobody;
	h->resume = resume_direct;
	h->stepping = h->faulting = false;
	barrier();
	cpu->hit_levels = 1;
}

/*
 * Finds out whose turn it is in a direct detour or return that @regs interrupted, and makes
 * its hit one that can be taken up.
 */
static __noprobe void level_complete(struct hit *h, const struct pt_regs *regs)
{
	const struct detour *d;

	h->turn = &nobody;
	if (arch_ret_made(h->regs)) {
		if (!ret_is_in_body(instruction_pointer(regs)))
			h->turn = ret_turn();
		return;
	}
	if (!arch_detour_calls(h->regs, regs))
		return;
	d = detour_of(h->regs);
	h->site = d->site;
	h->set = d->set;
	h->detour = d;
	h->turn = &d->set->probes[arch_detour_call(&d->code, h->regs)];
}

static __noprobe bool in_copy(const struct hit *h, unsigned long pc)
{
	return pc >= h->site->exec.at && pc < h->site->exec.at + ARCH_STEP_SIZE;
}

static __noprobe bool in_displaced(const struct detour *d, unsigned long pc)
{
	return pc >= d->code.displaced && pc < d->code.displaced_end;
}

__noprobe bool probe_hit_fault(struct pt_regs *regs, struct trap *t)
{
	struct cpu *cpu = this_cpu();
	struct hit *h = level_stepping(cpu);
	const struct exec *x = exec_at(t->pc);

	if (!x)
		return false;
	if (h && in_copy(h, t->pc)) {
		/* The copy faulted: the original did, and this hit is over. */
		arch_probe_step_abort(&h->step, &h->site->insn, regs);
		h->stepping = false;
		level_end(cpu);
	} else if (x->detour && x->detour->code.post &&
		   in_displaced(x->detour, t->pc)) {
		/* The same; interrupts were off only for post-handlers. */
		regs_irqs_set(regs, cpu->hits->irqs);
		instruction_pointer_set(regs, x->site->addr);
		level_end(cpu);
	} else if (x->detour && x->detour->region) {
		instruction_pointer_set(regs,
					region_original(x->detour, t->pc));
	} else {
		/* So did the relocated form; its hit was over already. */
		instruction_pointer_set(regs, x->site->addr);
	}
	t->pc = instruction_pointer(regs);
	return false;
}

__noprobe void probe_hit_watched(struct trap *t)
{
	const struct exec *x = exec_at(t->pc);

	if (x && x->detour && x->detour->region)
		t->pc = region_original(x->detour, t->pc);
	else if (x)
		t->pc = x->site->addr + x->site->insn.len;
}

static __always_inline bool is_direct(const struct hit *h)
{
	return READ_ONCE(h->resume) == resume_direct;
}

/*
 * The probe whose handler @regs are in, or what that called; or NULL. An NMI is
 * not its handler's.
 */
static __noprobe struct kprobe *running(struct cpu *cpu,
					const struct pt_regs *regs)
{
	if (cpu->hit_levels == 0 || cpu->hit_in_nmi)
		return NULL;
	level_settle(cpu);
	if (is_direct(cpu->hits))
		level_complete(cpu->hits, regs);
	return *cpu->hits->turn;
}

/*
 * A handler must not hold a lock when it is abandoned: so it never gets one. What
 * it did is noted for its trap, which nobody but abandon() can repair.
 */
static DEFINE_PER_CPU(const char *, wanted_lock);
static DEFINE_PER_CPU(unsigned long, wanted_at);

void probe_hit_keep_out(const char *lock, const void *pc)
{
	if (likely(!probe_hit_in_handler()) || this_cpu()->hit_in_nmi ||
	    system_state == SYSTEM_PANIC)
		return;
	WRITE_ONCE(this_cpu_ref(wanted_at), (unsigned long)pc);
	WRITE_ONCE(this_cpu_ref(wanted_lock), lock);
	for (;;)
		__builtin_trap();
}

/* On the stack of the probed code: the hit goes on behind that handler. */
static __noprobe void restart(struct pt_regs *regs __unused)
{
	struct cpu *cpu = this_cpu();

	cpu->hits->resume(cpu, cpu->hits);
}

/*
 * Gives up the handler that is being called, wherever it is: @regs are those of
 * a trap that interrupted it, or something that it called.
 */
static __noprobe void abandon(struct pt_regs *regs, enum kprobe_verdict why,
			      unsigned long pc)
{
	struct cpu *cpu = this_cpu();
	struct hit *h = cpu->hits;
	struct kprobe *p = *h->turn;

	p->verdict_pc = pc;
	p->verdict_lock = this_cpu_ref(wanted_lock);
	WRITE_ONCE(this_cpu_ref(wanted_lock), NULL);
	console_abandon();
	WRITE_ONCE(p->verdict, why);
	kprobe_stop(p, KPROBE_FLAG_DISABLED);
	session_clock_stop(p);
	session_blame(p);
	for (; cpu->hit_levels > 1; cpu->hit_levels--)
		cpu->hits[cpu->hit_levels - 1].stepping = false;
	h->faulting = false;
	if (is_direct(h) && arch_ret_made(h->regs))
		ret_abandoned(h);
	else if (is_direct(h))
		probe_hit_direct_abandoned(h);
	/* Others may have sent an NMI for the same call: it comes too late. */
	cpu->hit_turns++;
	current->preempt_count = h->preempt_count;
	arch_trap_restart(regs, h->regs, restart);
}

/* Nobody else wanted this fault: is it a handler's? */
__noprobe bool probe_hit_handler_fault(struct pt_regs *regs, struct trap *t)
{
	struct hit *h = this_cpu()->hits;
	struct kprobe *p = running(this_cpu(), regs);
	bool locked = READ_ONCE(this_cpu_ref(wanted_lock));
	bool overflow = t->kind == TRAP_DOUBLE_FAULT, handled = false;
	unsigned long pc;

	if (!p)
		return false;
	if (locked) {
		abandon(regs, KPROBE_LOCKED, this_cpu_ref(wanted_at));
		return true;
	}
	if (p->fault_handler && !h->faulting && !overflow) {
		h->faulting = true;
		handled = p->fault_handler(p, regs, t->kind);
		h->faulting = false;
		pc = region_actual(instruction_pointer(regs));
		instruction_pointer_set(regs, pc);
	}
	if (!handled)
		abandon(regs, overflow ? KPROBE_OVERFLOWED : KPROBE_FAULTED,
			t->pc);
	return true;
}

bool probe_hit_interrupted(struct pt_regs *regs, struct trap *t)
{
	if (likely(!probe_hit_in_handler()))
		return false;
	regs_irqs_set(regs, false);
	arch_irq_postpone(t);
	return true;
}

/*
 * The hit, and how far it has come in its set. Read from another CPU, the two
 * may not belong together; but then they change before long.
 */
__noprobe u64 probe_hit_turn(const struct cpu *cpu)
{
	u64 hit = READ_ONCE(cpu->hit_turns),
	    levels = READ_ONCE(cpu->hit_levels);
	unsigned long turn = (unsigned long)READ_ONCE(cpu->hits->turn);

	if (levels == 0)
		return 0;
	/* Each of its calls counts as a hit. */
	if (levels > HIT_LEVELS || is_direct(cpu->hits))
		turn = 0;
	return hit << 16 | (turn / sizeof(struct kprobe *) & 0xffff);
}

__noprobe bool probe_hit_overdue(struct pt_regs *regs, u64 turn)
{
	struct cpu *cpu = this_cpu();

	/* In this order: level 0 may be one that is not filled yet. */
	if (probe_hit_turn(cpu) != turn || !running(cpu, regs))
		return false;
	abandon(regs, KPROBE_OVERDUE, instruction_pointer(regs));
	return true;
}

/* No-probe: stepped, it would see its own hit. */
__noprobe bool probe_hit_in_handler(void)
{
	unsigned long flags;
	bool in_handler;

	if (likely(this_cpu()->hit_levels == 0))
		return false;
	/* Or the number was another CPU's: handlers do not migrate, others may. */
	flags = arch_irq_save();
	in_handler = this_cpu()->hit_levels > 0;
	arch_irq_restore(flags);
	return in_handler;
}

__noprobe bool probe_hit_nmi_enter(void)
{
	struct cpu *cpu = this_cpu();
	bool before = cpu->hit_in_nmi;

	cpu->hit_in_nmi = cpu->hit_levels > 0;
	return before;
}

__noprobe void probe_hit_nmi_exit(bool before)
{
	this_cpu()->hit_in_nmi = before;
}

const char *probe_hit_describe(const struct pt_regs *regs)
{
	static char text[128];
	struct cpu *cpu = this_cpu();
	const struct kprobe *p = running(cpu, regs);
	const struct hit *h;

	level_settle(cpu);
	h = &cpu->hits[cpu->hit_levels - 1];
	if (cpu->hit_levels == 0 || (is_direct(h) && !p))
		return "";
	snprintf(text, sizeof(text), "\n  in %s of the probe at %pS",
		 p ? "a handler" : "a hit",
		 (void *)(p ? p->addr : h->site->addr));
	return text;
}
