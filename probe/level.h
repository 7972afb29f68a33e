/* SPDX-License-Identifier: MIT */
/*
 * Inside the engine: the hits under way on a CPU. Only its own CPU touches them,
 * with interrupts off.
 *
 * Level 0 is the hit that calls handlers, of whatever arming. Those above are
 * hits in its handlers, in an NMI, or in what handles a fault: they call nobody
 * and only remember the step of their instruction.
 *
 * A handler can be dropped at any instruction, so what a hit needs to go on is
 * here and not in local variables: resume() is called on the stack of the probed
 * code, and takes up the hit behind the handler that @turn still points to.
 *
 * A direct detour (<arch/detour.h>) has no level. It stores its frame in place of
 * the number of levels, which is above HIT_LEVELS then, and the rest of the
 * machine treats that as level 0 under way. level_settle() makes a level 0 of it
 * for who wants to use one above; it need not be undone, as the detour stores 0
 * in the end. Its turn is found out only when somebody asks.
 */
#ifndef SONDE_PROBE_LEVEL_H
#define SONDE_PROBE_LEVEL_H

#include <arch/detour.h>
#include <arch/probe.h>
#include <kernel/percpu.h>

struct detour;
struct probe_set;
struct site;

/* Handler, its NMI, a handler's fault, its NMI: more is a runaway. */
#define HIT_LEVELS 8

struct hit {
	struct site *site;
	struct pt_regs *regs; /* of the breakpoint, then of the step */
	/* Whose handler is being called; where it points to NULL, nobody's. */
	struct kprobe *const *turn;
	void (*resume)(struct cpu *cpu, struct hit *h);
	const struct probe_set *set; /* as it was when the hit began */
	unsigned long go_on; /* pc after the handlers; 0: displace() decides */
	unsigned long frame; /* ret.c: which one returns */
	unsigned preempt_count; /* of the probed code */
	bool stepping;		/* false while the level is free */
	bool faulting;		/* a fault handler is being asked */
	bool irqs; /* of the probed code, while a detour has them off */
	u64 since; /* of the handler, if its time is measured; or 0 */
	const struct detour *detour; /* if it is one's */
	/* retsite.c: of the hit in which return handlers are called */
	struct kprobe *const *outer_turn;
	void (*outer_resume)(struct cpu *cpu, struct hit *h);
	struct arch_step step;
};

/*
 * Level 0 becomes this CPU's hit under way: counted first, so that an NMI which
 * was meant for the hit before does not take this one for it, and taken before
 * it is filled, so that a hit in an NMI uses the next.
 */
static __always_inline struct hit *level_begin(struct cpu *cpu)
{
	cpu->hit_turns++;
	barrier();
	cpu->hit_levels = 1;
	barrier();
	return cpu->hits;
}

static __always_inline void level_end(struct cpu *cpu)
{
	barrier();
	cpu->hit_levels--;
}

static __always_inline bool level_is_direct(const struct cpu *cpu)
{
	return cpu->hit_levels > HIT_LEVELS;
}

/* abandon.c: from here on the number of levels is one. */
void level_settle(struct cpu *cpu);

/* hit.c: the handler that a direct detour was calling is: now it has a level. */
void probe_hit_direct_abandoned(struct hit *h);

/* The innermost hit of @cpu if its copy is being stepped, or NULL. */
static __always_inline struct hit *level_stepping(struct cpu *cpu)
{
	struct hit *h = &cpu->hits[cpu->hit_levels - 1];
	bool has_one = cpu->hit_levels > 0 && !level_is_direct(cpu);

	return has_one && h->stepping ? h : NULL;
}

#endif
