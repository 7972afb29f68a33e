/* SPDX-License-Identifier: MIT */
/*
 * Names of addresses and addresses of names, for every function, static ones
 * included. Built from the linked image (tools/symtab) and linked in by a second
 * pass. Immutable; no locks; any context.
 *
 * Static functions may share a name: then only "file.c:name" says which.
 */
#ifndef SONDE_KERNEL_SYMTAB_H
#define SONDE_KERNEL_SYMTAB_H

#include <lib/compiler.h>

struct symbol {
	unsigned long addr;
	unsigned size;	      /* bytes; up to the next symbol if unsized */
	unsigned short local; /* ppc64: local entry is addr + local */
	const char *name;
	const char *file; /* base name for static functions, else "" */
};

/* Panics unless the table belongs to this image. */
void symtab_init(void);

/* The function that holds @addr. -ENOENT if none. */
int symtab_lookup(unsigned long addr, struct symbol *sym);

/*
 * "name+0x12" for people; "0x..." outside functions. A return address names the
 * call before it: where that does not return, the address is behind the caller.
 */
void symtab_text(unsigned long addr, char *buf, size_t size);
void symtab_return_text(unsigned long addr, char *buf, size_t size);

/*
 * The function called @name ("name" or "file.c:name"). -ENOENT if there is
 * none; -EADDRNOTAVAIL if there are several: symtab_next_named() lists them.
 */
int symtab_find(const char *name, struct symbol *sym);
/* The first symbol called @name behind @after (0: the first). -ENOENT. */
int symtab_next_named(const char *name, unsigned long after,
		      struct symbol *sym);

/* A name a person may have meant by @name, or NULL: "foo" -> "foo.isra.0". */
const char *symtab_suggest(const char *name);

/* The function after the one that starts at @addr; 0: the first. -ENOENT. */
int symtab_next(unsigned long addr, struct symbol *sym);
unsigned symtab_count(void);

/* Where a probe of the function as such goes: local entry; x86: start. */
static inline unsigned long symbol_entry(const struct symbol *sym)
{
	return sym->addr + sym->local;
}

#endif
