// SPDX-License-Identifier: MIT
/*
 * Cases that go wrong on purpose. They run only when asked for by name, by the
 * tests of the runner (tests/qemu/test_runner.py), which must notice.
 */
#include <kernel/panic.h>
#include <tests/test.h>

TEST(bad, fails)
{
	EXPECT_EQ(6 * 9, 42);
}

TEST(bad, panics)
{
	panic("asked for by a test");
}

TEST(bad, hangs)
{
	for (;;)
		barrier();
}
