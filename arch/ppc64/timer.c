// SPDX-License-Identifier: MIT
/*
 * Timebase and decrementer. The timebase runs at one rate, given by the tree,
 * on all CPUs together. The decrementer interrupts when it becomes negative; it
 * may have 32 bits only, so a far deadline is reached in several steps that
 * nobody else sees.
 */
#include <arch/timer.h>
#include <arch/cpu.h>
#include <asm/irq.h>
#include <asm/spr.h>
#include <kernel/bootinfo.h>
#include <kernel/log.h>
#include <kernel/percpu.h>
#include <lib/errno.h>

#define NS_PER_SEC  1000000000ull
#define DEC_MAX	    0x7fffffffull
#define NO_DEADLINE (~0ull)

/* Fixed point, 32 fractional bits. */
static u64 ns_per_tick;
static u64 ticks_per_ns;
static u64 tb_hz;
static u64 tb_start;

static DEFINE_PER_CPU(u64, deadlines);

static __always_inline u64 scale(u64 v, u64 factor)
{
	return (u64)(((unsigned __int128)v * factor) >> 32);
}

int arch_timer_init(const struct bootinfo *bi)
{
	/* Beyond 4 GHz the fixed point would overflow. */
	if (bi->timebase_hz < 1000000 || bi->timebase_hz >> 32) {
		pr_err("timer: a timebase of %llu Hz", bi->timebase_hz);
		return -EIO;
	}
	tb_hz = bi->timebase_hz;
	ns_per_tick = (NS_PER_SEC << 32) / tb_hz;
	ticks_per_ns = (tb_hz << 32) / NS_PER_SEC;
	tb_start = arch_cycles();
	return 0;
}

__noprobe u64 arch_clock_ns(void)
{
	return ns_per_tick ? scale(arch_cycles() - tb_start, ns_per_tick) : 0;
}

/*
 * There is none: the decrementer waits for MSR[EE], and a system reset has to be
 * asked for by a CPU.
 */
int arch_nmi_timer_set(u64 ns __unused)
{
	return -ENODEV;
}

void arch_timer_init_cpu(void)
{
	arch_timer_arm(NO_DEADLINE);
}

void arch_timer_arm(u64 deadline_ns)
{
	u64 now = arch_clock_ns();
	u64 ticks = DEC_MAX;

	this_cpu_ref(deadlines) = deadline_ns;
	if (deadline_ns <= now)
		ticks = 1;
	else if (deadline_ns - now < NS_PER_SEC)
		ticks = min(scale(deadline_ns - now, ticks_per_ns) + 1,
			    DEC_MAX);
	mtspr(SPR_DEC, ticks);
}

/*
 * Is the deadline reached? If not, waits on for the rest of it; if so, disarms.
 */
bool timer_expired(void)
{
	u64 deadline = this_cpu_ref(deadlines);

	if (deadline == NO_DEADLINE || arch_clock_ns() < deadline) {
		arch_timer_arm(deadline);
		return false;
	}
	arch_timer_arm(NO_DEADLINE);
	return true;
}

void arch_delay_us(unsigned us)
{
	u64 end = arch_cycles() + us * (tb_hz / 1000000 + 1);

	while (arch_cycles() < end)
		cpu_relax();
}
