/* SPDX-License-Identifier: MIT */
/*
 * One writer at a time on the console device, and a receive buffer that threads
 * can wait for. CR is added before LF here, nowhere else.
 */
#ifndef SONDE_KERNEL_CONSOLE_H
#define SONDE_KERNEL_CONSOLE_H

#include <lib/compiler.h>

/* Any context. Whole calls are not interleaved with other CPUs' calls. */
void console_write(const char *s, size_t n);

/* The handler that this CPU abandons does not write any more. No-probe. */
void console_abandon(void);

/* From now on the lock is ignored: only the panicking CPU writes. */
void console_enter_panic(void);

/* Sets up the receive side, after threads and interrupts work. */
void console_init(void);
/* irq_handle(IRQ_CONSOLE): moves what arrived to the buffer, wakes readers. */
void console_receive(void);
/* Waits for a byte; -EAGAIN after @timeout_ns (0: returns at once). Threads. */
int console_getc(u64 timeout_ns);

#endif
