// SPDX-License-Identifier: MIT
/*
 * Memory and string functions under the C library's names. The compiler makes
 * calls to the first four on its own, so they must never be compiled into calls
 * of themselves: the pragma below keeps GCC from recognising the loops.
 *
 * Memory is moved in 8-byte words whatever its alignment: both machines load
 * and store unaligned words in one instruction, and emulators run a word as
 * fast as a byte. Not for device memory.
 */
#include <lib/string.h>
#include <lib/compiler.h>

#pragma GCC optimize("no-tree-loop-distribute-patterns")

typedef u64 word __attribute__((may_alias, aligned(1)));

#define WORD sizeof(word)

static void copy_up(u8 *d, const u8 *s, size_t n)
{
	for (; n >= WORD; n -= WORD, d += WORD, s += WORD)
		*(word *)d = *(const word *)s;
	while (n--)
		*d++ = *s++;
}

static void copy_down(u8 *d, const u8 *s, size_t n)
{
	for (; n >= WORD; n -= WORD)
		*(word *)(d + n - WORD) = *(const word *)(s + n - WORD);
	while (n--)
		d[n] = s[n];
}

void *memcpy(void *restrict dst, const void *restrict src, size_t n)
{
	copy_up(dst, src, n);
	return dst;
}

void *memmove(void *dst, const void *src, size_t n)
{
	/*
	 * Upwards is safe when @dst is below @src, word by word too: each word
	 * is loaded whole before the store that could overwrite its bytes.
	 */
	if ((uintptr_t)dst <= (uintptr_t)src)
		copy_up(dst, src, n);
	else
		copy_down(dst, src, n);
	return dst;
}

void *memset(void *dst, int c, size_t n)
{
	u64 fill = 0x0101010101010101ULL * (u8)c;
	word *w = dst;
	u8 *d;

	for (; n >= 4 * WORD; n -= 4 * WORD, w += 4)
		w[0] = w[1] = w[2] = w[3] = fill;
	for (; n >= WORD; n -= WORD)
		*w++ = fill;
	d = (u8 *)w;
	while (n--)
		*d++ = (u8)c;
	return dst;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const u8 *p = a, *q = b;

	for (; n >= WORD; n -= WORD, p += WORD, q += WORD)
		if (*(const word *)p != *(const word *)q)
			break;
	/* The word that differs, or the tail: bytes decide the order. */
	for (; n; n--, p++, q++)
		if (*p != *q)
			return *p < *q ? -1 : 1;
	return 0;
}

void *memchr(const void *s, int c, size_t n)
{
	const u8 *p = s;

	for (; n; n--, p++)
		if (*p == (u8)c)
			return (void *)p;
	return NULL;
}

size_t strlen(const char *s)
{
	const char *end = s;

	while (*end)
		end++;
	return (size_t)(end - s);
}

size_t strnlen(const char *s, size_t max)
{
	size_t n = 0;

	while (n < max && s[n])
		n++;
	return n;
}

int strcmp(const char *a, const char *b)
{
	for (; *a && *a == *b; a++, b++)
		;
	return (u8)*a - (u8)*b;
}

int strncmp(const char *a, const char *b, size_t n)
{
	for (; n; n--, a++, b++)
		if (*a != *b || !*a)
			return (u8)*a - (u8)*b;
	return 0;
}

char *strchr(const char *s, int c)
{
	for (; *s != (char)c; s++)
		if (!*s)
			return NULL;
	return (char *)s;
}

char *strrchr(const char *s, int c)
{
	const char *last = NULL;

	do {
		if (*s == (char)c)
			last = s;
	} while (*s++);
	return (char *)last;
}

char *strstr(const char *s, const char *what)
{
	size_t n = strlen(what);

	for (; strncmp(s, what, n); s++)
		if (!*s)
			return NULL;
	return (char *)s;
}
