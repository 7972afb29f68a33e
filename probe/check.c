// SPDX-License-Identifier: MIT
/*
 * What a caller of the engine gave: may it call now, and where is its probe to be?
 * Whatever is refused leaves its reason for kprobe_reason().
 */
#include <arch/cpu.h>
#include <kernel/main.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <lib/text.h>
#include <probe/hit.h>
#include "site.h"

int probe_refuse(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(current->probe_reason, sizeof(current->probe_reason), fmt,
		  ap);
	va_end(ap);
	return err;
}

const char *kprobe_reason(void)
{
	return current->probe_reason;
}

bool probe_may_wait(void)
{
	if (probe_hit_in_handler())
		return false;
	return !arch_irqs_disabled() || system_is_booting();
}

int probe_may_change(void)
{
	if (!probe_may_wait())
		return probe_refuse(-EDEADLK, "not from a handler or with "
					      "interrupts off: it has to wait");
	return 0;
}

/* Where is it? -------------------------------------------------------------- */

static int find_symbol(const char *name, struct symbol *sym)
{
	int err = symtab_find(name, sym);
	const char *near;

	switch (err) {
	case -ENOENT:
		near = symtab_suggest(name);
		return probe_refuse(err, "no function is called %s%s%s", name,
				    near ? "; did you mean " : "",
				    near ? near : "");
	case -EADDRNOTAVAIL:
		return probe_refuse(err,
				    "several functions are called %s: give an "
				    "address",
				    name);
	default:
		return err;
	}
}

static int find_place(const struct kprobe *p, unsigned long *addr)
{
	char name[96];
	const char *plus;
	u64 offset = p->offset;
	struct symbol sym;
	int err;

	if (!p->symbol_name == !p->addr)
		return probe_refuse(-EINVAL, "give an address or a symbol");
	if (!p->symbol_name) {
		*addr = p->addr;
		return 0;
	}
	plus = strchr(p->symbol_name, '+');
	if (strscpy(name, p->symbol_name, sizeof(name)) < 0 && !plus)
		return probe_refuse(-ENOENT, "no function has so long a name");
	if (plus) {
		name[min((size_t)(plus - p->symbol_name), sizeof(name) - 1)] =
			'\0';
		if (parse_u64(plus + 1, 0, &offset, NULL) < 0)
			return probe_refuse(-EINVAL,
					    "%s: the offset is no number",
					    p->symbol_name);
		offset += p->offset;
	}
	err = find_symbol(name, &sym);
	if (err)
		return err;
	if (offset >= sym.size)
		return probe_refuse(-EINVAL, "%s has 0x%x bytes only", name,
				    sym.size);
	*addr = plus || offset ? sym.addr + offset : symbol_entry(&sym);
	return 0;
}

/* Whichever way a function is named, all its callers pass its entry. */
static int find_entry(unsigned long *addr)
{
	struct symbol sym;

	if (symtab_lookup(*addr, &sym))
		return probe_refuse(-EINVAL, "%pS: it belongs to no function",
				    (void *)*addr);
	if (*addr == sym.addr)
		*addr = symbol_entry(&sym);
	if (*addr != symbol_entry(&sym))
		return probe_refuse(-EINVAL,
				    "%pS: it is not the entry of a function",
				    (void *)*addr);
	return 0;
}

int probe_resolve(const struct kprobe *p, unsigned long *addr)
{
	int err = find_place(p, addr);

	return !err && (p->flags & KPROBE_FLAG_ENTRY) ? find_entry(addr) : err;
}
