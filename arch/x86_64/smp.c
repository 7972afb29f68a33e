// SPDX-License-Identifier: MIT
/*
 * Starting and interrupting other CPUs. The start sequence is INIT, 10 ms,
 * start-up IPI, and that once more (SDM 3A 9.4.4.1); the code it starts is
 * ap_trampoline in boot.S. One CPU is started at a time.
 */
#include <arch/smp.h>

#include <arch/cpu.h>
#include <arch/mmu.h>
#include <arch/timer.h>
#include <kernel/log.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <asm/irq.h>
#include <asm/setup.h>

#define INIT_DELAY_US	 10000
#define STARTUP_DELAY_US 200
#define STARTUP_TRIES	 2
#define STARTUP_WAIT_US	 60000000 /* a busy host starts it when it likes */

extern const u8 ap_trampoline[], ap_trampoline_end[];

phys_t ap_trampoline_pa;

/* For boot.S: whom the CPU that comes next is to be, and its EFER bits. */
struct cpu *ap_boot_cpu;
u32 ap_boot_efer;

void ap_main(struct cpu *cpu);

int arch_smp_prepare(void)
{
	if (!ap_trampoline_pa) {
		pr_err("no free page below 1 MiB to start other CPUs from");
		return -ENOMEM;
	}
	memcpy(phys_to_virt(ap_trampoline_pa), ap_trampoline,
	       ap_trampoline_end - ap_trampoline);
	/* LMA follows by itself when paging goes on; it may not be written. */
	ap_boot_efer = x86_rdmsr(MSR_EFER) & EFER_NXE;
	return 0;
}

/* True when the CPU has taken its struct cpu: it needs nothing from us now. */
static bool taken_within(unsigned us)
{
	for (; us; us--) {
		if (!load_acquire(&ap_boot_cpu)) /* pairs with XCHG in boot.S */
			return true;
		arch_delay_us(1);
	}
	return false;
}

static void send(struct cpu *cpu, u32 command)
{
	unsigned long flags = arch_irq_save();

	lapic_send(cpu->hw_id, command);
	arch_irq_restore(flags);
}

int arch_smp_start(struct cpu *cpu)
{
	unsigned try;

	store_release(&ap_boot_cpu, cpu);
	send(cpu, LAPIC_INIT | LAPIC_LEVEL | LAPIC_ASSERT);
	arch_delay_us(INIT_DELAY_US);
	for (try = 0; try < STARTUP_TRIES; try++) {
		send(cpu, LAPIC_STARTUP | ap_trampoline_pa >> PAGE_SHIFT);
		if (taken_within(try ? STARTUP_WAIT_US : STARTUP_DELAY_US))
			return 0;
	}

	/* From now on it finds nothing, should it still come. */
	if (!__atomic_exchange_n(&ap_boot_cpu, NULL, __ATOMIC_ACQ_REL))
		return 0;
	pr_err("CPU with APIC id %u does not start", cpu->hw_id);
	return -EIO;
}

/* From boot.S: kernel_pt, the CPU's own stack, interrupts off. */
void ap_main(struct cpu *cpu)
{
	arch_cpu_init(cpu);
	smp_cpu_entry(cpu);
}

void arch_ipi_send(struct cpu *cpu)
{
	lapic_send(cpu->hw_id, VEC_IPI);
}

void arch_nmi_send(struct cpu *cpu)
{
	lapic_send(cpu->hw_id, LAPIC_NMI);
}

/* One by one: a CPU that waits for its start must not get any. */
void arch_nmi_send_others(void)
{
	struct cpu *self = arch_this_cpu();

	for_each_cpu(cpu) {
		if (cpu != self && READ_ONCE(cpu->online))
			arch_nmi_send(cpu);
	}
}
