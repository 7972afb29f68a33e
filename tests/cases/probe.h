/* SPDX-License-Identifier: MIT */
/* What the suites of probes probe; t_probe.c has it. */
#ifndef SONDE_TESTS_CASES_PROBE_H
#define SONDE_TESTS_CASES_PROBE_H

#include <arch/insn.h>
#include <kernel/panic.h>
#include <kernel/symtab.h>
#include <tests/cases/handlers.h>
#include <tests/cases/text.h>
#include <tests/test.h>

/* @a * 100 + @b * 10 + @c, and counts: an effect that must happen once. */
long probe_target(long a, long b, long c);
extern unsigned long target_calls;
/* Calls it with @a, 2 and 3; one more than that returns. */
long probe_caller(long a);

static inline unsigned long entry_of(const void *fn)
{
	struct symbol sym;

	ASSERT(symtab_lookup((unsigned long)fn, &sym) == 0);
	return symbol_entry(&sym);
}

/* The address of the second instruction of @fn's entry. */
static inline unsigned long second_of(const void *fn)
{
	unsigned long entry = entry_of(fn);
	struct insn insn;

	ASSERT(arch_insn_decode(&insn, (const void *)entry, INSN_MAX_BYTES,
				entry) == 0);
	return entry + insn.len;
}

#endif
