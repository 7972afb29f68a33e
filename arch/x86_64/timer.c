// SPDX-License-Identifier: MIT
/*
 * The clock is the TSC, the timer the LAPIC's one-shot. Both are measured once
 * against the PIT, whose rate is known. Under QEMU's icount both count
 * instructions, and so the result is the same in every run.
 */
#include <arch/timer.h>

#include <arch/cpu.h>
#include <kernel/log.h>
#include <lib/errno.h>
#include <asm/irq.h>

#define NSEC_PER_SEC 1000000000ULL

/* PIT channel 2 (8254 data sheet); its gate is in port 0x61. */
#define PIT_HZ	      1193182ULL
#define PIT_CHANNEL_0 0x40 /* its output is IRQ 0 */
#define PIT_CHANNEL_2 0x42
#define PIT_COMMAND   0x43
#define PIT_START     0xb0 /* channel 2, both bytes, mode 0 */
#define PIT_PERIODIC  0x34 /* channel 0, both bytes, mode 2 */
#define PIT_LEAST     1000ULL
#define PIT_MOST      0xffffULL
#define PIT_LATCH     0x80
#define PIT_GATE_PORT 0x61
#define PIT_GATE      0x01
#define PIT_SPEAKER   0x02
#define PIT_OUT	      0x20 /* has come to 0 since PIT_START */

#define MEASURE_TICKS 12000 /* 10 ms of the 55 that the counter lasts */
#define MEASURE_TRIES 20
#define READ_TRIES    5
#define POLL_LIMIT    1000000

/* Fixed point with 32 fractional bits. */
static u64 ns_per_cycle;
static u64 ticks_per_ns;
static u64 cycles_at_boot;

/* One moment on all three counters, each as a count upwards. */
struct moment {
	u64 cycles;
	u32 lapic_ticks;
	u16 pit_ticks;
};

static __always_inline u64 scale(u64 value, u64 factor)
{
	return (unsigned __int128)value * factor >> 32;
}

static u16 pit_read(void)
{
	u16 count;

	x86_outb(PIT_COMMAND, PIT_LATCH);
	count = x86_inb(PIT_CHANNEL_2);
	count |= (u16)x86_inb(PIT_CHANNEL_2) << 8;
	return -count;
}

static void pit_start(void)
{
	u8 gate = x86_inb(PIT_GATE_PORT) & ~PIT_SPEAKER;

	x86_outb(PIT_GATE_PORT, gate | PIT_GATE);
	x86_outb(PIT_COMMAND, PIT_START);
	x86_outb(PIT_CHANNEL_2, 0xff);
	x86_outb(PIT_CHANNEL_2, 0xff);
}

/* Of several readings the one that took least time, so least was between. */
static struct moment moment_read(void)
{
	struct moment best = { 0 }, m;
	u64 shortest = ~0ULL, took;
	unsigned i;

	for (i = 0; i < READ_TRIES; i++) {
		m.cycles = arch_cycles();
		m.pit_ticks = pit_read();
		m.lapic_ticks = ~lapic_read(LAPIC_TIMER_CURRENT);
		took = arch_cycles() - m.cycles;
		if (took < shortest) {
			shortest = took;
			best = m;
		}
	}
	return best;
}

/*
 * Takes @from and @to, MEASURE_TICKS or somewhat more apart. -EAGAIN if we were
 * kept from looking until the PIT had come round, as on a busy host.
 */
static int measure(struct moment *from, struct moment *to)
{
	unsigned i;

	lapic_write(LAPIC_TIMER_INITIAL, ~0u);
	pit_start();
	*from = moment_read();
	for (i = 0; (u16)(pit_read() - from->pit_ticks) < MEASURE_TICKS; i++) {
		if (i == POLL_LIMIT) {
			pr_err("the PIT does not count: no clock");
			return -EIO;
		}
		cpu_relax();
	}
	*to = moment_read();
	lapic_write(LAPIC_TIMER_INITIAL, 0);
	return x86_inb(PIT_GATE_PORT) & PIT_OUT ? -EAGAIN : 0;
}

int arch_timer_init(const struct bootinfo *bi)
{
	u64 ns, cycles, ticks;
	struct moment from, to;
	unsigned tries = MEASURE_TRIES;
	int err;

	(void)bi;
	lapic_write(LAPIC_TIMER_DIVIDE, LAPIC_DIVIDE_BY_1);
	lapic_write(LAPIC_LVT_TIMER, LAPIC_MASKED);
	do {
		err = measure(&from, &to);
	} while (err == -EAGAIN && --tries);
	if (err == -EAGAIN)
		pr_err("the host is too busy to measure a clock");
	if (err)
		return -EIO;

	cycles = to.cycles - from.cycles;
	ticks = to.lapic_ticks - from.lapic_ticks;
	if (!cycles || !ticks) {
		pr_err("the %s does not count: no clock",
		       cycles ? "LAPIC timer" : "TSC");
		return -EIO;
	}
	/* At most 55e6, so that nothing here overflows. */
	ns = (u16)(to.pit_ticks - from.pit_ticks) * NSEC_PER_SEC / PIT_HZ;
	cycles_at_boot = from.cycles;
	ticks_per_ns = (ticks << 32) / ns;
	ns_per_cycle = (ns << 32) / cycles;
	return 0;
}

void arch_timer_init_cpu(void)
{
	lapic_write(LAPIC_TIMER_DIVIDE, LAPIC_DIVIDE_BY_1);
	lapic_write(LAPIC_LVT_TIMER, VEC_TIMER);
	lapic_write(LAPIC_TIMER_INITIAL, 0);
}

/* 0 until arch_timer_init() has measured. */
__noprobe u64 arch_clock_ns(void)
{
	return scale(arch_cycles() - cycles_at_boot, ns_per_cycle);
}

/* May be early where the deadline is beyond the 32-bit counter. */
void arch_timer_arm(u64 deadline_ns)
{
	u64 now = arch_clock_ns();
	u64 ticks = 1;

	if (deadline_ns == ~0ULL)
		ticks = 0;
	else if (deadline_ns > now)
		ticks = scale(deadline_ns - now, ticks_per_ns) + 1;
	lapic_write(LAPIC_TIMER_INITIAL, min(ticks, 0xffffffffULL));
}

/* At most every 55 ms, which is as far as the PIT counts. */
int arch_nmi_timer_set(u64 ns)
{
	u64 ticks = min(ns, NSEC_PER_SEC) * PIT_HZ / NSEC_PER_SEC;
	u64 count = min(max(ticks, PIT_LEAST), PIT_MOST);

	if (ns == 0)
		return pit_route_nmi(false);
	x86_outb(PIT_COMMAND, PIT_PERIODIC);
	x86_outb(PIT_CHANNEL_0, count & 0xff);
	x86_outb(PIT_CHANNEL_0, count >> 8 & 0xff);
	return pit_route_nmi(true);
}

void arch_delay_us(unsigned us)
{
	u64 end = arch_clock_ns() + us * 1000ULL;

	while (arch_clock_ns() < end)
		cpu_relax();
}
