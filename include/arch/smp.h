/* SPDX-License-Identifier: MIT */
/*
 * Other CPUs: starting them, interrupting them. Contract of arch/<A>/smp.c.
 */
#ifndef SONDE_ARCH_SMP_H
#define SONDE_ARCH_SMP_H

#include <lib/compiler.h>

struct cpu;

/*
 * Starts @cpu (cpu->hw_id from bootinfo, cpu->boot_stack_top its stack). The new
 * CPU runs arch_cpu_init(@cpu), then smp_cpu_entry(@cpu) of kernel/smp.c with
 * interrupts off. Returns when the firmware accepted the request; whether the
 * CPU came is kernel/smp.c's to see. -EIO with a reason logged otherwise.
 */
int __must_check arch_smp_start(struct cpu *cpu);

/* Once, before the first arch_smp_start(): trampoline page and the like. */
int __must_check arch_smp_prepare(void);

/*
 * Interrupts @cpu: it calls irq_handle(IRQ_IPI, ...) soon. What is asked of it
 * is in cpu->ipi_pending (set before). Any context with interrupts off.
 */
void arch_ipi_send(struct cpu *cpu);

/* A real NMI: arrives with interrupts off too; several may coalesce. */
void arch_nmi_send(struct cpu *cpu);
void arch_nmi_send_others(void);

#endif
