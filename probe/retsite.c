// SPDX-License-Identifier: MIT
/*
 * Return probes that leave the return address alone (KRETPROBE_FLAG_RETSITE):
 * breakpoints where the function returns to. There is one behind each call of it
 * that can be found, and behind each call of functions that end in a jump to it.
 * Each is hit by all threads, at all depths, and also when the function was
 * not entered by its entry; the note of the call decides, by thread and stack
 * pointer.
 *
 * Calls through pointers cannot be found. They are missed, and counted.
 *
 * The list is made at registration, under probe_mutex, and does not change. A
 * breakpoint stays until the last call has returned.
 */
#include <arch/cpu.h>
#include <arch/insn.h>
#include <arch/ret.h>
#include <kernel/heap.h>
#include <kernel/percpu.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <lib/errno.h>
#include <lib/sort.h>
#include <probe/ret.h>
#include "level.h"
#include "owner.h"
#include "site.h"

/* What returns to the callers of the probed function: itself and others. */
#define FUNCTIONS_MAX 32

struct search {
	struct ret_owner *owner;
	struct symbol functions[FUNCTIONS_MAX];
	unsigned first, last; /* those that are sought now */
	unsigned n;
	int err;
};

/* Finding ------------------------------------------------------------------------ */

/* Is @target the entry of one of the functions from @first to @last? */
static bool is_among(const struct search *s, unsigned first, unsigned last,
		     unsigned long target)
{
	for (unsigned i = first; i < last; i++) {
		if (target == s->functions[i].addr ||
		    target == symbol_entry(&s->functions[i]))
			return true;
	}
	return false;
}

static void add_function(struct search *s, const struct symbol *sym)
{
	if (is_among(s, 0, s->n, sym->addr))
		return;
	if (s->n == FUNCTIONS_MAX)
		s->err = -E2BIG;
	else
		s->functions[s->n++] = *sym;
}

static void add_place(struct search *s, unsigned long addr)
{
	struct ret_place *place;
	struct insn insn;
	const char *why;

	/* Nobody is told of calls that come from where no probe may be. */
	if (deny_check(addr, &insn, &why))
		return;
	place = kzalloc(sizeof(*place));
	if (!place) {
		s->err = -ENOMEM;
		return;
	}
	place->kp.addr = addr;
	place->kp.pre_handler = ret_place_hit;
	/* It wants a level of its own to lend: ret_place_hit(). */
	place->kp.flags = KPROBE_FLAG_NO_JUMP;
	place->next = s->owner->places;
	s->owner->places = place;
	s->owner->nr_places++;
}

/*
 * Behind a call, the function returns. Where it is jumped to, it returns as the
 * function does that jumps.
 */
static void look_at(struct search *s, const struct symbol *sym,
		    const struct insn *insn)
{
	if (!(insn->flags & INSN_BRANCH_REL) ||
	    !is_among(s, s->first, s->last, insn->target))
		return;
	if (insn->flags & INSN_CALL)
		add_place(s, insn->pc + insn->len);
	else
		add_function(s, sym);
}

static void look_at_all(struct search *s)
{
	struct site_text ahead = { 0 };
	struct symbol sym = { 0 };
	struct insn insn;

	while (symtab_next(sym.addr, &sym) == 0 && !s->err) {
		unsigned long pc = sym.addr, end = sym.addr + sym.size;

		for (; pc < end; pc += insn.len) {
			if (site_decode(&ahead, pc, end, &insn) < 0)
				break;
			look_at(s, &sym, &insn);
		}
	}
}

static int by_number(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a;
	unsigned long y = *(const unsigned long *)b;

	return x < y ? -1 : x > y;
}

/* The addresses alone, in order, for ret_place_is_known(). */
static int list_places(struct ret_owner *owner)
{
	unsigned long *addr = kcalloc(owner->nr_places + 1, sizeof(*addr));
	unsigned n = 0;

	if (!addr)
		return -ENOMEM;
	for (struct ret_place *p = owner->places; p; p = p->next)
		addr[n++] = p->kp.addr;
	sort(addr, n, sizeof(*addr), by_number);
	owner->place_addrs = addr;
	return 0;
}

int ret_places_find(struct ret_owner *owner)
{
	struct search *s = kzalloc(sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return err;
	s->owner = owner;
	s->err = symtab_lookup(owner->addr, &s->functions[0]);
	for (s->n = 1; s->last < s->n && !s->err;) {
		s->first = s->last;
		s->last = s->n;
		look_at_all(s);
	}
	err = s->err ? s->err : list_places(owner);
	kfree(s);
	return err;
}

void ret_places_free(struct ret_owner *owner)
{
	struct ret_place *next;

	for (struct ret_place *p = owner->places; p; p = next) {
		next = p->next;
		kfree(p);
	}
	kfree(owner->place_addrs);
}

/* Hits --------------------------------------------------------------------------- */

__noprobe bool ret_place_is_known(const struct ret_owner *owner,
				  unsigned long addr)
{
	unsigned low = 0, high = owner->nr_places;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (owner->place_addrs[middle] < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < owner->nr_places && owner->place_addrs[low] == addr;
}

/*
 * Within the hit of the breakpoint: its turn goes to the handlers of return
 * probes for a while. If one of them is abandoned, the rest is taken up here.
 */
static __noprobe void resume_place(struct cpu *cpu, struct hit *h)
{
	ret_call_all(cpu, h, h->site->addr);
	h->turn = h->outer_turn;
	h->resume = h->outer_resume;
	h->resume(cpu, h);
}

__noprobe int ret_place_hit(struct kprobe *p __unused, struct pt_regs *regs)
{
	struct cpu *cpu = this_cpu();
	struct hit *h = cpu->hits;
	const struct kretprobe_instance *ri = ret_place_settle(regs);

	if (!ri)
		return 0;
	h->frame = ri->sp;
	h->outer_turn = h->turn;
	h->outer_resume = h->resume;
	h->resume = resume_place;
	ret_call_all(cpu, h, h->site->addr);
	h->turn = h->outer_turn;
	h->resume = h->outer_resume;
	return 0;
}
