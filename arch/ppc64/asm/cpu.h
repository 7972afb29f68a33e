/* SPDX-License-Identifier: MIT */
/*
 * Bodies of the inlines of <arch/cpu.h>.
 *
 * r13 points to this CPU's struct cpu in all kernel code (-ffixed-r13). A
 * thread may be moved between reading r13 and using it; what must be right
 * nevertheless (current) is one instruction.
 */
#ifndef SONDE_PPC64_ASM_CPU_H
#define SONDE_PPC64_ASM_CPU_H

#include <frame.h>
#include <kernel/percpu.h>

static inline struct cpu *arch_this_cpu(void)
{
	struct cpu *cpu;

	__asm__ volatile("mr %0,13" : "=r"(cpu));
	return cpu;
}

static inline struct thread *arch_current(void)
{
	struct thread *thread;

	__asm__ volatile("ld %0,%1(13)" : "=r"(thread) : "i"(CPU_CURRENT));
	return thread;
}

static inline unsigned long arch_mfmsr(void)
{
	unsigned long msr;

	__asm__ volatile("mfmsr %0" : "=r"(msr) : : "memory");
	return msr;
}

/* mtmsrd with L=1 changes EE and RI and nothing else (ISA 3.1 III 5.4.4). */
static inline void arch_irq_disable(void)
{
	__asm__ volatile("mtmsrd %0,1" : : "r"(MSR_RI) : "memory");
}

static inline void arch_irq_enable(void)
{
	__asm__ volatile("mtmsrd %0,1" : : "r"(MSR_EE | MSR_RI) : "memory");
}

static inline bool arch_irqs_disabled(void)
{
	return !(arch_mfmsr() & MSR_EE);
}

static inline unsigned long arch_irq_save(void)
{
	unsigned long msr = arch_mfmsr();

	arch_irq_disable();
	return msr & MSR_EE;
}

static inline void arch_irq_restore(unsigned long flags)
{
	__asm__ volatile("mtmsrd %0,1" : : "r"(flags | MSR_RI) : "memory");
}

/* The yield hint (ISA 3.1 II 3.2). QEMU lets another CPU run. */
static inline void cpu_relax(void)
{
	__asm__ volatile("or 27,27,27" : : : "memory");
}

static inline void smp_mb(void)
{
	__asm__ volatile("sync" : : : "memory");
}

static inline void smp_rmb(void)
{
	__asm__ volatile("lwsync" : : : "memory");
}

static inline void smp_wmb(void)
{
	__asm__ volatile("lwsync" : : : "memory");
}

static inline void arch_cpu_serialize(void)
{
	__asm__ volatile("isync" : : : "memory");
}

static inline u64 arch_cycles(void)
{
	u64 tb;

	__asm__ volatile("mfspr %0,268" : "=r"(tb));
	return tb;
}

#endif
