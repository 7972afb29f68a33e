// SPDX-License-Identifier: MIT
/*
 * Return probes, in execution order. docs/ret.md has the drawings.
 *
 *	entry	the function's probe: ret_enter() notes where the function will
 *		return to on the thread's shadow stack, and makes it return to
 *		ret_landing instead
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

#define LANDING ((unsigned long)ret_landing)

STATIC_ASSERT(offsetof(struct thread, preempt_count) == THREAD_PREEMPT);
STATIC_ASSERT(offsetof(struct thread, ret.top) == THREAD_RET_TOP);
STATIC_ASSERT(offsetof(struct ret_stack, free) ==
	      offsetof(struct ret_stack, top) + 8);
STATIC_ASSERT(offsetof(struct kretprobe_instance, owner) == RI_OWNER);
STATIC_ASSERT(offsetof(struct kretprobe_instance, ret_addr) == RI_RET_ADDR);
STATIC_ASSERT(offsetof(struct kretprobe_instance, sp) == RI_SP);
STATIC_ASSERT(offsetof(struct kretprobe_instance, below) == RI_BELOW);
STATIC_ASSERT(IS_ALIGNED(sizeof(struct kretprobe_instance), 16UL));
STATIC_ASSERT(offsetof(struct ret_owner, kp) == OWNER_KP && OWNER_KP == 0);
STATIC_ASSERT(offsetof(struct ret_owner, call) == OWNER_CALL);
STATIC_ASSERT(offsetof(struct ret_owner, returned) == OWNER_RETURNED);

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
	for (; stack->top->sp == 0; stack->top = stack->top->below)
		stack->free = stack->top;
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

	while (ri->below && ri->sp != sp)
		ri = ri->below;
	return ri->below ? ri : NULL;
}

/* Is a call of @owner noted at @sp? */
static __noprobe bool is_noted(struct ret_stack *stack, unsigned long sp,
			       const struct ret_owner *owner)
{
	const struct kretprobe_instance *ri = stack->top;

	while (ri->below && (ri->sp != sp || ri->owner != owner))
		ri = ri->below;
	return ri->below;
}

/* Entry ------------------------------------------------------------------------ */

/*
 * At the entry of frame @sp, which will return to @to, others are noted at or
 * below it. Those below are gone. Those in its very place are of other probes of
 * the same function, or of a function that ended in a jump to this one, if their
 * change of the return address still stands; else they are gone as well. Those
 * that change none (retsite.c) must return to the same place, and be of others.
 *
 * True, with the true address in *to, if there is a way back.
 */
static __noprobe bool enter_again(struct ret_stack *stack,
				  const struct ret_owner *owner,
				  unsigned long sp, unsigned long *to)
{
	struct kretprobe_instance *ri = stack->top, *below;
	bool again, gone;

	if (likely(ri->sp == sp && *to == LANDING)) {
		*to = ri->ret_addr;
		return true;
	}
	again = is_noted(stack, sp, owner);
	for (; ri->below; ri = below) {
		below = ri->below;
		if (ri->sp == sp)
			gone = *to != LANDING && (!ri->owner->place_addrs ||
						  again || ri->ret_addr != *to);
		else
			gone = ri->sp && ri->sp < sp &&
			       same_stack(current, ri->sp, sp);
		if (gone)
			skip(stack, ri);
	}
	if (*to != LANDING)
		return !owner->place_addrs || ret_place_is_known(owner, *to);
	ri = find(stack, sp);
	if (ri)
		*to = ri->ret_addr;
	return ri;
}

/* Is there room for @size bytes? There should be more soon. */
static __noprobe bool has_room(struct ret_stack *stack, size_t size)
{
	stack->tight = true;
	return (char *)stack->free + size <= stack->end;
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

	if (rp->maxactive <= 0 || !is_full(rp, owner, before))
		return true;
	__atomic_fetch_sub(&owner->entered, 1, __ATOMIC_RELAXED);
	return false;
}

static __noprobe int miss(struct kretprobe *rp)
{
	__atomic_fetch_add(&rp->nmissed, 1, __ATOMIC_RELAXED);
	return 0;
}

static __always_inline void fill(struct kretprobe_instance *ri,
				 struct ret_owner *owner, unsigned long sp,
				 unsigned long to,
				 struct kretprobe_instance *below)
{
	ri->owner = owner;
	ri->ret_addr = to;
	ri->sp = sp;
	ri->below = below;
}

/* From here on the call is under way. */
static __always_inline void push(struct ret_stack *stack,
				 struct ret_owner *owner)
{
	struct kretprobe_instance *ri = stack->free;

