/* SPDX-License-Identifier: MIT */
/* tests/cases/<ARCH>/ret_area.S: functions that return in unusual ways. */
#ifndef SONDE_TESTS_RET_AREA_H
#define SONDE_TESTS_RET_AREA_H

/* x + 1, by a jump to ret_tail_end(). */
long ret_tail(long x);
long ret_tail_end(long x);
/* Goes to itself, x times, by a jump to its entry; 7. */
long ret_loop(long x);
/* 1 or 2: x is 0 or not. Has no frame on the way to 1. */
long ret_early(long x);
/* ret_changes() adds to its return address: 10, but 11 if that had no effect. */
long ret_change(void);
void ret_changes(void);
/* Calls fn(arg) on the stack that ends at @top. */
long ret_on_stack(void *top, long (*fn)(void *arg), void *arg);
/* Where it returns to: not where its caller is, if it is probed. */
void (*ret_address(void))(void);
/* Has all registers that a call preserves looked at. 0 if they are kept. */
long ret_keeps(long (*fn)(void));
/* x86_64: takes two arguments from the stack; their sum. 3 elsewhere. */
long ret_pops(void);
long ret_pops_callee(void);

#endif
