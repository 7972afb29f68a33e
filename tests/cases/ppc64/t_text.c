// SPDX-License-Identifier: MIT
/*
 * What the emulator cannot show: that text which was written is thrown out of both
 * caches, in the order of the manual.
 */
#include <arch/text.h>
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

/* Do the words of @fn, one after the other, have them all, in this order? */
static void expect_flush(unsigned long fn)
{
	unsigned step = 0;
	struct symbol sym;

	ASSERT_EQ(symtab_lookup(fn, &sym), 0);
	for (unsigned long pc = sym.addr;
	     pc < sym.addr + sym.size && step < ARRAY_SIZE(flush); pc += 4) {
		if ((*(const u32 *)pc & flush[step].mask) == flush[step].word)
			step++;
	}
	if (step < ARRAY_SIZE(flush))
		FAIL("%s has no %s there", sym.name, flush[step].name);
}

TEST(text, what_writes_it_flushes_both_caches_in_order)
{
	expect_flush((unsigned long)arch_text_write);
	expect_flush((unsigned long)arch_text_rewrite);
}
