/* SPDX-License-Identifier: MIT */
/*
 * Inlines of <arch/cpu.h>. The GS base is this CPU's struct cpu.
 */
#ifndef SONDE_ASM_CPU_H
#define SONDE_ASM_CPU_H

#include <kernel/percpu.h> /* CPU_SELF, CPU_CURRENT */
#include <asm/x86.h>

/* Volatile: the answer is another one after every context switch. */
static inline struct cpu *arch_this_cpu(void)
{
	struct cpu *cpu;

	__asm__ volatile("mov %%gs:%c1, %0" : "=r"(cpu) : "i"(CPU_SELF));
	return cpu;
}

static inline struct thread *arch_current(void)
{
	struct thread *t;

	__asm__ volatile("mov %%gs:%c1, %0" : "=r"(t) : "i"(CPU_CURRENT));
	return t;
}

static inline unsigned long arch_flags(void)
{
	unsigned long flags;

	__asm__ volatile("pushfq; popq %0" : "=r"(flags) : : "memory");
	return flags;
}

static inline void arch_irq_disable(void)
{
	__asm__ volatile("cli" : : : "memory");
}

static inline void arch_irq_enable(void)
{
	__asm__ volatile("sti" : : : "memory");
}

static inline bool arch_irqs_disabled(void)
{
	return !(arch_flags() & X86_FLAGS_IF);
}

static inline unsigned long arch_irq_save(void)
{
	unsigned long flags = arch_flags();

	arch_irq_disable();
	return flags;
}

static inline void arch_irq_restore(unsigned long flags)
{
	if (flags & X86_FLAGS_IF)
		arch_irq_enable();
	else
		arch_irq_disable();
}

static inline void cpu_relax(void)
{
	__asm__ volatile("pause" : : : "memory");
}

static inline void smp_mb(void)
{
	__asm__ volatile("mfence" : : : "memory");
}

/* Loads and stores are each in order already (SDM 3A 9.2.2). */
static inline void smp_rmb(void)
{
	barrier();
}

static inline void smp_wmb(void)
{
	barrier();
}

/* CPUID serialises everywhere; IRET would also re-enable NMIs. */
static inline void arch_cpu_serialize(void)
{
	u32 a = 0, c = 0;

	__asm__ volatile("cpuid" : "+a"(a), "+c"(c) : : "ebx", "edx", "memory");
}

static inline u64 arch_cycles(void)
{
	u32 lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (u64)hi << 32 | lo;
}

/* The rest is for files of arch/x86_64 only. */

static inline u64 x86_rdmsr(u32 msr)
{
	u32 lo, hi;

	__asm__ volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr));
	return (u64)hi << 32 | lo;
}

static inline void x86_wrmsr(u32 msr, u64 value)
{
	__asm__ volatile("wrmsr"
			 :
			 : "c"(msr), "a"((u32)value), "d"((u32)(value >> 32))
			 : "memory");
}

static inline void x86_outb(u16 port, u8 value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port) : "memory");
}

static inline u8 x86_inb(u16 port)
{
	u8 value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port) : "memory");
	return value;
}

#endif
