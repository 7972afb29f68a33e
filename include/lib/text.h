/* SPDX-License-Identifier: MIT */
/*
 * Text that people type: bounded copies, words, globs and numbers. Any context;
 * no allocation, no state.
 */
#ifndef SONDE_LIB_TEXT_H
#define SONDE_LIB_TEXT_H

#include <lib/compiler.h>

/*
 * Copies @src to @dst of @size bytes (at least 1) and always terminates it.
 * Returns the length copied, or -E2BIG if the text was cut.
 */
int strscpy(char *dst, const char *src, size_t size);

/* A space, tab or line end; a decimal digit. Plain ASCII, no locale. */
bool char_is_space(char c);
bool char_is_digit(char c);
bool char_is_print(char c);

/*
 * Takes the next word off *@text into @word of @size bytes and moves *@text
 * behind it. Words are separated by white space; "..." and '...' keep spaces
 * and are removed, anywhere in a word; \" \' \\ are the plain characters.
 * Returns 1 for a word (which may be empty, if quoted), 0 at the end, -EINVAL
 * for a quote without its partner, or -E2BIG if the word does not fit (@word is
 * then full and not terminated). *@text stands behind the word in any case.
 */
int __must_check text_word(const char **text, char *word, size_t size);

/*
 * Whether all of @s matches @pattern: ? is any character, * any run of them,
 * [a-z_] one of a set, [!...] and [^...] none of it, \ takes the next character
 * literally. A [ that is never closed stands for itself. Runs in
 * O(length * length), without recursion.
 */
bool glob_match(const char *pattern, const char *s);

/* Index of @s among the @n @names, of which some may be NULL; or -EINVAL. */
int __must_check match_string(const char *const names[], unsigned n,
			      const char *s);

/*
 * Parses the number at the start of @s. @base is 2..36, or 0 for what the
 * prefix says: 0x, 0b, 0o or decimal (a leading 0 alone is no octal). *@end, if
 * wanted, is set behind the number; if @end is NULL nothing may follow it.
 * Returns 0, -EINVAL if there is no number, or -ERANGE if it does not fit; *@out
 * is only written on success.
 */
int __must_check parse_u64(const char *s, unsigned base, u64 *out,
			   const char **end);

/* The same with an optional + or - in front. */
int __must_check parse_s64(const char *s, unsigned base, s64 *out,
			   const char **end);

#endif
