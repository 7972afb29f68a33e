// SPDX-License-Identifier: MIT
/*
 * Other CPUs. RTAS starts one in real mode at secondary_entry (boot.S); an
 * inter-processor interrupt is a favoured MFRR in its presentation controller;
 * an NMI is a system reset interrupt, which comes whatever MSR[EE] says.
 *
 * A reset that arrives while SRR0 and SRR1 are live (MSR[RI] = 0: the first and
 * last instructions of every trap) overwrites them: what was interrupted cannot
 * go on then (ISA 3.1 III 7.4.3). arch_trap_recover() repairs the way out, but
 * nothing can repair the way in. So another CPU is asked first, by an ordinary
 * interrupt, and gets a reset only if it does not answer, that is, has interrupts
 * off for long. A panic, after which nobody goes on, resets at once.
 */
#include <arch/smp.h>
#include <arch/boot.h>
#include <arch/mmu.h>
#include <asm/entry.h>
#include <asm/hcall.h>
#include <asm/irq.h>
#include <asm/setup.h>
#include <kernel/bootinfo.h>
#include <kernel/log.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <lib/errno.h>

#define MFRR_IPI      4 /* more favoured than the console's 5 */
#define TARGET_OTHERS (-2L)

/*
 * How often we look whether a CPU answers before its NMI is a real one. Not a
 * time: each look lets an emulator run other CPUs, and costs next to none under
 * icount.
 */
#define NMI_PATIENCE 1000000

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

/* Set while an NMI is asked for by an ordinary interrupt. */
static unsigned nmi_asked[MAX_CPUS];

bool smp_nmi_take(void)
{
	return READ_ONCE(nmi_asked[this_cpu()->id]) &&
	       __atomic_exchange_n(&nmi_asked[this_cpu()->id], 0,
				   __ATOMIC_ACQ_REL);
}

/* True if @cpu took the request. */
static bool nmi_ask(struct cpu *cpu)
{
	store_release(&nmi_asked[cpu->id], 1); /* pairs with smp_nmi_take() */
	arch_ipi_send(cpu);
	for (unsigned i = 0; i < NMI_PATIENCE; i++) {
		if (!load_acquire(&nmi_asked[cpu->id]))
			return true;
		cpu_relax();
	}
	return !__atomic_exchange_n(&nmi_asked[cpu->id], 0, __ATOMIC_ACQ_REL);
}

/* Our own reset comes behind the call, where it does no harm. */
void arch_nmi_send(struct cpu *cpu)
{
	if (cpu == this_cpu() || !nmi_ask(cpu))
		hcall(H_SIGNAL_SYS_RESET, cpu->hw_id, 0, 0, 0);
}

void arch_nmi_send_others(void)
{
	hcall(H_SIGNAL_SYS_RESET, (unsigned long)TARGET_OTHERS, 0, 0, 0);
}
