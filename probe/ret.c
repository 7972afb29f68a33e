// SPDX-License-Identifier: MIT
/*
 * Return probes, in execution order. docs/ret.md has the drawings.
 *
 *	entry	the function's probe: ret_enter() notes where the function will
 *		return to on the thread's shadow stack, and makes it return to
 *		ret_trampoline instead
 *	return	arch/<A>/ret.S calls ret_return(), which takes the note off,
 *		calls the handler, and says where to go
 *
 * Notes are found by stack pointer. Stacks grow down, so what lies on the same
 * stack at or below the frame that is entered, or below the one that returns,
 * belongs to calls that will never return: longjmp left them. They are dropped and
 * counted as skipped. Only of the thread's own stack are the bounds known;
 * notes of calls on any other stack are dropped when another call is found in
 * their very place, and at the end of the thread.
 *
 * Several notes may have one stack pointer: several probes of a function, or tail
 * calls. All of them return at once, the last one first.
 *
 * Interrupts are off throughout, and a hit in here calls nobody, so an NMI never
 * sees a stack that is being changed. No locks, no allocation, no-probe.
 */
#include <arch/cpu.h>
#include <arch/ret.h>
#include <arch/trap.h>
#include <kernel/panic.h>
#include <kernel/percpu.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <probe/ret.h>
#include "level.h"
#include "owner.h"

#define TRAMPOLINE ((unsigned long)ret_trampoline)

/* The slot of the return address held ret_trampoline, or does from now on. */
#define RET_HIJACKED BIT(0)

__noprobe int ret_call_nothing(struct kretprobe_instance *ri __unused,
			       struct pt_regs *regs __unused)
{
	return 0;
}

/* Notes ------------------------------------------------------------------------ */

static __always_inline bool is_own_stack(const struct thread *t,
					 unsigned long sp)
{
	return t->stack_top - sp <= THREAD_STACK_SIZE;
}

static __always_inline bool same_stack(const struct thread *t, unsigned long a,
				       unsigned long b)
{
	return a == b || (is_own_stack(t, a) && is_own_stack(t, b));
}

/* Takes @ri off, wherever it is. What it holds stays until the next entry. */
static __noprobe void take(struct ret_stack *stack,
			   struct kretprobe_instance *ri)
{
	ri->sp = 0;
	while (stack->top->sp == 0)
		stack->top = ret_below(stack->top);
}

static __noprobe void skip(struct ret_stack *stack,
			   struct kretprobe_instance *ri)
{
	ret_count(&ri->owner->skipped);
	take(stack, ri);
}

/* The last one of frame @sp, or NULL. */
static __noprobe struct kretprobe_instance *find(struct ret_stack *stack,
						 unsigned long sp)
{
	struct kretprobe_instance *ri = stack->top;

	while (ri->below > 0 && ri->sp != sp)
		ri = ret_below(ri);
	return ri->below > 0 ? ri : NULL;
}

/* Entry ------------------------------------------------------------------------ */

/*
 * Frame @sp is entered and will return to @to, but its place is taken by @ri: by
 * other probes of the same function, or by the function that ended in a jump to
 * this one; or is that a call which never returned?
 */
static __noprobe bool is_stale(const struct kretprobe_instance *ri,
			       unsigned long to)
{
	return to != TRAMPOLINE && (ri->flags & RET_HIJACKED);
}

/*
 * At the entry of frame @sp, others are noted at or below it. Drops those that
 * are gone; true, with the true address in *to, if there is a way back.
 */
static __noprobe bool enter_slowly(struct ret_stack *stack, unsigned long sp,
				   unsigned long *to)
{
	struct kretprobe_instance *ri = stack->top;

	for (; ri->below > 0; ri = ret_below(ri)) {
		bool gone = ri->sp == sp ? is_stale(ri, *to) : ri->sp < sp;

		if (ri->sp == 0)
			continue;
		if (gone && same_stack(current, ri->sp, sp))
			skip(stack, ri);
	}
	if (*to != TRAMPOLINE)
		return true;
	ri = find(stack, sp);
	if (ri)
		*to = ri->ret_addr;
	return ri;
}

