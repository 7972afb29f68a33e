// SPDX-License-Identifier: MIT
/* The other of two static functions of the same name; see tests/kernel/t_symtab.c. */
#include <lib/compiler.h>
#include "twins.h"

static int __noclone twin_function(void)
{
	return 2;
}

int (*twin_two(void))(void)
{
	return twin_function;
}
