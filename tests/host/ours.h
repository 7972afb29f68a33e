/* SPDX-License-Identifier: MIT */
/*
 * lib/string.c and lib/printf.c under the names they have on the host (see
 * rename.h).
 */
#ifndef SONDE_TESTS_HOST_OURS_H
#define SONDE_TESTS_HOST_OURS_H

#include <stdarg.h>
#include <lib/compiler.h>
#include "../random.h"

void *sonde_memcpy(void *dst, const void *src, size_t n);
void *sonde_memmove(void *dst, const void *src, size_t n);
void *sonde_memset(void *dst, int c, size_t n);
int sonde_memcmp(const void *a, const void *b, size_t n);
void *sonde_memchr(const void *s, int c, size_t n);
size_t sonde_strlen(const char *s);
size_t sonde_strnlen(const char *s, size_t max);
int sonde_strcmp(const char *a, const char *b);
int sonde_strncmp(const char *a, const char *b, size_t n);
char *sonde_strchr(const char *s, int c);
char *sonde_strrchr(const char *s, int c);
char *sonde_strstr(const char *s, const char *what);
int sonde_vsnprintf(char *buf, size_t size, const char *fmt, va_list ap);
int sonde_snprintf(char *buf, size_t size, const char *fmt, ...);

#endif
