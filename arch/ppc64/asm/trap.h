/* SPDX-License-Identifier: MIT */
/*
 * What trap.c shares with vectors.S and uaccess.S.
 */
#ifndef SONDE_PPC64_ASM_TRAP_H
#define SONDE_PPC64_ASM_TRAP_H

#include <lib/compiler.h>

struct pt_regs;

/* vectors.S: where trap() returns to; restoring SRR0 and SRR1. */
extern const char vec_trap_return[], vec_break_return[], vec_restart[];
extern const char vec_window_start[], vec_window_end[];

/* trap.c, from vectors.S: a frame whose MSR[RI] is off. */
void arch_trap_recover(struct pt_regs *regs);

/* uaccess.S: instructions that trap, with fix-ups. */
void sample_tw(void);
void sample_td(void);
void sample_break(void);
void sample_illegal(void);
void sample_step(void);
void sample_load(void);
void sample_store(void);
void sample_store_text(void);
void sample_segment(void);
void sample_fetch(void);
void sample_alignment(void);
void sample_float(void);
void sample_vector(void);
void sample_vsx(void);

#endif