	stack->top = ri;
	stack->free = (void *)((char *)ri + owner->size);
}

static __always_inline int hijack(struct ret_stack *stack,
				  struct ret_owner *owner, struct pt_regs *regs)
{
	push(stack, owner);
	*arch_ret_address(regs) = LANDING;
	return 0;
}

/* In general. If an entry handler is abandoned, nothing has happened. */
__noprobe int ret_enter(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = kretprobe_of(p);
	struct ret_owner *owner = rp->owner;
	struct ret_stack *stack = &current->ret;
	unsigned long sp = kernel_stack_pointer(regs);
	unsigned long to = *arch_ret_address(regs);

	if ((stack->top->sp <= sp || owner->place_addrs) &&
	    !enter_again(stack, owner, sp, &to))
		return miss(rp);
	if (unlikely((char *)stack->free + owner->size > stack->soft) &&
	    !has_room(stack, owner->size))
		return miss(rp);
	if (rp->maxactive > 0 && is_full(rp, owner, owner->entered))
		return miss(rp);
	fill(stack->free, owner, sp, to, stack->top);
	if (rp->entry_handler && rp->entry_handler(stack->free, regs))
		return 0;
	if (!admit(rp, owner))
		return miss(rp);
	if (!owner->place_addrs)
		return hijack(stack, owner, regs);
	push(stack, owner);
	return 0;
}

/* The usual: true if nothing is to be found out but the true address. */
static __always_inline bool prepare(struct ret_stack *stack,
				    struct ret_owner *owner,
				    struct pt_regs *regs)
{
	unsigned long sp = kernel_stack_pointer(regs);
	unsigned long to = *arch_ret_address(regs);
	const struct kretprobe_instance *top = stack->top;

	if (unlikely(top->sp <= sp)) {
		if (top->sp != sp || to != LANDING)
			return false;
		to = top->ret_addr;
	}
	if (unlikely((char *)stack->free + owner->size > stack->soft))
		return false;
	fill(stack->free, owner, sp, to, stack->top);
	return true;
}

/* Behind another probe of the function, or of one that ended in a jump to it. */
static __noprobe int enter_next(struct kprobe *p, struct pt_regs *regs)
{
	struct ret_owner *owner = kretprobe_of(p)->owner;
	struct ret_stack *stack = &current->ret;

	if (!prepare(stack, owner, regs))
		return ret_enter(p, regs);
	ret_count(&owner->entered);
	return hijack(stack, owner, regs);
}

/* In the usual case, with neither entry handler nor bound nor data. */
__noprobe int ret_enter_plain(struct kprobe *p, struct pt_regs *regs)
{
	struct ret_owner *owner = kretprobe_of(p)->owner;
	struct ret_stack *stack = &current->ret;
	struct kretprobe_instance *ri = stack->free, *top = stack->top;
	unsigned long sp = kernel_stack_pointer(regs);
	unsigned long *ret = arch_ret_address(regs);

	if (unlikely(top->sp <= sp) || unlikely((char *)(ri + 1) > stack->soft))
		return enter_next(p, regs);
	fill(ri, owner, sp, *ret, top);
	stack->top = ri;
	stack->free = ri + 1;
	*ret = LANDING;
	ret_count(&owner->entered);
	return 0;
}

/* Nothing is kept in registers across the handler: they cost more. */
static __noprobe int hijack_later(struct kprobe *p, struct pt_regs *regs)
{
	struct ret_owner *owner = kretprobe_of(p)->owner;

	ret_count(&owner->entered);
	return hijack(&current->ret, owner, regs);
}

/* In the usual case, with an entry handler and no bound. */
__noprobe int ret_enter_asking(struct kprobe *p, struct pt_regs *regs)
{
	struct kretprobe *rp = kretprobe_of(p);
	struct ret_stack *stack = &current->ret;

	if (unlikely(!prepare(stack, rp->owner, regs)))
		return ret_enter(p, regs);
	if (rp->entry_handler(stack->free, regs))
		return 0;
	return hijack_later(p, regs);
}

/* Return ----------------------------------------------------------------------- */

/* All that is left of frame h->frame, wherever it is; the last one first. */
__noprobe void ret_call_all(struct cpu *cpu, struct hit *h, unsigned long pc)
{
	struct ret_stack *stack = &current->ret;
	struct kretprobe_instance *ri;

	while ((ri = find(stack, h->frame))) {
		struct ret_owner *owner = ri->owner;

		take(stack, ri);
		cpu->hit_turns++;
		h->turn = &owner->kp;
		instruction_pointer_set(h->regs, pc);
		ret_count(&owner->returned);
		owner->call(ri, h->regs);
	}
}

