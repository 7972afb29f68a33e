/* SPDX-License-Identifier: MIT */
/*
 * The symbol table of the running image. tools/symtab writes the arrays below
 * as an assembler file; the second link puts them behind everything else.
 *
 * symtab_image is sorted by offset. Where several functions share an address,
 * the best name (global, with a size) comes last, which is where the binary
 * search ends. symtab_image_by_name holds entry numbers, by name in byte order
 * and then by address.
 */
#include <kernel/symtab.h>
#include <kernel/panic.h>
#include <lib/errno.h>
#include <lib/printf.h>
#include <lib/string.h>

struct entry {
	u32 offset; /* from __image_start */
	u32 size;   /* asm labels: up to the next symbol */
	u32 name;   /* into symtab_image_strings */
	u16 file;   /* into symtab_image_files; 0 for globals */
	u16 local;  /* ppc64: bytes from the global to the local entry */
};
STATIC_ASSERT(sizeof(struct entry) == 16);

extern const struct entry symtab_image[];
extern const u32 symtab_image_count;
extern const u32 symtab_image_by_name[];
extern const u32 symtab_image_files[]; /* into strings; [0] is "" */
extern const char symtab_image_strings[];

extern const char __image_start[];

/* The function that holds @at, and how far @addr is from its start. */
static bool print_as(unsigned long addr, unsigned long at, char *buf,
		     size_t size)
{
	struct symbol sym;

	if (symtab_lookup(at, &sym) < 0)
		return false;
	snprintf(buf, size, "%s+0x%lx", sym.name, addr - sym.addr);
	return true;
}

void symtab_text(unsigned long addr, char *buf, size_t size)
{
	if (!print_as(addr, addr, buf, size))
		snprintf(buf, size, "0x%lx", addr);
}

void symtab_return_text(unsigned long addr, char *buf, size_t size)
{
	if (!print_as(addr, addr - 1, buf, size))
		snprintf(buf, size, "0x%lx", addr);
}

/* %pS: symbol+offset. */
static bool print_symbol(u64 addr, char *buf, size_t size)
{
	return print_as((unsigned long)addr, (unsigned long)addr, buf, size);
}

void symtab_init(void)
{
	struct symbol sym;

	ASSERT(symtab_find("symtab_init", &sym) == 0 &&
	       sym.addr == (unsigned long)symtab_init);
	printf_symbol = print_symbol;
}

unsigned symtab_count(void)
{
	return symtab_image_count;
}

static const char *entry_name(const struct entry *e)
{
	return symtab_image_strings + e->name;
}

static const char *entry_file(const struct entry *e)
{
	return symtab_image_strings + symtab_image_files[e->file];
}

static unsigned long entry_addr(const struct entry *e)
{
	return (unsigned long)__image_start + e->offset;
}

static int entry_export(const struct entry *e, struct symbol *sym)
{
	*sym = (struct symbol){
		.addr = entry_addr(e),
		.size = e->size,
		.local = e->local,
		.name = entry_name(e),
		.file = entry_file(e),
	};
	return 0;
}

/* How many entries start at or before @addr. */
static u32 count_up_to(unsigned long addr)
{
	u32 lo = 0, hi = symtab_image_count;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (entry_addr(&symtab_image[mid]) <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int symtab_lookup(unsigned long addr, struct symbol *sym)
{
	u32 n = count_up_to(addr);

	if (n == 0)
		return -ENOENT;

	const struct entry *e = &symtab_image[n - 1];

	if (addr - entry_addr(e) >= e->size)
		return -ENOENT; /* padding between functions */
	return entry_export(e, sym);
}

int symtab_next(unsigned long addr, struct symbol *sym)
{
	u32 n = count_up_to(addr);

	if (n == symtab_image_count)
		return -ENOENT;
	/* Of several names for one address the last is the best. */
	n = count_up_to(entry_addr(&symtab_image[n]));
	return entry_export(&symtab_image[n - 1], sym);
}

/* The i-th entry by name. */
static const struct entry *by_name(u32 i)
{
	return &symtab_image[symtab_image_by_name[i]];
}

/* First position by name that is not below @name. */
static u32 by_name_lower_bound(const char *name)
{
	u32 lo = 0, hi = symtab_image_count;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (strcmp(entry_name(by_name(mid)), name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

int symtab_next_named(const char *name, unsigned long after, struct symbol *sym)
{
	const char *colon = strchr(name, ':');
	const char *bare = colon ? colon + 1 : name;
	size_t len = colon ? (size_t)(colon - name) : 0;

	for (u32 i = by_name_lower_bound(bare); i < symtab_image_count; i++) {
		const struct entry *e = by_name(i);
		const char *file = entry_file(e);

		if (strcmp(entry_name(e), bare))
			break;
		if (colon && (strlen(file) != len || memcmp(file, name, len)))
			continue;
		if (entry_addr(e) > after)
			return entry_export(e, sym);
	}
	return -ENOENT;
}

int symtab_find(const char *name, struct symbol *sym)
{
	struct symbol another;
	int rc = symtab_next_named(name, 0, sym);

	if (rc == 0 && symtab_next_named(name, sym->addr, &another) == 0)
		return -EADDRNOTAVAIL;
	return rc;
}

/* One character too many, missing, different, or two exchanged? */
static bool is_typo(const char *a, const char *b)
{
	size_t la = strlen(a), lb = strlen(b);

	while (la && lb && *a == *b)
		a++, b++, la--, lb--;
	while (la && lb && a[la - 1] == b[lb - 1])
		la--, lb--;
	if (la == 2 && lb == 2)
		return a[0] == b[1] && a[1] == b[0];
	return la <= 1 && lb <= 1;
}

/* How much @name looks like the one that @typed stands for; 0: not at all. */
static unsigned likeness(const char *typed, const char *name)
{
	size_t n = strlen(typed);
	bool longer = !strncmp(name, typed, n);

	if (longer && name[n] == '.') /* the compiler made pieces of it */
		return 3;
	if (n > 2 && is_typo(typed, name))
		return 2;
	return longer;
}

const char *symtab_suggest(const char *name)
{
	const char *best = NULL, *colon = strchr(name, ':');
	const char *bare = colon ? colon + 1 : name;
	unsigned best_likeness = 0;

	if (!*bare)
		return NULL;
	for (u32 i = 0; i < symtab_image_count; i++) {
		const char *s = entry_name(by_name(i));
		unsigned l = likeness(bare, s);

		if (l > best_likeness) {
			best_likeness = l;
			best = s;
		}
	}
	return best;
}
