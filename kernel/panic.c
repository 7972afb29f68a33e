// SPDX-License-Identifier: MIT
/*
 * The end, told well: cause, registers, code bytes around the pc, symbolised
 * backtraces of all CPUs, and out of QEMU with a failing status.
 *
 * It must work when anything is broken, so it takes no locks, allocates nothing,
 * reads memory fault-safely, and knows that it may fail itself: a second panic
 * on the same CPU says one line and leaves, a third just leaves. If even that
 * cannot be: `qemu -d int,cpu_reset` shows what happened.
 */
#include <arch/console.h>
#include <arch/cpu.h>
#include <arch/poweroff.h>
#include <arch/regs.h>
#include <arch/smp.h>
#include <kernel/console.h>
#include <kernel/extable.h>
#include <kernel/log.h>
#include <kernel/main.h>
#include <kernel/panic.h>
#include <kernel/percpu.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <lib/printf.h>
#include <lib/string.h>

#define BACKTRACE_MAX 32
#define CODE_BEFORE   16
#define CODE_AFTER    16
#define STOP_WAIT_NS  NSEC_PER_SEC

static int panic_cpu = -1; /* who reports */
static unsigned panic_depth;
/* Where the others were stopped; valid once stopped[] says so. */
static struct pt_regs other_regs[MAX_CPUS];
static bool stopped[MAX_CPUS];

static bool print_frame(unsigned long pc, void *arg)
{
	unsigned *n = arg;
	char where[96];

	if (*n == 0)
		symtab_text(pc, where, sizeof(where));
	else
		symtab_return_text(pc, where, sizeof(where));
	kprintf("    #%-2u %016lx %s\n", *n, pc, where);
	return ++*n < BACKTRACE_MAX;
}

void backtrace_print(const struct thread *t, const struct pt_regs *regs)
{
	unsigned n = 0;

	arch_unwind(t, regs, print_frame, &n);
}

/* The bytes around the pc, <> around the one it points to. */
static void code_print(unsigned long pc)
{
	char line[4 * (CODE_BEFORE + CODE_AFTER) + 1];
	size_t used = 0;

	/* Counted, since near 0 the addresses wrap round. */
	for (unsigned i = 0; i < CODE_BEFORE + CODE_AFTER; i++) {
		unsigned long a = pc - CODE_BEFORE + i;
		const char *fmt = a == pc ? "<%02x> " : "%02x ";
		u8 byte;

		if (peek(&byte, (const void *)a, 1) < 0)
			used += (size_t)snprintf(line + used,
						 sizeof(line) - used, "?? ");
		else
			used += (size_t)snprintf(
				line + used, sizeof(line) - used, fmt, byte);
	}
	kprintf("  code: %s\n", line);
}

void regs_print(const struct pt_regs *regs)
{
	char line[128];
	size_t used = 0;

	for (unsigned i = 0; i < arch_reg_desc_count; i++) {
		const struct reg_desc *d = &arch_reg_descs[i];
		unsigned long v;

		memcpy(&v, (const char *)regs + d->offset, sizeof(v));
		used += (size_t)snprintf(line + used, sizeof(line) - used,
					 "  %6s %016lx", d->name, v);
		if (i % 4 == 3 || i == arch_reg_desc_count - 1) {
			kprintf("%s\n", line);
			used = 0;
		}
	}
	code_print(instruction_pointer(regs));
}

void panic_nmi(struct pt_regs *regs)
{
	unsigned me = smp_processor_id();

	if (READ_ONCE(panic_cpu) < 0 || READ_ONCE(panic_cpu) == (int)me)
		return;
	other_regs[me] = *regs;
	/* Pairs with the acquire in print_others(). */
	store_release(&stopped[me], true);
	arch_cpu_halt();
}

static void print_others(void)
{
	u64 limit = clock_ns() + STOP_WAIT_NS;

	for_each_cpu(cpu) {
		if ((int)cpu->id == panic_cpu || !cpu->online)
			continue;
		while (!load_acquire(&stopped[cpu->id]) && clock_ns() < limit)
			cpu_relax();
		if (!stopped[cpu->id]) {
			kprintf("cpu %u does not answer\n", cpu->id);
			continue;
		}
		kprintf("cpu %u, thread %s, at %pS:\n", cpu->id,
			cpu->thread->name,
			(void *)instruction_pointer(&other_regs[cpu->id]));
		backtrace_print(cpu->thread, &other_regs[cpu->id]);
	}
}

static void report(const struct pt_regs *regs, const char *fmt, va_list ap)
{
	static char message[512];

	vsnprintf(message, sizeof(message), fmt, ap);
	kprintf("\npanic: %s\n", message);
	kprintf("cpu %u, thread %s, %u CPU(s)\n", smp_processor_id(),
		current->name, cpu_count);
	regs_print(regs);
	kprintf("  backtrace:\n");
	backtrace_print(current, regs);
	print_others();
}

/* One reporter. Others that panic meanwhile wait to be stopped. */
static void enter(void)
{
	int nobody = -1, me;

	arch_irq_disable(); /* first: no migration from here on */
	me = (int)smp_processor_id();
	if (!__atomic_compare_exchange_n(&panic_cpu, &nobody, me, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) &&
	    nobody != me)
		arch_cpu_halt();
	system_state = SYSTEM_PANIC;
	console_enter_panic();
}

void panic_regs(const struct pt_regs *regs, const char *fmt, ...)
{
	struct pt_regs here;
	va_list ap;

	enter();
	switch (panic_depth++) {
	case 0:
		arch_nmi_send_others();
		if (!regs) {
			arch_regs_capture(&here);
			regs = &here;
		}
		va_start(ap, fmt);
		report(regs, fmt, ap);
		va_end(ap);
		break;
	case 1:
		kprintf("panic: again, while reporting: %s\n", fmt);
		break;
	default:
		arch_poweroff(1);
	}
	kernel_exit(1);
}
