/* SPDX-License-Identifier: MIT */
/*
 * Time: a clock and one one-shot timer per CPU. Contract of arch/<A>/timer.c.
 */
#ifndef SONDE_ARCH_TIMER_H
#define SONDE_ARCH_TIMER_H

#include <lib/compiler.h>

struct bootinfo;

/* Boot CPU: calibrates against something known. -EIO with a reason logged. */
int __must_check arch_timer_init(const struct bootinfo *bi);
/* Every CPU, interrupts off, after arch_irq_init_cpu(). */
void arch_timer_init_cpu(void);

/* Nanoseconds since boot; never goes back, on any CPU. Any context. */
u64 arch_clock_ns(void);

/*
 * This CPU calls irq_handle(IRQ_TIMER) at or soon after @deadline_ns of
 * arch_clock_ns(), at once if that is past. A new call replaces the old one;
 * ~0 disarms. Interrupts off.
 */
void arch_timer_arm(u64 deadline_ns);

/*
 * Sends the boot CPU an NMI about each @ns, or more often, whatever it does; 0: no
 * more, but one may be on its way. -ENODEV if the machine has no such timer.
 */
int __must_check arch_nmi_timer_set(u64 ns);

/* Busy-waits without the timer, for start-up sequences. */
void arch_delay_us(unsigned us);

#endif
