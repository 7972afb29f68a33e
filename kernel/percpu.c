// SPDX-License-Identifier: MIT
/*
 * struct cpu of every CPU, and the stacks that traps need when the interrupted
 * one cannot be trusted. All static: needed before there is any allocator, and
 * when the allocator is what broke.
 */
#include <kernel/percpu.h>
#include <kernel/thread.h>
#include <probe/hit.h>

STATIC_ASSERT(offsetof(struct cpu, self) == CPU_SELF);
STATIC_ASSERT(offsetof(struct cpu, thread) == CPU_CURRENT);
STATIC_ASSERT(offsetof(struct cpu, scratch) == CPU_SCRATCH);
STATIC_ASSERT(offsetof(struct cpu, trap_sp) == CPU_TRAP_SP);
STATIC_ASSERT(offsetof(struct cpu, nmi_sp) == CPU_NMI_SP);
STATIC_ASSERT(offsetof(struct cpu, mce_sp) == CPU_MCE_SP);
STATIC_ASSERT(offsetof(struct cpu, boot_stack_top) == CPU_BOOT_STACK);
STATIC_ASSERT(offsetof(struct cpu, toc) == CPU_TOC);
STATIC_ASSERT(offsetof(struct cpu, hits) == CPU_HITS);
STATIC_ASSERT(offsetof(struct cpu, hit_turns) == CPU_HIT_TURNS);
STATIC_ASSERT(offsetof(struct cpu, hit_levels) == CPU_HIT_LEVELS);
STATIC_ASSERT(sizeof(struct cpu) == CPU_SIZE);

struct cpu cpus[MAX_CPUS];
unsigned cpu_count = 1;

static struct trap_stacks {
	u8 trap[TRAP_STACK_SIZE];
	u8 nmi[TRAP_STACK_SIZE];
	u8 mce[TRAP_STACK_SIZE];
} trap_stacks[MAX_CPUS] __aligned(4096);

void percpu_init_boot(void)
{
	for (unsigned i = 0; i < MAX_CPUS; i++) {
		struct cpu *cpu = &cpus[i];
		struct trap_stacks *stacks = &trap_stacks[i];

		cpu->self = cpu;
		cpu->id = i;
		cpu->thread = sched_idle_thread(i);
		cpu->trap_sp = (unsigned long)stacks->trap + TRAP_STACK_SIZE;
		cpu->nmi_sp = (unsigned long)stacks->nmi + TRAP_STACK_SIZE;
		cpu->hits = probe_hit_levels(i);
		cpu->mce_sp = (unsigned long)stacks->mce + TRAP_STACK_SIZE;
	}
}
