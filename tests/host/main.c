// SPDX-License-Identifier: MIT
/*
 * The host's test program: sonde-host-test [-l] [GLOB].
 */
#include <stdio.h>
#include <string.h>
#include "../test.h"

void test_puts(const char *line)
{
	fputs(line, stdout);
	fflush(stdout); /* a sanitizer's report must come after it */
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "-l"))
		return tests_list(argv[2]) == 0;
	return tests_run(argc > 1 ? argv[1] : NULL, NULL) != 0;
}
