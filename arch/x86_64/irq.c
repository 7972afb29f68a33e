// SPDX-License-Identifier: MIT
/*
 * Interrupt controllers: the local APICs, the I/O APICs, and the 8259 pair,
 * which is only kept quiet. xAPIC mode, the one every machine starts in.
 *
 *	vector		from			is
 *	VEC_TIMER	LAPIC timer		IRQ_TIMER
 *	VEC_IPI		another CPU		IRQ_IPI
 *	VEC_CONSOLE	COM1 by an I/O APIC	IRQ_CONSOLE
 *	else		nobody we know		IRQ_SPURIOUS
 */
#include <arch/irq.h>

#include <arch/cpu.h>
#include <arch/mmu.h>
#include <arch/regs.h>
#include <arch/trap.h>
#include <kernel/bootinfo.h>
#include <kernel/irq.h>
#include <kernel/log.h>
#include <kernel/vm.h>
#include <lib/errno.h>
#include <asm/irq.h>

#define LAPIC_SVR_ENABLE  0x100
#define LAPIC_ICR_BUSY	  0x1000 /* delivery status */

#define IOAPIC_VERSION	  1
#define IOAPIC_PIN_LO(n)  (0x10 + 2 * (n))
#define IOAPIC_PIN_HI(n)  (0x11 + 2 * (n))
#define IOAPIC_PIN_MASKED 0x10000
#define IOAPIC_PIN_LEVEL  0x8000
#define IOAPIC_PIN_LOW	  0x2000

/* Flags of an override (ACPI 6.4 5.2.12.5). */
#define OVERRIDE_LOW   3
#define OVERRIDE_LEVEL 0xc

struct ioapic {
	volatile u32 *select;
	volatile u32 *window;
	u32 gsi_base;
	unsigned pins;
};

volatile u32 *lapic;

static struct ioapic ioapics[BOOTINFO_IOAPICS_MAX];
static unsigned ioapic_count;

/* Where an ISA line arrives, and how it says so. */
struct line {
	u8 irq;
	u32 gsi;
	u32 mode;
};
static struct line console_line = { .irq = UART_IRQ };
static struct line pit_line = { .irq = PIT_IRQ };

static u32 ioapic_read(struct ioapic *io, u32 reg)
{
	*io->select = reg;
	return *io->window;
}

static void ioapic_write(struct ioapic *io, u32 reg, u32 value)
{
	*io->select = reg;
	*io->window = value;
}

/* Initialised to harmless vectors, then masked (8259A data sheet). */
static void mask_8259(void)
{
	x86_outb(0x20, 0x11);
	x86_outb(0xa0, 0x11);
	x86_outb(0x21, VEC_PIC);
	x86_outb(0xa1, VEC_PIC + 8);
	x86_outb(0x21, 4);
	x86_outb(0xa1, 2);
	x86_outb(0x21, 1);
	x86_outb(0xa1, 1);
	x86_outb(0x21, 0xff);
	x86_outb(0xa1, 0xff);
}

static int ioapic_init(struct ioapic *io, const struct bootinfo_ioapic *info)
{
	volatile void *regs = vm_map_device(info->pa, PAGE_SIZE);
	unsigned pin;

	if (!regs)
		return -ENOMEM;
	io->select = regs;
	io->window = (volatile u32 *)((volatile char *)regs + 0x10);
	io->gsi_base = info->gsi_base;
	io->pins = (ioapic_read(io, IOAPIC_VERSION) >> 16 & 0xff) + 1;
	for (pin = 0; pin < io->pins; pin++) {
		ioapic_write(io, IOAPIC_PIN_LO(pin), IOAPIC_PIN_MASKED);
		ioapic_write(io, IOAPIC_PIN_HI(pin), 0);
	}
	return 0;
}

static void find_line(struct line *line, const struct bootinfo *bi)
{
	const struct bootinfo_override *o;

	line->gsi = line->irq;
	for (o = bi->overrides; o < bi->overrides + bi->override_count; o++) {
		if (o->irq != line->irq)
			continue;
		line->gsi = o->gsi;
		if ((o->flags & OVERRIDE_LOW) == OVERRIDE_LOW)
			line->mode |= IOAPIC_PIN_LOW;
		if ((o->flags & OVERRIDE_LEVEL) == OVERRIDE_LEVEL)
			line->mode |= IOAPIC_PIN_LEVEL;
	}
}