/* Is there room for @ri? Beyond the soft limit, there should be more soon. */
static __noprobe bool has_room(struct ret_stack *stack,
			       const struct kretprobe_instance *ri,
			       unsigned size)
{
	stack->tight = true;
	return (const char *)ri + size <= stack->end;
}

/* After @entered were counted. Calls that end meanwhile may be seen or not. */
static __noprobe bool is_full(const struct kretprobe *rp,
			      const struct ret_owner *owner, u64 entered)
{
	return entered - READ_ONCE(owner->returned) -
		       READ_ONCE(owner->skipped) >=
	       (u64)rp->maxactive;
}

/* Counts one more, unless that were too many. */
static __noprobe bool admit(const struct kretprobe *rp, struct ret_owner *owner)
{
	u64 before = __atomic_fetch_add(&owner->entered, 1, __ATOMIC_RELAXED);

	if (!is_full(rp, owner, before))
		return true;
	__atomic_fetch_sub(&owner->entered, 1, __ATOMIC_RELAXED);
	return false;
}

static __noprobe int miss(struct kretprobe *rp)
{
	__atomic_fetch_add(&rp->nmissed, 1, __ATOMIC_RELAXED);
	return 0;
}

__noprobe int ret_enter(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = kretprobe_of(p);
	struct ret_owner *owner = rp->owner;
	struct ret_stack *stack = &current->ret;
	unsigned long sp = kernel_stack_pointer(regs);
	unsigned long to = arch_ret_address(regs);
	struct kretprobe_instance *ri;

	if (unlikely(stack->top->sp <= sp) && !enter_slowly(stack, sp, &to))
		return miss(rp);
	ri = ret_above(stack->top);
	if (unlikely((char *)ri + owner->size > stack->soft) &&
	    !has_room(stack, ri, owner->size))
		return miss(rp);
	if (unlikely(rp->maxactive > 0) && is_full(rp, owner, owner->entered))
		return miss(rp);
	ri->owner = owner;
	ri->ret_addr = to;
	ri->sp = sp;
	ri->size = owner->size;
	ri->below = stack->top->size;
	ri->flags = RET_HIJACKED;
	if (rp->entry_handler && rp->entry_handler(ri, regs))
		return 0;
	/* An entry handler that was abandoned has left no trace. */
	if (likely(rp->maxactive <= 0))
		ret_count(&owner->entered);
	else if (!admit(rp, owner))
		return miss(rp);
	stack->top = ri;
	arch_ret_address_set(regs, TRAMPOLINE);
	return 0;
}

/* Return ----------------------------------------------------------------------- */

/* @ri is off its stack. */
static __always_inline void call(struct hit *h, struct kretprobe_instance *ri)
{
	struct ret_owner *owner = ri->owner;

	h->turn = &owner->kp;
	instruction_pointer_set(h->regs, h->go_on);
	ret_count(&owner->returned);
	owner->call(ri, h->regs);
}

static __always_inline void end(struct cpu *cpu, struct hit *h)
{
	instruction_pointer_set(h->regs, h->go_on);
	level_end(cpu);
}

/* All that are left of frame h->frame, wherever they are. */
static __noprobe void run_slowly(struct cpu *cpu, struct hit *h)
{
	struct ret_stack *stack = &current->ret;
	struct kretprobe_instance *ri;

	while ((ri = find(stack, h->frame))) {
		take(stack, ri);
		cpu->hit_turns++;
		call(h, ri);
	}
	end(cpu, h);
}

static __always_inline struct hit *begin(struct cpu *cpu, struct pt_regs *regs,
					 const struct kretprobe_instance *ri)
{
	struct hit *h = level_begin(cpu);

	h->regs = regs;
	h->go_on = ri->ret_addr;
	h->frame = ri->sp;
	h->resume = run_slowly;
	h->preempt_count = current->preempt_count;
	return h;
}

