/* SPDX-License-Identifier: MIT */
/*
 * What irq.c shares with smp.c, timer.c and console.c. The local APIC is in
 * xAPIC mode: registers in memory, 32-bit accesses only (SDM 3A 11.4.1). No
 * locks: every CPU sees its own at the same address.
 */
#ifndef SONDE_ASM_IRQ_H
#define SONDE_ASM_IRQ_H

#include <lib/compiler.h>

enum lapic_reg {
	LAPIC_ID = 0x020,
	LAPIC_TPR = 0x080,
	LAPIC_EOI = 0x0b0,
	LAPIC_SVR = 0x0f0,
	LAPIC_ESR = 0x280,
	LAPIC_ICR_LO = 0x300,
	LAPIC_ICR_HI = 0x310,
	LAPIC_LVT_TIMER = 0x320,
	LAPIC_LVT_LINT0 = 0x350,
	LAPIC_LVT_LINT1 = 0x360,
	LAPIC_LVT_ERROR = 0x370,
	LAPIC_TIMER_INITIAL = 0x380,
	LAPIC_TIMER_CURRENT = 0x390,
	LAPIC_TIMER_DIVIDE = 0x3e0,
};

#define LAPIC_MASKED	  (1u << 16)
#define LAPIC_DIVIDE_BY_1 0xb

/* Delivery modes of LAPIC_ICR_LO and the LVT entries. */
#define LAPIC_NMI     0x0400
#define LAPIC_INIT    0x0500
#define LAPIC_STARTUP 0x0600
#define LAPIC_ASSERT  0x4000
#define LAPIC_LEVEL   0x8000

/* irq.c: mapped by arch_irq_init(), NULL before. */
extern volatile u32 *lapic;

static inline u32 lapic_read(enum lapic_reg reg)
{
	return lapic[reg / 4];
}

static inline void lapic_write(enum lapic_reg reg, u32 value)
{
	lapic[reg / 4] = value;
}

/*
 * Sends @command to the CPU with APIC id @hw_id and waits until the APIC took
 * it. Interrupts off; NMI handlers may use it at any time.
 */
void lapic_send(u32 hw_id, u32 command);

/* Lines of the ISA bus. */
#define PIT_IRQ	 0
#define UART_IRQ 4 /* COM1 */

/* irq.c: the PIT's line is an NMI of the boot CPU, or masked. -ENODEV. */
int __must_check pit_route_nmi(bool on);

/* console.c: lets the device interrupt when it has received something. */
void uart_enable_irq(void);

#endif
