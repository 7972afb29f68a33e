/* SPDX-License-Identifier: MIT */
/*
 * t_native.c and what it needs of a machine: native.c and native_area.S in the
 * folder of each.
 *
 * Cells of text are full of breakpoints that lead to native_finish. The tested
 * instruction goes into the middle of one of native_area, so that short branches
 * stay inside, and its relocated copy to the start of one of native_copies.
 */
#ifndef SONDE_TESTS_NATIVE_H
#define SONDE_TESTS_NATIVE_H

#define NATIVE_CELLS 64
#define NATIVE_CELL  64 /* bytes: a prefixed instruction crosses none (ppc64) */
#define NATIVE_COPY  128
#define NATIVE_INSN  24 /* where in a cell */

#ifndef __ASSEMBLY__
#include <arch/insn.h>
#include <frame.h>
#include <kernel/trap.h>

extern u8 native_area[NATIVE_CELLS][NATIVE_CELL];
extern u8 native_copies[NATIVE_CELLS][NATIVE_COPY];

/* Called; a probe there goes on at an instruction, with a test's registers. */
void native_start(void);
/* Where all traps lead: a probe there takes the registers, and returns. */
extern const char native_finish[];

/*
 * The memory that instructions work on. The stack pointer is in @stack, other
 * pointers are in the middle of @data; frames of traps are in @below.
 */
struct native_memory {
	u8 below[16384] __aligned(16);
	u8 stack[2048];
	u8 data[4096];
};
extern struct native_memory native_memory;
#define NATIVE_STACK ((unsigned long)native_memory.stack)
#define NATIVE_DATA  ((unsigned long)native_memory.data + 2048)

/* Vector registers, where the kernel can run what uses them. */
struct native_units {
	u64 vectors[64][2];
	u64 status;
};

struct native_state {
	struct pt_regs regs;
	struct native_units units;
	u8 stack[sizeof(native_memory.stack)];
	u8 data[sizeof(native_memory.data)];
	enum trap_kind kind; /* at the end: a breakpoint, or a fault */
};

/* Of the machine ----------------------------------------------------------------- */

/* How many encodings there must be, at the least: run, and emulated in probes. */
extern const struct native_least {
	unsigned encodings, emulated;
} native_least;

/*
 * Instruction @i of the corpus, made such that it touches our memory and branches
 * inside its cell. False: the kernel must not run it.
 */
bool native_decode(struct insn *insn, unsigned i, unsigned long pc,
		   const char **name);
unsigned native_encodings(void);
/* Registers for @insn; memory is there already, and may be changed. */
void native_random(struct native_state *s, const struct insn *insn, u64 *seed);
/* Gives other values to all registers that a handler may change. */
void native_scramble(struct pt_regs *regs, u64 *seed);
/* What no test may change, taken from registers of the kernel. */
void native_keep(struct pt_regs *regs, const struct pt_regs *kernel);
/* Leaves what @insn can change, in a form that can be compared. */
void native_normalise(struct native_state *s, const struct insn *insn);
void native_units_load(const struct native_units *u);
void native_units_save(struct native_units *u);

#endif
#endif
