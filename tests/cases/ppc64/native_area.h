/* SPDX-License-Identifier: MIT */
#ifndef SONDE_TESTS_NATIVE_AREA_H
#define SONDE_TESTS_NATIVE_AREA_H

/*
 * Cells of text, full of traps that lead to native_finish: an instruction goes
 * into the middle of one, so that short branches stay inside. A cell is as long
 * as a prefixed instruction may not cross.
 */
#define NATIVE_CELLS	  64
#define NATIVE_CELL_WORDS 16
#define NATIVE_CELL_INSN  6 /* word of the cell */

#ifndef __ASSEMBLY__
#include <lib/types.h>

extern u32 native_area[NATIVE_CELLS][NATIVE_CELL_WORDS];
extern u32 native_copies[NATIVE_CELLS][NATIVE_CELL_WORDS];

/* VSR0-63 and FPSCR, which is 0 after loading them. */
struct vectors {
	u64 vsr[64][2];
	u64 fpscr;
};

void native_vectors_load(const struct vectors *v);
void native_vectors_save(struct vectors *v);
void native_start(void);
extern const char native_finish[];
#endif
#endif
