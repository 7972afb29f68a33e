/* SPDX-License-Identifier: MIT */
/*
 * The log and the console behind it.
 *
 * printk() stamps, serialises and writes at once; it may be used in any context:
 * where the console lock is held by the CPU itself (a trap while printing) or by
 * a stopped one, it writes without. kprintf() is the same without time stamp,
 * for answers to a person (monitor, tests).
 */
#ifndef SONDE_KERNEL_LOG_H
#define SONDE_KERNEL_LOG_H

#include <lib/compiler.h>

void printk(const char *fmt, ...) __printf(1, 2);
void kprintf(const char *fmt, ...) __printf(1, 2);

#define pr_info(fmt, ...) printk(fmt "\n", ##__VA_ARGS__)
#define pr_warn(fmt, ...) printk("warning: " fmt "\n", ##__VA_ARGS__)
#define pr_err(fmt, ...)  printk("error: " fmt "\n", ##__VA_ARGS__)

#endif
