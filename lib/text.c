// SPDX-License-Identifier: MIT
/*
 * Text that people type: bounded copies, words, globs and numbers. All of it is
 * pure, for any context.
 */
#include <lib/text.h>
#include <lib/errno.h>
#include <lib/string.h>

int strscpy(char *dst, const char *src, size_t size)
{
	size_t n = strnlen(src, size);
	bool cut = n == size;

	if (cut)
		n--;
	memcpy(dst, src, n);
	dst[n] = '\0';
	return cut ? -E2BIG : (int)n;
}

bool char_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

bool char_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool char_is_print(char c)
{
	return c >= ' ' && c <= '~';
}

int match_string(const char *const names[], unsigned n, const char *s)
{
	for (unsigned i = 0; i < n; i++) {
		if (names[i] && strcmp(names[i], s) == 0)
			return (int)i;
	}
	return -EINVAL;
}

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

int text_word(const char **text, char *word, size_t size)
{
	const char *s = *text;
	size_t n = 0;
	char quote = 0;

	while (char_is_space(*s))
		s++;
	*text = s;
	if (!*s)
		return 0;
	for (; *s && (quote || !char_is_space(*s)); s++) {
		if (quote ? *s == quote : is_quote(*s)) {
			quote = quote ? 0 : *s;
			continue;
		}
		if (*s == '\\' && (is_quote(s[1]) || s[1] == '\\'))
			s++;
		if (n < size)
			word[n++] = *s;
	}
	*text = s;
	if (quote)
		return -EINVAL;
	if (n == size)
		return -E2BIG;
	word[n] = '\0';
	return 1;
}

/*
 * Matches @c against the set behind the [ at @set. Returns the pattern behind
 * the set's ], or NULL if there is none; *@hit says whether @c is in it.
 */
static const char *set_match(const char *set, char c, bool *hit)
{
	const char *p = set + 1;
	bool negate = *p == '!' || *p == '^';
	bool found = false;

	if (negate)
		p++;
	/* A ] that comes first is a member. */
	do {
		u8 low, high;

		if (*p == '\\' && p[1])
			p++;
		if (!*p)
			return NULL;
		low = high = (u8)*p++;
		if (*p == '-' && p[1] && p[1] != ']') {
			p++;
			if (*p == '\\' && p[1])
				p++;
			high = (u8)*p++;
		}
		if ((u8)c >= low && (u8)c <= high)
			found = true;
	} while (*p != ']');
	*hit = found != negate;
	return p + 1;
}

/* Matches one character; returns the pattern behind it, NULL if it differs. */
static const char *one_match(const char *pattern, char c)
{
	const char *next;
	bool hit;

	if (!*pattern)
		return NULL;
	if (*pattern == '?')
		return pattern + 1;
	if (*pattern == '[') {
		next = set_match(pattern, c, &hit);
		if (next)
			return hit ? next : NULL;
	}
	if (*pattern == '\\' && pattern[1])
		pattern++;
	return *pattern == c ? pattern + 1 : NULL;
}

bool glob_match(const char *pattern, const char *s)
{
	/* Behind the last * seen, and where its run of characters ends. */
	const char *star = NULL, *run = NULL;

	while (*s || *pattern == '*') {
		const char *next;

		if (*pattern == '*') {
			star = ++pattern;
			run = s;
			continue;
		}
		next = one_match(pattern, *s);
		if (next) {
			pattern = next;
			s++;
		} else if (star) {
			/* Let the last * take one more; earlier ones need not. */
			pattern = star;
			s = ++run;
		} else {
			return false;
		}
	}
	return !*pattern;
}

static unsigned digit_value(char c)
{
	if (char_is_digit(c))
		return (unsigned)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10 : 36;
}

/* The base that the prefix at *@s names, moving *@s behind it. */
static unsigned prefix_base(const char **s, unsigned base)
{
	unsigned named = 0;

	if (**s != '0')
		return base ? base : 10;
	switch ((*s)[1] | 0x20) {
	case 'x':
		named = 16;
		break;
	case 'o':
		named = 8;
		break;
	case 'b':
		named = 2;
		break;
	}
	/* "0b1" in base 16 is a number, and "0x" alone is a 0 and an x. */
	if (!named || (base && base != named) || digit_value((*s)[2]) >= named)
		return base ? base : 10;
	*s += 2;
	return named;
}

int parse_u64(const char *s, unsigned base, u64 *out, const char **end)
{
	u64 value = 0;
	bool fits = true;

	base = prefix_base(&s, base);
	if (digit_value(*s) >= base)
		return -EINVAL;
	for (; digit_value(*s) < base; s++) {
		u64 scaled;

		if (__builtin_mul_overflow(value, (u64)base, &scaled) ||
		    __builtin_add_overflow(scaled, (u64)digit_value(*s),
					   &value))
			fits = false;
	}
	if (!end && *s)
		return -EINVAL;
	if (!fits)
		return -ERANGE;
	if (end)
		*end = s;
	*out = value;
	return 0;
}

int parse_s64(const char *s, unsigned base, s64 *out, const char **end)
{
	bool negative = *s == '-';
	u64 value;
	int err;

	if (*s == '-' || *s == '+')
		s++;
	err = parse_u64(s, base, &value, end);
	if (err)
		return err;
	if (value > (u64)INT64_MAX + negative)
		return -ERANGE;
	*out = (s64)(negative ? 0 - value : value);
	return 0;
}
