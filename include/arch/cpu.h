/* SPDX-License-Identifier: MIT */
/*
 * One CPU: its interrupt flag, barriers, identity and waiting. Contract of
 * arch/<A>/cpu.c and <asm/cpu.h>. Everything inline here may be used in any
 * context, NMI included, and inlines into no-probe code.
 */
#ifndef SONDE_ARCH_CPU_H
#define SONDE_ARCH_CPU_H

#include <lib/compiler.h>

struct cpu; /* include/kernel/percpu.h */

/* The CPU we run on. Stable only while preemption or interrupts are off. */
static inline struct cpu *arch_this_cpu(void);

struct thread;
/* The running thread. One load: right under preemption and migration. */
static inline struct thread *arch_current(void);

static inline void arch_irq_disable(void);
static inline void arch_irq_enable(void);
static inline bool arch_irqs_disabled(void);
/* Disables interrupts and returns what arch_irq_restore() needs. */
static inline unsigned long arch_irq_save(void);
static inline void arch_irq_restore(unsigned long flags);

/* In every wait loop: tells the CPU (and the emulator) that we spin. */
static inline void cpu_relax(void);

/* Full, read and write barrier between CPUs. */
static inline void smp_mb(void);
static inline void smp_rmb(void);
static inline void smp_wmb(void);

/*
 * Serialises instruction execution: after it, this CPU fetches what other CPUs
 * had written to text before. (SDM 3A 9.1.3; ISA 3.1 II 1.8)
 */
static inline void arch_cpu_serialize(void);

/* A counter for time stamps: TSC / timebase. */
static inline u64 arch_cycles(void);

/*
 * Called with interrupts off by the idle thread: waits for an interrupt and
 * returns with interrupts on, without a window in which a wake-up is lost.
 */
void arch_cpu_idle(void);

/*
 * Sets up this CPU: per-CPU register for @cpu, control registers, protection
 * features that the CPU says it has (SMEP, SMAP, UMIP, NX; radix on ppc64),
 * trap vectors and stacks. First thing on every CPU; no locks, no allocation.
 */
void arch_cpu_init(struct cpu *cpu);

/* "SMEP SMAP UMIP NX" or the like, for `cpus`. */
const char *arch_cpu_features(void);
/* "QEMU Virtual CPU version 2.5+", "POWER9 DD2.0". */
const char *arch_cpu_name(void);

/* Stops this CPU for good, interrupts off; NMIs are still answered. */
__noreturn void arch_cpu_halt(void);

#include <asm/cpu.h>

#endif
