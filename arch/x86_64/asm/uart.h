/* SPDX-License-Identifier: MIT */
/*
 * Between console.c and irq.c.
 */
#ifndef SONDE_ASM_UART_H
#define SONDE_ASM_UART_H

#define UART_IRQ 4 /* COM1's ISA line */

/* Lets the device interrupt when it has received something. */
void x86_uart_enable_irq(void);

#endif
