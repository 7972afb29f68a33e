/* SPDX-License-Identifier: MIT */
/*
 * Interrupts, after the controller said which: timer, console, other CPUs.
 */
#ifndef SONDE_KERNEL_IRQ_H
#define SONDE_KERNEL_IRQ_H

#include <lib/compiler.h>

struct pt_regs;

enum irq_kind { IRQ_TIMER, IRQ_IPI, IRQ_CONSOLE, IRQ_SPURIOUS, IRQ_KIND_COUNT };

/* From arch_irq_dispatch(), interrupts off, once per cause. */
void irq_handle(enum irq_kind kind, struct pt_regs *regs);

/* What this CPU's interrupt interrupted; NULL outside of one. */
const struct pt_regs *irq_regs(void);

/* Interrupts of @kind that @cpu took. */
u64 irq_count(unsigned cpu_id, enum irq_kind kind);

#endif
