// SPDX-License-Identifier: MIT
/*
 * The classic way: a jump over several instructions, of which only the first is
 * probed. The detour runs them all, and nobody may ever be at a boundary between
 * them while the jump stands:
 *
 *	push %rbp		e9
 *	mov $1, %edi		dd dd dd dd -- not one of the two any more
 *
 * How could somebody get there?
 *
 *	by a jump	no branch in all of text has such a target; nor does any
 *			word of data or any operand name one; and functions with
 *			jumps to computed addresses are left alone altogether
 *	by returning	no call but the last instruction is among them
 *	by a fault	no fix-up is there, nor an instruction that has one
 *	by a handler	one that sets the pc, or repairs a fault, goes on at the
 *			same instruction in the detour: region_actual()
 *	by the probe	hits of the breakpoint that stood there before run all of
 *			them in the detour: arm.c
 *	being there	arm.c goes by the pc of every preempted task, not by
 *			stacks, and who stays is a reason
 *
 * What all of text and data say is found out at boot, as one bit for each byte of
 * text: what is compiled does not change. It takes no decoding, as what reaches far
 * is four bytes of a kind that can be told anywhere. What reaches only some bytes is
 * not, so the function and its next neighbours are decoded, when it is first asked
 * about them. Under probe_mutex.
 */
#include "region.h"
#include <arch/jump.h>
#include <kernel/extable.h>
#include <kernel/image.h>
#include <kernel/symtab.h>
#include <kernel/vm.h>
#include <lib/bitmap.h>
#include <lib/errno.h>
#include <lib/string.h>
#include "detour.h"
#include "site.h"

/* Addresses of text that something names. */
static unsigned long *named;
/* Instructions that jump to computed addresses, or that cannot be decoded. */
static unsigned long *unclear;
/* Where the functions begin whose instructions have been noted. */
static unsigned long *noted;

static void note(unsigned long *bits, unsigned long addr)
{
	if (image_is_text(addr))
		bitmap_set(bits, addr - (unsigned long)__text_start);
}

static void note_named(unsigned long addr)
{
	note(named, addr);
}

/* The first from @first on, or @end. */
static unsigned long find(const unsigned long *bits, unsigned long first,
			  unsigned long end)
{
	unsigned long base = (unsigned long)__text_start;

	return base + bitmap_find_next(bits, end - base, first - base);
}

/* Addresses, and those in four bytes: the lower half of an address is one, too. */
static void note_data(const char *start, const char *end)
{
	for (const char *p = start; p < end; p += sizeof(s32))
		note_named((unsigned long)*(const s32 *)p);
}

static unsigned long *bit_for_each_byte(void)
{
	size_t bytes = (size_t)(__text_end - __text_start) / 8;

	return vm_alloc(DIV_ROUND_UP(bytes, PAGE_SIZE), VM_READ | VM_WRITE);
}

int region_init(void)
{
	named = bit_for_each_byte();
	unclear = bit_for_each_byte();
	noted = bit_for_each_byte();
	if (!named || !unclear || !noted)
		return -ENOMEM;
	arch_jump_note((const u8 *)__text_start,
		       (size_t)(__text_end - __text_start), named);
	note_data(__rodata_start, __rodata_end);
	note_data(__data_start, __data_end);
	extable_each_fixup(note_named);
	return 0;
}

static void note_insn(const struct insn *insn)
{
	if (insn->flags & INSN_BRANCH_REL)
		note(named, insn->target);
	if ((insn->flags & INSN_INDIRECT) &&
	    !(insn->flags & (INSN_CALL | INSN_RET)))
		note(unclear, insn->pc);
}

static void note_function(const struct symbol *sym)
{
	unsigned long pc = sym->addr, end = sym->addr + sym->size;
	struct site_text ahead = { 0 };
	struct insn insn;

	if (find(noted, pc, pc + 1) == pc)
		return;
	note(noted, pc);
	/* Of what cannot be decoded len is what to pass over. */
	for (; pc < end && image_is_text(pc); pc += insn.len) {
		if (site_decode(&ahead, pc, end, &insn) == 0)
			note_insn(&insn);
		else
			note(unclear, pc);
	}
}

