/* SPDX-License-Identifier: MIT */
/*
 * Words of the command language, as pure functions: also built for host tests.
 */
#ifndef SONDE_MONITOR_PARSE_H
#define SONDE_MONITOR_PARSE_H

#include <lib/compiler.h>

/*
 * Copies the command up to the next ';' outside quotes to @buf and steps *@text
 * behind it. -E2BIG if it was cut.
 */
int command_next(const char **text, char *buf, size_t size);

/*
 * How many arguments @args, the text of a struct monitor_command, asks for at
 * least and allows at most.
 */
void args_range(const char *args, unsigned *least, unsigned *most);

/* Single-character edits that make @b of @a; EDIT_FAR if one is too long. */
#define EDIT_FAR 255
unsigned edit_distance(const char *a, const char *b);

#endif
