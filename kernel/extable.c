// SPDX-License-Identifier: MIT
/*
 * The exception table, and memory access on top of it that cannot fault.
 *
 * The linker collects the entries in the order of files, so they are sorted
 * once, in place, while boot's page tables still let us write to rodata. After
 * that the table is immutable and needs no lock. The search and everything it
 * calls may run between a fault and its fix-up, so none of it may be probed.
 */
#include <kernel/extable.h>
#include <arch/uaccess.h>
#include <lib/errno.h>

struct entry {
	s32 insn;  /* relative to this field */
	s32 fixup; /* likewise */
};

extern struct entry __extable_start[], __extable_end[];

static inline unsigned long entry_insn(const struct entry *e)
{
	return (unsigned long)&e->insn + (long)e->insn;
}

static inline unsigned long entry_fixup(const struct entry *e)
{
	return (unsigned long)&e->fixup + (long)e->fixup;
}

static void entry_set(struct entry *e, unsigned long insn, unsigned long fixup)
{
	e->insn = (s32)(insn - (unsigned long)&e->insn);
	e->fixup = (s32)(fixup - (unsigned long)&e->fixup);
}

/* Offsets are relative to where they lie: moving an entry changes them. */
static void entry_swap(struct entry *a, struct entry *b)
{
	unsigned long insn = entry_insn(a), fixup = entry_fixup(a);

	entry_set(a, entry_insn(b), entry_fixup(b));
	entry_set(b, insn, fixup);
}

/* By insertion: one file's entries are in order already. */
void extable_init(void)
{
	struct entry *first = __extable_start;

	for (struct entry *end = first; end < __extable_end; end++) {
		struct entry *e = end;

		for (; e > first && entry_insn(e - 1) > entry_insn(e); e--)
			entry_swap(e - 1, e);
	}
}

__noprobe unsigned long extable_find(unsigned long pc)
{
	const struct entry *low = __extable_start, *high = __extable_end;

	while (low < high) {
		const struct entry *mid = low + (high - low) / 2;
		unsigned long insn = entry_insn(mid);

		if (insn == pc)
			return entry_fixup(mid);
		if (insn < pc)
			low = mid + 1;
		else
			high = mid;
	}
	return 0;
}

void extable_each_fixup(void (*fn)(unsigned long fixup))
{
	for (const struct entry *e = __extable_start; e < __extable_end; e++)
		fn(entry_fixup(e));
}

__noprobe int peek(void *dst, const void *src, size_t n)
{
	return arch_copy_safe(dst, src, n) ? -EFAULT : 0;
}

__noprobe int poke(void *dst, const void *src, size_t n)
{
	return arch_copy_safe(dst, src, n) ? -EFAULT : 0;
}