int arch_irq_init(const struct bootinfo *bi)
{
	unsigned i;

	if (!bi->lapic_pa) {
		pr_err("the MADT names no local APIC");
		return -ENODEV;
	}
	lapic = vm_map_device(bi->lapic_pa, PAGE_SIZE);
	if (!lapic) {
		pr_err("cannot map the local APIC at %#llx", bi->lapic_pa);
		return -ENODEV;
	}
	mask_8259();
	for (i = 0; i < bi->ioapic_count; i++) {
		if (ioapic_init(&ioapics[i], &bi->ioapics[i])) {
			pr_err("cannot map the I/O APIC at %#llx",
			       bi->ioapics[i].pa);
			return -ENODEV;
		}
		ioapic_count++;
	}
	find_line(&console_line, bi);
	find_line(&pit_line, bi);
	return 0;
}

void arch_irq_init_cpu(void)
{
	x86_wrmsr(MSR_APIC_BASE, x86_rdmsr(MSR_APIC_BASE) | APIC_BASE_ENABLE);
	lapic_write(LAPIC_SVR, LAPIC_SVR_ENABLE | VEC_SPURIOUS);
	lapic_write(LAPIC_TPR, 0);
	lapic_write(LAPIC_LVT_LINT0, LAPIC_MASKED); /* the 8259's */
	lapic_write(LAPIC_LVT_LINT1, LAPIC_NMI);
	lapic_write(LAPIC_LVT_ERROR, LAPIC_MASKED);
	lapic_write(LAPIC_LVT_TIMER, LAPIC_MASKED);
	lapic_write(LAPIC_EOI, 0);
}

/* To the boot CPU, with the vector or delivery mode in @how. */
static int route(const struct line *line, u32 how)
{
	struct ioapic *io;

	for (io = ioapics; io < ioapics + ioapic_count; io++) {
		u32 pin = line->gsi - io->gsi_base;

		if (pin >= io->pins)
			continue;
		ioapic_write(io, IOAPIC_PIN_HI(pin), cpus[0].hw_id << 24);
		ioapic_write(io, IOAPIC_PIN_LO(pin), line->mode | how);
		return 0;
	}
	return -ENODEV;
}

int arch_irq_enable_console(void)
{
	int err = route(&console_line, VEC_CONSOLE);

	if (err)
		pr_err("no I/O APIC has the console's interrupt %u",
		       console_line.gsi);
	else
		uart_enable_irq();
	return err;
}

int pit_route_nmi(bool on)
{
	return route(&pit_line, on ? LAPIC_NMI : IOAPIC_PIN_MASKED);
}

/*
 * The command goes off with the write of the low half. An NMI handler that
 * sends one between our two writes would leave its own destination in the high
 * half: it puts back what it found.
 */
void lapic_send(u32 hw_id, u32 command)
{
	u32 high = lapic_read(LAPIC_ICR_HI);

	lapic_write(LAPIC_ICR_HI, hw_id << 24);
	lapic_write(LAPIC_ICR_LO, command);
	while (lapic_read(LAPIC_ICR_LO) & LAPIC_ICR_BUSY)
		cpu_relax();
	lapic_write(LAPIC_ICR_HI, high);
}

/* None has this CPU's number but its own. */
void arch_irq_postpone(const struct trap *t)
{
	if (t->vector == VEC_SPURIOUS)
		return;
	lapic_send(this_cpu()->hw_id, t->vector);
	lapic_write(LAPIC_EOI, 0);
}

/*
 * The end is signalled first: nothing can come before interrupts are on again,
 * and irq_handle() may switch to another thread. Spurious interrupts have no
 * end (SDM 3A 11.9).
 */
void arch_irq_dispatch(struct pt_regs *regs, const struct trap *t)
{
	enum irq_kind kind;

	switch (t->vector) {
	case VEC_TIMER:
		kind = IRQ_TIMER;
		break;
	case VEC_IPI:
		kind = IRQ_IPI;
		break;
	case VEC_CONSOLE:
		kind = IRQ_CONSOLE;
		break;
	default:
		irq_handle(IRQ_SPURIOUS, regs);
		return;
	}
	lapic_write(LAPIC_EOI, 0);
	irq_handle(kind, regs);
}
