// SPDX-License-Identifier: MIT
/* One of two static functions of the same name; see tests/kernel/t_symtab.c. */
#include <lib/compiler.h>
#include "twins.h"

static int __noclone twin_function(void)
{
	return 1;
}

int (*twin_one(void))(void)
{
	return twin_function;
}
