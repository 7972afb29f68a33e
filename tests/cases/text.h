/* SPDX-License-Identifier: MIT */
/* The kernel's text, for cases that leave it as it was. */
#ifndef SONDE_TESTS_CASES_TEXT_H
#define SONDE_TESTS_CASES_TEXT_H

#include <kernel/image.h>
#include <lib/hash.h>
#include <probe/opt.h>
#include <tests/test.h>

/* Of text that nobody is about to change. */
static inline u64 text_hash(void)
{
	if (opt_mode() == OPT_ON)
		EXPECT_EQ(opt_sync(), 0);
	return hash_fnv1a64(HASH_FNV1A64_INIT, __text_start,
			    (size_t)(__text_end - __text_start));
}

#endif
