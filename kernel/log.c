// SPDX-License-Identifier: MIT
/*
 * printk(): formats into a buffer on the stack and hands whole lines to the
 * console. No lock of its own, no ring: what is printed is on the console when
 * the call returns, which is what one wants when the next thing is a crash.
 */
#include <kernel/console.h>
#include <kernel/log.h>
#include <kernel/timer.h>
#include <lib/printf.h>

#define LOG_LINE_MAX 256

static void log_write(char *line, size_t used, const char *fmt, va_list ap)
{
	int n = vsnprintf(line + used, LOG_LINE_MAX - used, fmt, ap);
	size_t len = used + (n < 0 ? 0 : (size_t)n);

	/* Too long: cut, and say so where the end would have been. */
	if (len >= LOG_LINE_MAX) {
		len = LOG_LINE_MAX - 1;
		line[len - 4] = line[len - 3] = line[len - 2] = '.';
		line[len - 1] = '\n';
	}
	console_write(line, len);
}

void printk(const char *fmt, ...)
{
	char line[LOG_LINE_MAX];
	u64 us = clock_ns() / NSEC_PER_USEC;
	int used = snprintf(line, sizeof(line), "[%4llu.%06llu] ", us / 1000000,
			    us % 1000000);
	va_list ap;

	va_start(ap, fmt);
	log_write(line, (size_t)used, fmt, ap);
	va_end(ap);
}

void kprintf(const char *fmt, ...)
{
	char line[LOG_LINE_MAX];
	va_list ap;

	va_start(ap, fmt);
	log_write(line, 0, fmt, ap);
	va_end(ap);
}
