// SPDX-License-Identifier: MIT
/*
 * Other CPUs. RTAS starts one in real mode at secondary_entry (boot.S); an
 * inter-processor interrupt is a favoured MFRR in its presentation controller;
 * an NMI is a system reset interrupt, which comes whatever MSR[EE] says.
 *
 * A reset that arrives while SRR0 and SRR1 are live (MSR[RI] = 0: the first and
 * last instructions of every trap) overwrites them: what was interrupted cannot
 * go on then (ISA 3.1 III 7.4.3). arch_trap_recover() repairs the way out, but
 * not the way in. NMIs are for CPUs that are lost anyway.
 */
#include <arch/smp.h>
#include <arch/boot.h>
#include <arch/mmu.h>
#include <asm/entry.h>
#include <asm/hcall.h>
#include <asm/setup.h>
#include <kernel/bootinfo.h>
#include <kernel/log.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <lib/errno.h>

#define MFRR_IPI      4 /* more favoured than the console's 5 */
#define TARGET_OTHERS (-2L)

STATIC_ASSERT(offsetof(struct cpu, boot_stack_top) == CPU_BOOT_STACK);

int arch_smp_prepare(void)
{
	if (boot_info.rtas.start_cpu)
		return 0;
	pr_err("smp: firmware has no start-cpu");
	return -EIO;
}

/* Under the caller's serialisation: one CPU is started after the other. */
int arch_smp_start(struct cpu *cpu)
{
	static struct rtas_args args;
	u32 in[] = { cpu->hw_id, (u32)virt_to_phys(secondary_entry),
		     (u32)virt_to_phys(cpu) };
	int status;

	smp_mb();
	status = rtas_call(&args, boot_info.rtas.start_cpu, 3, 1, in);
	if (!status)
		return 0;
	pr_err("smp: firmware refused to start CPU %u: %d", cpu->hw_id, status);
	return -EIO;
}

void secondary_main(struct cpu *cpu)
{
	arch_cpu_init(cpu);
	smp_cpu_entry(cpu);
}

void arch_ipi_send(struct cpu *cpu)
{
	smp_mb(); /* pairs with the hypervisor: ipi_pending before MFRR */
	hcall(H_IPI, cpu->hw_id, MFRR_IPI, 0, 0);
}

void arch_nmi_send(struct cpu *cpu)
{
	hcall(H_SIGNAL_SYS_RESET, cpu->hw_id, 0, 0, 0);
}

void arch_nmi_send_others(void)
{
	hcall(H_SIGNAL_SYS_RESET, (unsigned long)TARGET_OTHERS, 0, 0, 0);
}