__noprobe void ret_run(struct cpu *cpu, struct hit *h)
{
	ret_call_all(cpu, h, h->go_on);
	instruction_pointer_set(h->regs, h->go_on);
	level_end(cpu);
}

static __noprobe void run(struct pt_regs *regs, unsigned long frame,
			  unsigned long go_on)
{
	struct cpu *cpu = this_cpu();
	struct hit *h = level_begin(cpu);

	h->regs = regs;
	h->resume = ret_run;
	h->go_on = go_on;
	h->frame = frame;
	h->preempt_count = current->preempt_count;
	ret_run(cpu, h);
}

static __noprobe __noclone __noreturn void lost(struct pt_regs *regs,
						struct ret_stack *stack)
{
	const struct kretprobe_instance *last = stack->free;
	const struct ret_owner *owner = ret_owner_check(last->owner);

	instruction_pointer_set(regs, LANDING);
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
	for (ri = stack->top; ri->below; ri = ri->below) {
		if (ri->sp < sp && same_stack(current, ri->sp, sp) &&
		    (!best || ri->sp > best->sp))
			best = ri;
	}
	return best;
}

/* Frame @sp returns: drops the notes of frames that were skipped. */
static __noprobe void drop_skipped(struct ret_stack *stack, unsigned long sp)
{
	struct kretprobe_instance *ri, *below;

	for (ri = stack->top; ri->below && ri->sp != sp; ri = below) {
		below = ri->below;
		if (ri->sp && ri->sp < sp && same_stack(current, ri->sp, sp))
			skip(stack, ri);
	}
}

/* The note of what returns now. */
static __noprobe struct kretprobe_instance *settle(struct pt_regs *regs)
{
	struct ret_stack *stack = &current->ret;
	struct kretprobe_instance *ri;

	ri = find_frame(stack, arch_ret_frame(regs));
	if (!ri)
		lost(regs, stack);
	drop_skipped(stack, ri->sp);
	return ri;
}

__noprobe const struct kretprobe_instance *ret_place_settle(
	struct pt_regs *regs)
{
	struct ret_stack *stack = &current->ret;
	unsigned long sp = arch_ret_frame(regs);
	const struct kretprobe_instance *ri = find_frame(stack, sp);

	if (!ri || !ri->owner->place_addrs ||
	    ri->ret_addr != instruction_pointer(regs))
		return NULL;
	drop_skipped(stack, ri->sp);
	return ri;
}

__noprobe void ret_return(struct pt_regs *regs)
{
	struct kretprobe_instance *ri = settle(regs);

	run(regs, ri->sp, ri->ret_addr);
}

/*
 * The usual case, that the last one noted returns first, is in ret.S. It makes no
 * level, as direct detours do; its note, just taken off, lies where the next one
 * goes.
 */
__noprobe struct kprobe *const *ret_turn(void)
{
	return &current->ret.free->owner->kp;
}

__noprobe void ret_abandoned(struct hit *h)
{
	const struct kretprobe_instance *ri = current->ret.free;

	h->frame = ri->sp;
	h->go_on = ri->ret_addr;
	h->resume = ret_run;
	h->preempt_count = arch_detour_preempt(h->regs);
}

/* Off the straight path --------------------------------------------------------- */

/*
 * The function added something to its return address and found ret_landing
 * there. It meant the true one; but only within the function that called it is
 * there anything that it may know of.
 */
__noprobe bool ret_hit_beside(struct pt_regs *regs, struct trap *t)
{
	unsigned long off = t->pc - LANDING, to;
	struct kretprobe_instance *ri;
	struct symbol sym;

	if (t->pc < (unsigned long)ret_trampoline ||
	    t->pc >= (unsigned long)ret_pad_end)
		return false;
	ri = settle(regs);
	to = ri->ret_addr + off;
	if (symtab_lookup(ri->ret_addr, &sym) || to - sym.addr >= sym.size)
		panic_regs(regs, "%pS changed its return address, %pS by %ld",
			   (void *)ri->owner->addr, (void *)ri->ret_addr,
			   (long)off);
	ret_count(&ri->owner->changed);
	run(regs, ri->sp, to);
	return true;
}

void ret_thread_gone(struct thread *t)
{
	struct kretprobe_instance *ri;

	while ((ri = t->ret.top)->below)
		skip(&t->ret, ri);
}
