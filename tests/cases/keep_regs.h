/* SPDX-License-Identifier: MIT */
/* tests/cases/<ARCH>/keep_regs.S: are all registers what they were? */
#ifndef SONDE_TESTS_KEEP_REGS_H
#define SONDE_TESTS_KEEP_REGS_H

/*
 * Gives every register that is not the stack's or the kernel's a value of its
 * own made of @seed, and looks @times times whether all have kept it. 0: yes.
 */
unsigned long keep_regs(unsigned long times, unsigned long seed);
/* The same; between two looks a breakpoint, repaired by the exception table. */
unsigned long keep_regs_trapping(unsigned long times, unsigned long seed);

/* Position independent: spins until *@end is not 0. */
extern const unsigned char spin_code[], spin_code_end[];

#endif
