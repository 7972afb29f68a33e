/* SPDX-License-Identifier: MIT */
/*
 * Leaving several frames at once. Contract of arch/<A>/setjmp.S.
 *
 * setjmp() returns 0, and once more, with what longjmp() was given (1 for 0), for
 * each longjmp(). The function that called it must not have returned meanwhile;
 * its local variables that changed in between are volatile. Same thread and stack.
 * Interrupt flag and preemption count stay as they are at the time of longjmp().
 */
#ifndef SONDE_ARCH_SETJMP_H
#define SONDE_ARCH_SETJMP_H

#include <lib/compiler.h>

struct jmp_buf {
	unsigned long words[24]; /* what a call preserves; setjmp.S */
};

int setjmp(struct jmp_buf *buf) __attribute__((returns_twice));
__noreturn void longjmp(const struct jmp_buf *buf, int value);

#endif
