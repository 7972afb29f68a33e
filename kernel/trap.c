// SPDX-License-Identifier: MIT
/*
 * Whose is it? One table for both machines: per kind of trap the claimants in
 * order. The first that says "mine" ends the search; if none does, the trap is
 * fatal. vectors.S calls trap() for everything, with interrupts off; but
 * breakpoints go to probe_hit_break() first, since that is all most of them need.
 *
 *	breakpoint	the end of a step; text being patched; as a fault
 *	step		the end of a probe's step; as a fault
 *	any fault	a probe's copy of the instruction (then it looks like the
 *			original's fault, and the search goes on); the
 *			exception table; a handler, which is abandoned
 *	interrupt	the controller
 *	NMI		a panic elsewhere; a cross-CPU NMI call
 *
 * trap() itself and what it calls for breakpoints and steps is on the hit path:
 * no-probe, no locks, no allocation.
 */
#include <arch/regs.h>
#include <kernel/extable.h>
#include <kernel/panic.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <kernel/trap.h>
#include <kernel/vm.h>
#include <probe/hit.h>
#include <probe/patch.h>
#include <probe/ret.h>
#include <probe/watch.h>

typedef bool (*claim_fn)(struct pt_regs *regs, struct trap *t);

static DEFINE_PER_CPU(struct trap, repaired);

const struct trap *trap_last_repaired(void)
{
	return &this_cpu_ref(repaired);
}

static __noprobe bool claim_patch(struct pt_regs *regs, struct trap *t)
{
	return patch_hit_break(t->pc, regs);
}

static __noprobe bool claim_extable(struct pt_regs *regs, struct trap *t)
{
	unsigned long fixup = extable_find(t->pc);

	if (!fixup)
		return false;
	this_cpu_ref(repaired) = *t;
	instruction_pointer_set(regs, fixup);
	return true;
}

/* A watched access in a stepped copy: the step has ended all the same. */
static __noprobe bool claim_step_too(struct pt_regs *regs, struct trap *t)
{
	if (t->flags & TRAP_ALSO_STEP)
		probe_hit_step(regs, t);
	t->pc = instruction_pointer(regs);
	probe_hit_watched(t);
	return false;
}

bool (*trap_tracer)(struct pt_regs *regs);

static __noprobe bool claim_tracer(struct pt_regs *regs,
				   struct trap *t __unused)
{
	bool (*tracer)(struct pt_regs * regs) = READ_ONCE(trap_tracer);

	return tracer && tracer(regs);
}

static bool claim_interrupt(struct pt_regs *regs, struct trap *t)
{
	arch_irq_dispatch(regs, t);
	return true;
}

static __noprobe bool claim_nmi(struct pt_regs *regs, struct trap *t __unused)
{
	bool mine, before;

	panic_nmi(regs);
	before = probe_hit_nmi_enter();
	mine = smp_nmi_handle(regs);
	mine |= probe_watch_nmi_poll();
	probe_hit_nmi_exit(before);
	/* Last: it may change where we go on. */
	mine |= probe_watch_nmi(regs);
	return mine || smp_nmi_was_sent();
}

#define CLAIMS_MAX 6 /* the last one is NULL */

/* clang-format off */
static const struct {
	const char *name;
	claim_fn claims[CLAIMS_MAX];
} rules[TRAP_KIND_COUNT] = {
	[TRAP_BREAKPOINT]    = { "breakpoint",
				 { probe_hit_overran, claim_patch,
				   ret_hit_beside, claim_extable, probe_hit_handler_fault } },
	[TRAP_STEP]	     = { "single step",
				 { probe_hit_step, claim_tracer, claim_extable,
				   probe_hit_handler_fault } },
	[TRAP_WATCH]	     = { "watchpoint",
				 { claim_step_too, claim_extable } },
	[TRAP_ILLEGAL]	     = { "illegal instruction",
				 { probe_hit_fault, claim_extable,
				   probe_hit_handler_fault } },
	[TRAP_PRIVILEGED]    = { "privileged or protected",
				 { probe_hit_fault, claim_extable,
				   probe_hit_handler_fault } },
	[TRAP_TRAP]	     = { "trap instruction",
				 { probe_hit_fault, claim_extable,
				   probe_hit_handler_fault } },
	[TRAP_MEMORY]	     = { "memory access",
				 { probe_hit_fault, claim_extable,
				   probe_hit_handler_fault } },
	[TRAP_ALIGNMENT]     = { "alignment",
				 { probe_hit_fault, claim_extable,
				   probe_hit_handler_fault } },
	[TRAP_FLOAT]	     = { "floating point or vector",
				 { probe_hit_fault, claim_extable,
				   probe_hit_handler_fault } },
	[TRAP_ARITHMETIC]    = { "arithmetic",
				 { probe_hit_fault, claim_extable,
				   probe_hit_handler_fault } },
	[TRAP_INTERRUPT]     = { "interrupt",
				 { probe_hit_interrupted, claim_interrupt } },
	[TRAP_NMI]	     = { "NMI", { claim_nmi } },
	[TRAP_DOUBLE_FAULT]  = { "double fault",
				 { probe_hit_fault, probe_hit_handler_fault } },
	[TRAP_MACHINE_CHECK] = { "machine check", { NULL } },
	[TRAP_SYSCALL]	     = { "system call",
				 { claim_extable, probe_hit_handler_fault } },
	[TRAP_UNKNOWN]	     = { "unknown",
				 { claim_extable, probe_hit_handler_fault } },
};
/* clang-format on */

const char *trap_kind_name(enum trap_kind kind)
{
	return rules[kind].name;
}

static __noreturn void fatal(const struct pt_regs *regs, const struct trap *t)
{
	const char *where = "";

	if (t->kind == TRAP_MEMORY || t->kind == TRAP_DOUBLE_FAULT) {
		if (vm_is_guard(t->addr) ||
		    vm_is_guard(kernel_stack_pointer(regs)))
			where = ", stack overflow";
		else if (t->addr < PAGE_SIZE && t->kind == TRAP_MEMORY)
			where = ", NULL pointer";
	}
	panic_regs(
		regs,
		"%s at %pS%s%s%s\n  vector 0x%x code 0x%lx address 0x%lx%s%s",
		t->name, (void *)t->pc, t->flags & TRAP_WRITE ? ", write" : "",
		t->flags & TRAP_EXEC ? ", instruction fetch" : "", where,
		t->vector, t->code, t->addr,
		t->flags & TRAP_REAL_MODE ? ", real mode" : "",
		probe_hit_describe(regs));
}

__noprobe void trap(struct pt_regs *regs)
{
	struct trap t;
	const claim_fn *claim;

	arch_trap_decode(regs, &t);
	this_cpu()->traps[t.kind]++;
	claim = rules[t.kind].claims;
	while (*claim && !(*claim)(regs, &t))
		claim++;
	if (unlikely(!*claim))
		fatal(regs, &t);
	if (t.kind == TRAP_INTERRUPT)
		sched_irq_exit(regs);
}
