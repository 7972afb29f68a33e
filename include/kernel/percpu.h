/* SPDX-License-Identifier: MIT */
/*
 * Per-CPU data. Each CPU has a struct cpu, found through a register (x86: GS
 * base, ppc64: r13); everything else that exists once per CPU is an array made
 * by DEFINE_PER_CPU, one cache line per element at least.
 *
 * arch_this_cpu() is stable only while preemption or interrupts are off; a
 * thread that may migrate uses current, which is one load.
 */
#ifndef SONDE_KERNEL_PERCPU_H
#define SONDE_KERNEL_PERCPU_H

#define MAX_CPUS 16

/* Each of the stacks whose tops are trap_sp, nmi_sp and mce_sp. */
#define TRAP_STACK_SIZE 8192

/*
 * Offsets of what assembly, generated code and <asm/cpu.h> touch; asserted in
 * percpu.c.
 */
#define CPU_SELF       0
#define CPU_CURRENT    8
#define CPU_SCRATCH    16
#define CPU_TRAP_SP    80
#define CPU_NMI_SP     88
#define CPU_MCE_SP     96
#define CPU_BOOT_STACK 104
#define CPU_TOC	       112
#define CPU_HITS       120
#define CPU_HIT_TURNS  128
#define CPU_HIT_LEVELS 136
#define CPU_SIZE       512

#ifndef __ASSEMBLY__
#include <lib/compiler.h>
#include <arch/cpu.h>

struct thread;
struct hit;

struct cpu {
	struct cpu *self;      /* CPU_SELF */
	struct thread *thread; /* CPU_CURRENT */
	u64 scratch[8]; /* CPU_SCRATCH: vectors.S, before it has a frame */
	u64 trap_sp;	/* CPU_TRAP_SP: emergency stack top (double fault) */
	u64 nmi_sp;	/* CPU_NMI_SP */
	u64 mce_sp;	/* CPU_MCE_SP */
	u64 boot_stack_top; /* CPU_BOOT_STACK: stack of the idle thread */
	u64 toc;	    /* CPU_TOC: ppc64's r2 */

	/* Hits: probe/level.h. */
	struct hit *hits; /* CPU_HITS: HIT_LEVELS of them */
	u64 hit_turns;	  /* CPU_HIT_TURNS: hits so far, nested ones not */
	u64 hit_levels;	  /* CPU_HIT_LEVELS: under way; or a detour's frame */
	bool hit_in_nmi;  /* in an NMI that interrupted one */

	unsigned id;	      /* 0..cpu_count-1 */
	u32 hw_id;	      /* LAPIC id / interrupt server */
	bool online;	      /* reached the scheduler */
	unsigned ipi_pending; /* enum ipi bits, atomic */
	u64 traps[16];	      /* by enum trap_kind */
} __aligned(256);

extern struct cpu cpus[MAX_CPUS];
extern unsigned cpu_count; /* found by firmware, at most MAX_CPUS */

#define this_cpu()	   arch_this_cpu()
#define smp_processor_id() (arch_this_cpu()->id)

#define for_each_cpu(c)	   for (struct cpu *c = cpus; c < cpus + cpu_count; c++)

#define DEFINE_PER_CPU(type, name) \
	struct {                   \
		type v;            \
	} __aligned(64) name[MAX_CPUS]
#define per_cpu(name, cpu_id) (name[cpu_id].v)
#define this_cpu_ref(name)    (name[arch_this_cpu()->id].v)

/* Gives cpus[] their ids and the boot CPU its struct; before traps work. */
void percpu_init_boot(void);

#endif /* __ASSEMBLY__ */
#endif
