// SPDX-License-Identifier: MIT
/*
 * COM1, a 16550: 115200 8N1, transmit by polling, receive by interrupt. Without
 * the device everything is swallowed.
 */
#include <arch/console.h>

#include <arch/cpu.h>
#include <asm/irq.h>

#define COM1 0x3f8

enum uart_reg {
	UART_DATA = 0,	     /* DLAB: divisor, low */
	UART_IRQ_ENABLE = 1, /* DLAB: divisor, high */
	UART_FIFO = 2,
	UART_LINE = 3,
	UART_MODEM = 4,
	UART_STATUS = 5,
	UART_SCRATCH = 7,
};

#define LINE_8N1	0x03
#define LINE_DLAB	0x80
#define FIFO_ON_CLEAR	0x07 /* receive threshold: one byte */
#define MODEM_DTR_RTS	0x03
#define MODEM_IRQ	0x08 /* OUT2 gates the interrupt line */
#define STATUS_RECEIVED 0x01
#define STATUS_EMPTY	0x20 /* transmit FIFO: 16 bytes fit */
#define IRQ_RECEIVED	0x01

#define FIFO_SIZE	16
#define DIVISOR_115200	1

static bool present;

static u8 uart_read(enum uart_reg reg)
{
	return x86_inb(COM1 + reg);
}

static void uart_write(enum uart_reg reg, u8 value)
{
	x86_outb(COM1 + reg, value);
}

void arch_console_init(const struct bootinfo *bi)
{
	(void)bi;
	uart_write(UART_SCRATCH, 0x5a);
	present = uart_read(UART_SCRATCH) == 0x5a;
	if (!present)
		return;

	uart_write(UART_IRQ_ENABLE, 0);
	uart_write(UART_LINE, LINE_DLAB);
	uart_write(UART_DATA, DIVISOR_115200);
	uart_write(UART_IRQ_ENABLE, 0);
	uart_write(UART_LINE, LINE_8N1);
	uart_write(UART_FIFO, FIFO_ON_CLEAR);
	uart_write(UART_MODEM, MODEM_DTR_RTS);
}

void uart_enable_irq(void)
{
	if (!present)
		return;
	uart_write(UART_MODEM, MODEM_DTR_RTS | MODEM_IRQ);
	uart_write(UART_IRQ_ENABLE, IRQ_RECEIVED);
}

void arch_console_write(const char *s, size_t n)
{
	size_t burst;

	if (!present)
		return;
	while (n) {
		while (!(uart_read(UART_STATUS) & STATUS_EMPTY))
			cpu_relax();
		burst = min(n, (size_t)FIFO_SIZE);
		n -= burst;
		while (burst--)
			uart_write(UART_DATA, *s++);
	}
}

size_t arch_console_read(char *buf, size_t n)
{
	size_t got = 0;

	while (present && got < n && uart_read(UART_STATUS) & STATUS_RECEIVED)
		buf[got++] = uart_read(UART_DATA);
	return got;
}
