/* SPDX-License-Identifier: MIT */
/*
 * The interrupt controller: LAPIC and IOAPIC / XICS. Contract of arch/<A>/irq.c.
 * arch_irq_dispatch() is in <arch/trap.h>.
 */
#ifndef SONDE_ARCH_IRQ_H
#define SONDE_ARCH_IRQ_H

#include <lib/compiler.h>

struct bootinfo;

/* Boot CPU: finds and masks everything. -ENODEV with a reason logged. */
int __must_check arch_irq_init(const struct bootinfo *bi);
/* Every CPU, the boot CPU included, before it enables interrupts. */
void arch_irq_init_cpu(void);

/* Routes the console's receive interrupt to the boot CPU. */
int __must_check arch_irq_enable_console(void);

#endif
