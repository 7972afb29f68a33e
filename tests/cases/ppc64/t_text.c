// SPDX-License-Identifier: MIT
/*
 * What the emulator cannot show: that text which was written is thrown out of both
 * caches, in the order of the manual.
 */
#include <kernel/symtab.h>
#include <tests/test.h>

/* dcbst, sync, icbi, sync, isync (ISA 3.1 II 1.8), registers aside. */
static const struct {
	const char *name;
	u32 mask, word;
} flush[] = {
	{ "dcbst", 0xffe007ff, 0x7c00006c }, { "sync", 0xffffffff, 0x7c0004ac },
	{ "icbi", 0xffe007ff, 0x7c0007ac },  { "sync", 0xffffffff, 0x7c0004ac },
	{ "isync", 0xffffffff, 0x4c00012c },
};

#define BRANCH_MASK 0xfc000002 /* b, bl; not absolute */
#define BRANCH	    0x48000000

static unsigned long function(const char *name, struct symbol *sym)
{
	if (symtab_find(name, sym))
		FAIL("there is no %s", name);
	return sym->addr;
}

/* Do the words of flush(), one after the other, have them all, in this order? */
TEST(text, what_writes_it_flushes_both_caches_in_order)
{
	unsigned step = 0;
	struct symbol sym;

	for (unsigned long pc = function("text.c:flush", &sym);
	     pc < sym.addr + sym.size && step < ARRAY_SIZE(flush); pc += 4) {
		if ((*(const u32 *)pc & flush[step].mask) == flush[step].word)
			step++;
	}
	if (step < ARRAY_SIZE(flush))
		FAIL("there is no %s", flush[step].name);
}

static bool leads_to(unsigned long pc, const struct symbol *to)
{
	u32 word = *(const u32 *)pc;
	long offset = (long)((u64)(word & 0x03fffffc) << 38) >> 38;

	return (word & BRANCH_MASK) == BRANCH &&
	       pc + offset - to->addr < to->size;
}

TEST(text, whatever_writes_it_ends_in_the_flush)
{
	static const char *const writers[] = { "arch_text_write",
					       "arch_text_rewrite" };
	struct symbol flushing, sym;

	function("text.c:flush", &flushing);
	for (unsigned i = 0; i < ARRAY_SIZE(writers); i++) {
		unsigned long pc = function(writers[i], &sym);

		while (pc < sym.addr + sym.size && !leads_to(pc, &flushing))
			pc += 4;
		EXPECT_LT(pc, sym.addr + sym.size);
	}
}
