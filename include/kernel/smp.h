/* SPDX-License-Identifier: MIT */
/*
 * All CPUs: bringing them up, asking them to do things.
 */
#ifndef SONDE_KERNEL_SMP_H
#define SONDE_KERNEL_SMP_H

#include <lib/compiler.h>

struct cpu;
struct pt_regs;

enum ipi { IPI_RESCHED, IPI_CALL, IPI_COUNT };

/* Starts all other CPUs; panics with a reason if one does not come. Thread. */
void smp_init(void);

/* CPUs that take work. */
unsigned smp_online(void);

/* Entry of every other CPU, from arch code; interrupts off, idle stack. */
__noreturn void smp_cpu_entry(struct cpu *cpu);

/* Sends @ipi to @cpu. Any context with interrupts off. */
void smp_send(struct cpu *cpu, enum ipi ipi);

/*
 * Runs @fn(@arg) with interrupts off on every online CPU, this one included, and
 * returns when all have. Not with interrupts off, not in a handler. @fn must not
 * sleep. A CPU that does not answer is reported every few seconds.
 */
void smp_call_all(void (*fn)(void *arg), void *arg);
/* The same on one CPU. -ENODEV if it is not online. */
int __must_check smp_call(unsigned cpu_id, void (*fn)(void *arg), void *arg);

/*
 * The longest time in ns for which a CPU was held by such a call from another,
 * since this was last asked.
 */
u64 smp_longest_hold(void);

/* irq_handle(IRQ_IPI). */
void smp_ipi_handle(struct pt_regs *regs);

/*
 * Runs @fn(@arg, regs) in NMI context on @cpu_id, this CPU included, and waits
 * until it has. Interrupts may be off, here and there. Not for what interrupted
 * such a call on its own CPU. -ENODEV if @cpu_id is not online.
 */
int __must_check smp_nmi_call(unsigned cpu_id,
			      void (*fn)(void *arg, struct pt_regs *regs),
			      void *arg);
/* trap(): an NMI came. False if nobody asked for it. */
bool smp_nmi_handle(struct pt_regs *regs);

/*
 * For tests: is called for every NMI, in its context, before anything else, and
 * says whether it knows of it.
 */
extern bool (*smp_nmi_tracer)(struct pt_regs *regs);

/* An NMI for something that the other CPU will find; any context. */
void smp_nmi_send(struct cpu *cpu);
/*
 * trap(): an NMI that found nothing to do. True if it may be one that was sent,
 * and an earlier one has done its work. No-probe.
 */
bool smp_nmi_was_sent(void);

#endif
