/* SPDX-License-Identifier: MIT */
/*
 * What irq.c needs of timer.c and smp.c.
 */
#ifndef SONDE_PPC64_ASM_IRQ_H
#define SONDE_PPC64_ASM_IRQ_H

#include <lib/compiler.h>

/* timer.c, from the decrementer interrupt: is the timer really due? */
bool timer_expired(void);

/* smp.c, from an inter-processor interrupt: does it stand for an NMI? */
bool smp_nmi_take(void);

#endif
