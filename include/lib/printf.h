/* SPDX-License-Identifier: MIT */
/*
 * Formatted text. The core, vformat(), hands pieces to a sink and needs no
 * buffer, so it works where there is no memory: any context.
 *
 * Conversions: d i u x X o c s p %, with flags - + space # 0, width and
 * precision (numbers or *), sizes hh h l ll z t j. As in C, except:
 *	%p	always 0x and 16 digits
 *	%pS	the address as symbol+0x4/0x80, where a symbol table is at hand
 *	%s	prints (null) for NULL
 * A conversion that is not known is copied as it stands. No floating point.
 */
#ifndef SONDE_LIB_PRINTF_H
#define SONDE_LIB_PRINTF_H

#include <stdarg.h>
#include <lib/compiler.h>

/* Takes @n characters at @s, which are not terminated. */
typedef void (*format_sink)(void *arg, const char *s, size_t n);

/* Returns the number of characters handed to @sink. */
int vformat(format_sink sink, void *arg, const char *fmt, va_list ap)
	__printf(3, 0);
int format(format_sink sink, void *arg, const char *fmt, ...) __printf(3, 4);

#ifdef __SONDE_HOST__
#include <stdio.h>
#else
/* At most @size bytes with the terminator; returns the untruncated length. */
int vsnprintf(char *buf, size_t size, const char *fmt, va_list ap)
	__printf(3, 0);
int snprintf(char *buf, size_t size, const char *fmt, ...) __printf(3, 4);
#endif

/*
 * Like snprintf(), but returns what was really written, for appending:
 * n += scnprintf(buf + n, size - n, ...) never runs past the end.
 */
size_t scnprintf(char *buf, size_t size, const char *fmt, ...) __printf(3, 4);

/*
 * Writes the name of @addr to @buf for %pS; set by the symbol table. Returns
 * false if it has none. NULL until then.
 */
extern bool (*printf_symbol)(u64 addr, char *buf, size_t size);

#endif
