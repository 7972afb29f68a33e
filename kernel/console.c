// SPDX-License-Identifier: MIT
/*
 * One writer at a time, and a receive buffer.
 *
 * The device can be met in three awkward states: this CPU itself is writing (a
 * trap or NMI while printing), a CPU that a panic has stopped was, or it is simply
 * busy. The first two must not wait: they write in between, since a garbled
 * report is better than none. Therefore no spinlock, which for a moment is taken
 * and not yet anybody's, but one word that says who writes.
 */
#include <arch/console.h>
#include <arch/irq.h>
#include <kernel/console.h>
#include <kernel/lock.h>
#include <kernel/log.h>
#include <kernel/percpu.h>
#include <kernel/wait.h>
#include <lib/string.h>
#include <probe/hit.h>

#define HANDLER 0x100 /* in writer: it is a probe's */

static int writer = -1; /* CPU, or -1 */
static bool panicking;

/* Bytes as they come; LF becomes CR LF. */
static void write_device(const char *s, size_t n)
{
	while (n > 0) {
		const char *lf = memchr(s, '\n', n);
		size_t len = lf ? (size_t)(lf - s) : n;

		arch_console_write(s, len);
		if (!lf)
			break;
		arch_console_write("\r\n", 2);
		s += len + 1;
		n -= len + 1;
	}
}

/* True if this CPU is the writer now and was not before. Interrupts are off. */
static bool become_writer(void)
{
	int me = (int)smp_processor_id();
	int who = me | (probe_hit_in_handler() ? HANDLER : 0);

	for (;;) {
		int other = -1;

		/* Pairs with the release in console_write(). */
		if (__atomic_compare_exchange_n(&writer, &other, who, false,
						__ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return true;
		if ((other & ~HANDLER) == me || READ_ONCE(panicking))
			return false;
		while (READ_ONCE(writer) >= 0 && !READ_ONCE(panicking))
			cpu_relax();
	}
}

__noprobe void console_abandon(void)
{
	if (READ_ONCE(writer) == ((int)smp_processor_id() | HANDLER))
		store_release(&writer, -1);
}

void console_write(const char *s, size_t n)
{
	unsigned long flags = arch_irq_save();
	bool first = become_writer();

	write_device(s, n);
	if (first)
		store_release(&writer, -1);
	arch_irq_restore(flags);
}

void console_enter_panic(void)
{
	WRITE_ONCE(panicking, true);
}

/*
 * The receive buffer: filled by the interrupt on one CPU at a time, emptied by
 * threads; both under the queue's lock.
 */
#define RX_SIZE 1024

static struct wait_queue rx_queue = WAIT_QUEUE(rx_queue);
static struct spinlock rx_lock = SPINLOCK("console-rx", RANK_LEAF);
static char rx_buf[RX_SIZE];
static unsigned rx_head, rx_tail; /* free running */

void console_receive(void)
{
	char buf[32];
	size_t n;

	while ((n = arch_console_read(buf, sizeof(buf))) > 0) {
		unsigned long flags = spin_lock_irqsave(&rx_lock);

		/* A full buffer drops what is new: typing ahead has an end. */
		for (size_t i = 0; i < n && rx_head - rx_tail < RX_SIZE; i++)
			rx_buf[rx_head++ % RX_SIZE] = buf[i];
		spin_unlock_irqrestore(&rx_lock, flags);
	}
	wake_up(&rx_queue);
}

static bool rx_take(char *c)
{
	unsigned long flags = spin_lock_irqsave(&rx_lock);
	bool some = rx_head != rx_tail;

	if (some)
		*c = rx_buf[rx_tail++ % RX_SIZE];
	spin_unlock_irqrestore(&rx_lock, flags);
	return some;
}

int console_getc(u64 timeout_ns)
{
	char c;

	if (rx_take(&c))
		return (unsigned char)c;
	if (timeout_ns == 0 ||
	    !wait_event_timeout(&rx_queue, rx_take(&c), timeout_ns))
		return -EAGAIN;
	return (unsigned char)c;
}

void console_init(void)
{
	if (arch_irq_enable_console() < 0)
		pr_warn("console: no receive interrupt, input will not work");
	console_receive(); /* what arrived before */
}
