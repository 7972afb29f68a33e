/* SPDX-License-Identifier: MIT */
/*
 * Words of the command language.
 */
#include "parse.h"
#include <lib/errno.h>
#include <lib/string.h>
#include <lib/text.h>

int command_next(const char **text, char *buf, size_t size)
{
	const char *s = *text;
	char quote = 0;
	size_t n = 0;

	for (; *s && (quote || *s != ';'); s++) {
		if (quote == *s)
			quote = 0;
		else if (!quote && (*s == '"' || *s == '\''))
			quote = *s;
		if (n + 1 < size)
			buf[n] = *s;
		n++;
	}
	*text = *s ? s + 1 : s;
	buf[min(n, size - 1)] = '\0';
	return n < size ? 0 : -E2BIG;
}

void args_range(const char *args, unsigned *least, unsigned *most)
{
	*least = *most = 0;
	for (const char *s = args; *s; s++) {
		if (char_is_space(*s) || (s > args && !char_is_space(s[-1])))
			continue;
		*most += 1;
		*least += *s != '[';
	}
}

unsigned edit_distance(const char *a, const char *b)
{
	enum { MAX = 32 };
	u8 row[MAX + 1]; /* distances of a prefix of @a to all prefixes of @b */
	size_t la = strlen(a), lb = strlen(b);

	if (la > MAX || lb > MAX)
		return EDIT_FAR;
	for (size_t j = 0; j <= lb; j++)
		row[j] = (u8)j;
	for (size_t i = 1; i <= la; i++) {
		u8 diagonal = row[0];

		row[0] = (u8)i;
		for (size_t j = 1; j <= lb; j++) {
			u8 change = diagonal + (a[i - 1] != b[j - 1]);
			u8 edit = min(row[j], row[j - 1]) + 1;

			diagonal = row[j];
			row[j] = min(change, edit);
		}
	}
	return row[lb];
}
