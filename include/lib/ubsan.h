/* SPDX-License-Identifier: MIT */
/*
 * Undefined behaviour found by code built with -fsanitize=undefined.
 */
#ifndef SONDE_LIB_UBSAN_H
#define SONDE_LIB_UBSAN_H

#include <lib/compiler.h>

/*
 * Called for each finding, in whatever context it happened; @kind is a sentence
 * without full stop. May return: the code then goes on. The weak default does
 * nothing.
 */
void ubsan_report(const char *kind, const char *file, u32 line, u32 column);

#endif
