/* SPDX-License-Identifier: MIT */
/*
 * NMIs for cases that want them: one that is asked for, and a rain of them on all
 * CPUs. All that come call one function, which must take every context there is.
 *
 * On ppc64 an NMI from another CPU is an ordinary interrupt, unless that one does
 * not answer (arch/ppc64/smp.c); those that a CPU sends itself, and those of
 * nmis_send_others(), are system resets.
 */
#ifndef SONDE_TESTS_CASES_NMIS_H
#define SONDE_TESTS_CASES_NMIS_H

#include <lib/compiler.h>

struct pt_regs;

/* From here on each NMI calls @fn, nested ones too. */
void nmis_begin(void (*fn)(struct pt_regs *regs));
/* No more, and none is on its way. */
void nmis_end(void);

/*
 * Timers on all CPUs, each of which calls @fn, too, and then sends its CPU an NMI;
 * a thread that sends NMIs to all CPUs; and the NMI timer, if there is one.
 */
void nmis_rain_begin(void (*fn)(void));
void nmis_rain_end(void);

/* So many have been handled on @cpu_id. */
unsigned long nmis_seen(unsigned cpu_id);
/* All CPUs have had one. */
bool nmis_everywhere(void);
/* Is this CPU handling one? Interrupts off. */
bool nmis_in_one(void);

/* Sends this CPU one and returns when it has been handled. Not in one. */
void nmis_send_self(void);
/*
 * The same for all other CPUs, at once. They must stand still (stop_machine()), and
 * none be sent a second one before they have gone on.
 */
void nmis_send_others(void);

#endif
