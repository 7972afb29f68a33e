// SPDX-License-Identifier: MIT
/*
 * A verdict beside our decoder's result.
 */
#include <stdio.h>
#include <string.h>
#include "referee.h"

unsigned long mismatches, explained;
unsigned print_limit = 20;

enum difference compare(const struct insn *insn, int error,
			const struct verdict *v)
{
	if (error)
		return v->valid ? DIFF_ACCEPTS : SAME;
	if (!v->valid)
		return DIFF_REJECTS;
	if (insn->len != v->len)
		return DIFF_LENGTH;
	if ((insn->flags ^ v->flags) & v->knows)
		return DIFF_CLASS;
	if (v->has_target && insn->target != v->target)
		return DIFF_TARGET;
#ifdef X86_HAS_MEM
	if (v->has_fields && (insn->arch.disp_off != v->disp_off ||
			      insn->arch.imm_off != v->imm_off))
		return DIFF_FIELD;
#endif
	return SAME;
}

static const char *referee_name(unsigned referee)
{
	return referee < machine.referee_count ? machine.referees[referee].name
					       : "objdump";
}

/* The first of each referee, difference and first four bytes. */
static bool is_new(unsigned referee, enum difference difference,
		   const u8 *bytes)
{
	static u32 seen[4096];
	u32 hash = bytes[0] | bytes[1] << 8 | bytes[2] << 16 |
		   (u32)bytes[3] << 24;
	u32 *slot;

	hash = (hash ^ referee << 5 ^ difference << 9) * 2654435761u | 1;
	slot = &seen[hash >> 20];
	if (*slot == hash)
		return false;
	*slot = hash;
	return true;
}

void report(unsigned referee, const struct insn *insn, int error,
	    const struct verdict *v, const u8 *bytes)
{
	enum difference difference = compare(insn, error, v);
	unsigned shown = error ? 16 : max(insn->len, v->len);

	if (difference == SAME)
		return;
	if (known(referee, difference, insn, bytes)) {
		explained++;
		return;
	}
	mismatches++;
	if (!print_limit || !is_new(referee, difference, bytes))
		return;
	print_limit--;
	printf("%s %s: %llx:", referee_name(referee),
	       difference_name(difference), insn->pc);
	for (unsigned i = 0; i < shown; i++)
		printf(" %02x", bytes[i]);
	if (!error && v->valid)
		printf("; length %d, theirs %d; class %x, theirs %x of %x",
		       insn->len, v->len, insn->flags, v->flags, v->knows);
	if (v->has_target)
		printf("; target %llx, theirs %llx", insn->target, v->target);
	printf("\n");
}
