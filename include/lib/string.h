/* SPDX-License-Identifier: MIT */
/*
 * The C library's memory and string functions, as far as the kernel and the
 * compiler need them. Any context. On the host they are libc's own, except that
 * the tests also build lib/string.c under other names and compare the two.
 */
#ifndef SONDE_LIB_STRING_H
#define SONDE_LIB_STRING_H

#include <lib/types.h>

#ifdef __SONDE_HOST__
#include <string.h>
#else
void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *s, int c, size_t n);

size_t strlen(const char *s);
size_t strnlen(const char *s, size_t max);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
char *strstr(const char *s, const char *what);
#endif

#endif