static __noprobe __noclone __noreturn void lost(struct pt_regs *regs,
						struct ret_stack *stack)
{
	const struct kretprobe_instance *last = ret_above(stack->top);
	const struct ret_owner *owner = ret_owner_check(last->owner);

	instruction_pointer_set(regs, TRAMPOLINE);
	panic_regs(regs,
		   "a return to where probed functions return, but none is "
		   "under way; the last one that did was %pS, to %pS",
		   owner ? (void *)owner->addr : NULL,
		   owner ? (void *)last->ret_addr : NULL);
}

/*
 * The note of the frame that returns with the stack pointer @sp. Functions that
 * pop more than their return address had a lower one.
 */
static __noprobe struct kretprobe_instance *find_frame(struct ret_stack *stack,
						       unsigned long sp)
{
	struct kretprobe_instance *ri = find(stack, sp), *best = NULL;

	if (ri || !ARCH_RET_POPS)
		return ri;
	for (ri = stack->top; ri->below > 0; ri = ret_below(ri)) {
		if (ri->sp < sp && same_stack(current, ri->sp, sp) &&
		    (!best || ri->sp > best->sp))
			best = ri;
	}
	return best;
}

/* The note of what returns now, once those of skipped frames are dropped. */
static __noprobe struct kretprobe_instance *settle(struct ret_stack *stack,
						   struct pt_regs *regs)
{
	struct kretprobe_instance *found, *ri;

	found = find_frame(stack, arch_ret_frame(regs));
	if (!found)
		lost(regs, stack);
	for (ri = stack->top; ri != found; ri = ret_below(ri)) {
		if (ri->sp && ri->sp < found->sp &&
		    same_stack(current, ri->sp, found->sp))
			skip(stack, ri);
	}
	return found;
}

__noprobe void ret_return(struct pt_regs *regs)
{
	struct cpu *cpu = this_cpu();
	struct ret_stack *stack = &current->ret;
	struct kretprobe_instance *ri = stack->top;
	unsigned long sp = arch_ret_frame(regs);
	struct hit *h;

	if (unlikely(ri->sp != sp)) {
		ri = settle(stack, regs);
		run_slowly(cpu, begin(cpu, regs, ri));
		return;
	}
	h = begin(cpu, regs, ri);
	do {
		stack->top = ret_below(ri);
		call(h, ri);
		ri = stack->top;
	} while (unlikely(ri->sp == sp));
	end(cpu, h);
}

/* Off the straight path --------------------------------------------------------- */

/*
 * The function added something to its return address and found ret_trampoline
 * there. It meant the true one; but only within the function that called it is
 * there anything that it may know of.
 */
__noprobe bool ret_hit_beside(struct pt_regs *regs, struct trap *t)
{
	unsigned long off = t->pc - TRAMPOLINE;
	struct ret_stack *stack = &current->ret;
	struct kretprobe_instance *ri;
	struct symbol sym;
	struct hit *h;

	if (t->pc < (unsigned long)ret_pad_start ||
	    t->pc >= (unsigned long)ret_pad_end)
		return false;
	ri = settle(stack, regs);
	if (symtab_lookup(ri->ret_addr, &sym) ||
	    ri->ret_addr + off - sym.addr >= sym.size)
		panic_regs(regs, "%pS changed its return address, %pS by %ld",
			   (void *)ri->owner->addr, (void *)ri->ret_addr,
			   (long)off);
	ret_count(&ri->owner->changed);
	h = begin(this_cpu(), regs, ri);
	h->go_on += off;
	run_slowly(this_cpu(), h);
	return true;
}

void ret_thread_gone(struct thread *t)
{
	struct kretprobe_instance *ri;

	while ((ri = t->ret.top)->below > 0)
		skip(&t->ret, ri);
}
