// SPDX-License-Identifier: MIT
/*
 * XICS by hypervisor calls (PAPR 14). A CPU's priority (CPPR) masks all that is
 * not more favoured; accepting an interrupt (XIRR) raises it to that interrupt's,
 * ending it (EOI) puts it back. The decrementer is the CPU's own.
 */
#include <arch/irq.h>
#include <arch/boot.h>
#include <arch/trap.h>
#include <frame.h>
#include <asm/hcall.h>
#include <asm/irq.h>
#include <kernel/bootinfo.h>
#include <kernel/irq.h>
#include <kernel/log.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <lib/errno.h>

#define XIRR_SOURCE	 0xffffffu
#define SOURCE_NONE	 0
#define SOURCE_IPI	 2
#define PRIORITY_ANY	 0xff
#define PRIORITY_CONSOLE 5
#define MFRR_NONE	 0xff /* no inter-processor interrupt wanted */

static u32 console_source;

int arch_irq_init(const struct bootinfo *bi)
{
	/* Firmware left all sources masked; set-xive is what unmasks one. */
	if (!bi->rtas.set_xive) {
		pr_err("irq: firmware has no ibm,set-xive");
		return -ENODEV;
	}
	return 0;
}

void arch_irq_init_cpu(void)
{
	hcall(H_IPI, this_cpu()->hw_id, MFRR_NONE, 0, 0);
	hcall(H_CPPR, PRIORITY_ANY, 0, 0, 0);
}

int arch_irq_enable_console(void)
{
	static struct rtas_args args;
	u32 in[] = { boot_info.vty_irq, cpus[0].hw_id, PRIORITY_CONSOLE };

	if (!boot_info.vty_irq)
		return -ENODEV;
	console_source = boot_info.vty_irq;
	if (rtas_call(&args, boot_info.rtas.set_xive, 3, 1, in)) {
		pr_err("irq: firmware refused interrupt %#x of the console",
		       console_source);
		return -EIO;
	}
	return 0;
}

static void external(struct pt_regs *regs)
{
	struct hcall_out out;
	u32 source;

	if (hcall_out(&out, H_XIRR, 0, 0, 0, 0) != H_SUCCESS)
		return;
	source = out.r4 & XIRR_SOURCE;
	if (source == SOURCE_NONE) {
		irq_handle(IRQ_SPURIOUS, regs);
		return;
	}
	/*
	 * An inter-processor request is withdrawn before it is looked at: one
	 * that comes from then on raises it again.
	 */
	if (source == SOURCE_IPI) {
		hcall(H_IPI, this_cpu()->hw_id, MFRR_NONE, 0, 0);
		if (smp_nmi_take())
			smp_nmi_handle(regs);
		irq_handle(IRQ_IPI, regs);
	} else if (source == console_source) {
		irq_handle(IRQ_CONSOLE, regs);
	} else {
		irq_handle(IRQ_SPURIOUS, regs);
	}
	hcall(H_EOI, (u32)out.r4, 0, 0, 0);
}

/* Until somebody has asked for its cause, and removed that, it stays. */
void arch_irq_postpone(const struct trap *t __unused)
{
}

void arch_irq_dispatch(struct pt_regs *regs, const struct trap *t)
{
	switch (t->vector) {
	case 0x500:
		external(regs);
		break;
	case 0x900:
		if (timer_expired())
			irq_handle(IRQ_TIMER, regs);
		break;
	default: /* doorbells, which nobody sends: QEMU 7.2 lacks msgsndp */
		irq_handle(IRQ_SPURIOUS, regs);
		break;
	}
}
