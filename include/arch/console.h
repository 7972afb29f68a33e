/* SPDX-License-Identifier: MIT */
/*
 * The console device: COM1 / the first vty. Contract of arch/<A>/console.c.
 * kernel/console.c serialises; nothing here takes a lock.
 */
#ifndef SONDE_ARCH_CONSOLE_H
#define SONDE_ARCH_CONSOLE_H

#include <lib/compiler.h>

struct bootinfo;

/* As early as possible; may be called before memory or traps work. */
void arch_console_init(const struct bootinfo *bi);
/* Blocks until the device took all of it. Any context. */
void arch_console_write(const char *s, size_t n);
/* Up to @n bytes that are there now; 0 if none. */
size_t arch_console_read(char *buf, size_t n);

#endif
