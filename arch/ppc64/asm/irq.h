/* SPDX-License-Identifier: MIT */
/*
 * Between irq.c and timer.c.
 */
#ifndef SONDE_PPC64_ASM_IRQ_H
#define SONDE_PPC64_ASM_IRQ_H

#include <lib/compiler.h>

/* timer.c, from the decrementer interrupt: is the timer really due? */
bool timer_expired(void);

#endif
