/* SPDX-License-Identifier: MIT */
/*
 * How long storms blow: storm=SECONDS on the kernel's command line, or as long as
 * everybody has time for.
 */
#ifndef SONDE_TESTS_CASES_STORM_H
#define SONDE_TESTS_CASES_STORM_H

#include <arch/boot.h>
#include <kernel/bootinfo.h>
#include <kernel/timer.h>
#include <lib/text.h>
#include <tests/test.h>

#define STORM_NS (500 * NSEC_PER_MSEC)

static inline u64 storm_ns(void)
{
	char text[8];
	u64 seconds;

	if (cmdline_get(&boot_info, "storm", text, sizeof(text)) < 0)
		return STORM_NS;
	EXPECT_EQ(parse_u64(text, 10, &seconds, NULL), 0);
	return seconds * NSEC_PER_SEC;
}

#endif