/* All with an instruction from where one may jump to between @addr and @end. */
static void note_functions(unsigned long addr, unsigned long end)
{
	unsigned long at = addr - ARCH_JUMP_NEARBY;
	struct symbol sym;

	if (symtab_lookup(at, &sym) == 0)
		note_function(&sym);
	for (; symtab_next(at, &sym) == 0 && sym.addr < end + ARCH_JUMP_NEARBY;
	     at = sym.addr)
		note_function(&sym);
}

static bool decode(unsigned long pc, struct insn *insn)
{
	struct site_text ahead = { 0 };

	return site_decode(&ahead, pc, pc + INSN_MAX_BYTES, insn) == 0;
}

static const char *check_function(const struct symbol *sym)
{
	unsigned long end = sym->addr + sym->size;
	unsigned long pc = find(unclear, sym->addr, end);
	struct insn insn;

	if (pc == end)
		return NULL;
	return decode(pc, &insn) ? "its function jumps to computed addresses"
				 : "its function cannot be decoded";
}

static bool can_move(const struct insn *insn)
{
	u8 copy[INSN_RELOC_MAX];

	return !insn->deny && !(insn->flags & INSN_HALT) &&
	       arch_insn_relocate(insn, NEAR_BASE, copy, sizeof(copy)) >= 0;
}

const char *region_obstacle(unsigned long addr)
{
	const struct site *s = site_at_or_below(addr + ARCH_JUMP_SIZE - 1);

	return s && s->addr > addr ? "another probe is in the way" : NULL;
}

/* Finds the instructions that are to give way. */
static const char *check_insns(unsigned long addr, struct region *r)
{
	unsigned long need = addr + ARCH_JUMP_SIZE;
	struct insn *insn;

	r->n = 0;
	for (unsigned long pc = addr; pc < need; pc += insn->len) {
		insn = &r->insns[r->n++];
		if (!decode(pc, insn) || !can_move(insn))
			return "an instruction behind it cannot be moved";
		if ((insn->flags & INSN_CALL) && pc + insn->len < need)
			return "a call returns to where the jump would be";
		if (extable_find(pc))
			return "a fault is expected where the jump would be";
	}
	return NULL;
}

const char *region_check(unsigned long addr, struct region *r)
{
	struct symbol sym, last;
	unsigned long end;
	const char *why;

	why = region_obstacle(addr);
	if (why)
		return why;
	if (symtab_lookup(addr, &sym))
		return "it belongs to no function";
	why = check_insns(addr, r);
	if (why)
		return why;
	end = addr + region_size(r);
	if (end > sym.addr + sym.size || symtab_lookup(end - 1, &last) ||
	    last.addr != sym.addr)
		return "its function ends before the jump would";
	note_functions(addr, end);
	if (find(named, addr + 1, end) != end)
		return "a jump leads to where the jump would be";
	return check_function(&sym);
}

/* In hits ------------------------------------------------------------------------ */

__noprobe unsigned long region_original(const struct detour *d,
					unsigned long pc)
{
	const struct region *r = d->region;
	unsigned i = r->n - 1;

	while (i > 0 && pc < r->at[i])
		i--;
	return r->insns[i].pc;
}

/* @pc, or where @s' region, if it has one, does the instruction there. */
static __noprobe unsigned long moved(const struct site *s, unsigned long pc)
{
	/* Pairs with the release in arm.c. */
	const struct detour *d = READ_ONCE(s->through);

	for (unsigned i = 1; d && i < d->region->n; i++) {
		if (d->region->insns[i].pc == pc)
			return d->region->at[i];
	}
	return pc;
}

__noprobe unsigned long region_actual(unsigned long pc)
{
	unsigned long actual = pc;

	for (unsigned i = 1; ARCH_JUMP_PUNS && i < REGION_MAX; i++) {
		const struct site *s = site_find(pc - i);

		if (s && actual == pc)
			actual = moved(s, pc);
	}
	return actual;
}
