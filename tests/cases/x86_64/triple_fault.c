// SPDX-License-Identifier: MIT
/* The one of tests/kernel/t_bad.c that only this machine can do. */
#include <tests/test.h>

/* With an empty interrupt table no fault can be delivered, a double one neither. */
TEST(bad, triple_faults)
{
	static const struct {
		u16 limit;
		u64 base;
	} __packed empty;

	__asm__ volatile("lidt %0; ud2" : : "m"(empty));
}
