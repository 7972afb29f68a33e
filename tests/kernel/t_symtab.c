// SPDX-License-Identifier: MIT
/* The symbol table of the running image. */
#include <kernel/symtab.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <tests/cases/twins.h>
#include <tests/test.h>

/* A name as compilers make them when they split or specialise a function. */
int symtab_case_dotted(void) __asm__("symtab_case.constprop.7");

__noclone int symtab_case_dotted(void)
{
	barrier();
	return 7;
}

static __noclone int static_case(void)
{
	barrier();
	return 8;
}

TEST(symtab, a_static_function_is_found_by_name)
{
	struct symbol sym;

	ASSERT_EQ(symtab_find("static_case", &sym), 0);
	EXPECT_EQ(sym.addr, (unsigned long)static_case);
	EXPECT_STREQ(sym.file, "t_symtab.c");
	EXPECT_EQ(static_case(), 8);
}

TEST(symtab, a_global_function_names_no_file)
{
	struct symbol sym;

	ASSERT_EQ(symtab_find("symtab_find", &sym), 0);
	EXPECT_EQ(sym.addr, (unsigned long)symtab_find);
	EXPECT_STREQ(sym.file, "");
}

TEST(symtab, every_byte_of_a_function_belongs_to_it)
{
	struct symbol whole, sym;

	ASSERT_EQ(symtab_find("symtab_suggest", &whole), 0);
	ASSERT_NE(whole.size, 0);
	for (unsigned i = 0; i < whole.size; i++) {
		ASSERT_EQ(symtab_lookup(whole.addr + i, &sym), 0);
		EXPECT_EQ(sym.addr, whole.addr);
	}
}

TEST(symtab, functions_are_in_order_and_do_not_overlap)
{
	struct symbol sym, found;
	unsigned long end = 0;
	unsigned n = 0;

	for (unsigned long at = 0; symtab_next(at, &sym) == 0; at = sym.addr) {
		EXPECT_GE(sym.addr, end);
		EXPECT_EQ(symtab_lookup(sym.addr, &found),
			  sym.size ? 0 : -ENOENT);
		end = sym.addr + sym.size;
		n++;
	}
	EXPECT_GT(n, 200);
	EXPECT_LE(n, symtab_count()); /* aliases are visited once */
}

TEST(symtab, nothing_is_found_outside_the_image)
{
	struct symbol sym;

	EXPECT_EQ(symtab_lookup(0, &sym), -ENOENT);
	EXPECT_EQ(symtab_lookup(~0ul, &sym), -ENOENT);
	EXPECT_EQ(symtab_lookup((unsigned long)&sym, &sym), -ENOENT);
	EXPECT_EQ(symtab_find("no_such_function", &sym), -ENOENT);
	EXPECT_EQ(symtab_find("", &sym), -ENOENT);
	EXPECT_EQ(symtab_next(~0ul, &sym), -ENOENT);
}

TEST(symtab, a_name_of_two_functions_is_refused_and_both_are_listed)
{
	unsigned long one = (unsigned long)twin_one();
	unsigned long two = (unsigned long)twin_two();
	struct symbol sym;

	EXPECT_EQ(symtab_find("twin_function", &sym), -EADDRNOTAVAIL);
	ASSERT_EQ(symtab_next_named("twin_function", 0, &sym), 0);
	EXPECT_EQ(sym.addr, min(one, two));
	ASSERT_EQ(symtab_next_named("twin_function", sym.addr, &sym), 0);
	EXPECT_EQ(sym.addr, max(one, two));
	EXPECT_EQ(symtab_next_named("twin_function", sym.addr, &sym), -ENOENT);
	EXPECT_EQ(twin_one()() + twin_two()(), 3);
}

TEST(symtab, the_file_tells_two_functions_of_one_name_apart)
{
	struct symbol sym;

	ASSERT_EQ(symtab_find("twin_two.c:twin_function", &sym), 0);
	EXPECT_EQ(sym.addr, (unsigned long)twin_two());
	EXPECT_EQ(symtab_find("twin.c:twin_function", &sym), -ENOENT);
	EXPECT_EQ(symtab_find(":twin_function", &sym), -ENOENT);
	EXPECT_EQ(symtab_find("twin_two.c:", &sym), -ENOENT);
}

TEST(symtab, names_with_dots_are_found)
{
	struct symbol sym;

	ASSERT_EQ(symtab_find("symtab_case.constprop.7", &sym), 0);
	EXPECT_EQ(sym.addr, (unsigned long)symtab_case_dotted);
	EXPECT_EQ(symtab_case_dotted(), 7);
}

TEST(symtab, near_names_are_suggested)
{
	EXPECT_STREQ(symtab_suggest("symtab_case"), "symtab_case.constprop.7");
	EXPECT_STREQ(symtab_suggest("symtab_fnid"), "symtab_find");
	EXPECT_STREQ(symtab_suggest("symtab_find_"), "symtab_find");
	EXPECT_STREQ(symtab_suggest("twin_two.c:twin_functio"),
		     "twin_function");
	EXPECT_STREQ(symtab_suggest("symtab_sugg"), "symtab_suggest");
	EXPECT_TRUE(!symtab_suggest("quite_another_thing"));
	EXPECT_TRUE(!symtab_suggest(""));
}

TEST(symtab, an_entry_stays_inside_its_function)
{
	struct symbol sym;

	for (unsigned long at = 0; symtab_next(at, &sym) == 0; at = sym.addr)
		if (sym.size)
			EXPECT_LT(symbol_entry(&sym), sym.addr + sym.size);
}

TEST(symtab, a_return_address_behind_a_function_names_the_function)
{
	struct symbol sym;
	char text[80];

	ASSERT_EQ(symtab_find("symtab_case.constprop.7", &sym), 0);
	symtab_return_text(sym.addr + sym.size, text, sizeof(text));
	EXPECT_TRUE(!strncmp(text, "symtab_case.constprop.7+0x", 26));
	symtab_text(sym.addr, text, sizeof(text));
	EXPECT_STREQ(text, "symtab_case.constprop.7+0x0");
	symtab_text(0x10, text, sizeof(text));
	EXPECT_STREQ(text, "0x10");
}
