/* SPDX-License-Identifier: MIT */
#ifndef SONDE_TESTS_NATIVE_AREA_H
#define SONDE_TESTS_NATIVE_AREA_H

/*
 * Cells of text, full of breakpoints that lead to native_finish: an instruction
 * goes into one of native_area, branches stay inside of it, and its copy goes
 * to the start of the same cell of native_copies.
 */
#define NATIVE_CELLS	 64
#define NATIVE_CELL	 64
#define NATIVE_COPY	 128
#define NATIVE_CELL_INSN 16 /* byte of the cell */

#ifndef __ASSEMBLY__
#include <lib/types.h>

extern u8 native_area[NATIVE_CELLS][NATIVE_CELL];
extern u8 native_copies[NATIVE_CELLS][NATIVE_COPY];
void native_start(void);
extern const char native_finish[];
#endif
#endif
