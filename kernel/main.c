// SPDX-License-Identifier: MIT
/*
 * From boot code to the prompt: the kernel's table of contents.
 *
 * arch/<A>/boot.c calls kernel_main() on the boot CPU with boot_info filled,
 * interrupts off, on a static stack, which becomes the idle thread's.
 */
#include <arch/boot.h>
#include <arch/cpu.h>
#include <arch/irq.h>
#include <arch/poweroff.h>
#include <arch/timer.h>
#include <arch/trap.h>
#include <kernel/bootinfo.h>
#include <kernel/console.h>
#include <kernel/extable.h>
#include <kernel/frames.h>
#include <kernel/heap.h>
#include <kernel/log.h>
#include <kernel/main.h>
#include <kernel/monitor.h>
#include <kernel/option.h>
#include <kernel/panic.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <kernel/vm.h>
#include <probe/kprobe.h>
#include <probe/opt.h>
#include <probe/ret.h>
#include <tests/test.h>

struct bootinfo boot_info;
enum system_state system_state = SYSTEM_BOOT;

void kernel_exit(int status)
{
	kprintf("EXIT: status=%d\n", status);
	arch_poweroff(status);
}

/* What the kernel cannot go on without. */
static void need(int err, const char *what)
{
	if (err == 0)
		return;
	pr_err("%s: %s (error %d)", what,
	       boot_info.error[0] ? boot_info.error : "failed", -err);
	kernel_exit(1);
}

static void number_cpus(void)
{
	unsigned n = 1;

	cpus[0].hw_id = boot_info.boot_cpu_hw_id;
	for (unsigned i = 0; i < boot_info.cpu_count; i++) {
		const struct bootinfo_cpu *c = &boot_info.cpus[i];

		if (!c->enabled || c->hw_id == boot_info.boot_cpu_hw_id)
			continue;
		if (n == MAX_CPUS) {
			pr_warn("only the first %u CPUs are used", MAX_CPUS);
			break;
		}
		cpus[n++].hw_id = c->hw_id;
	}
	cpu_count = n;
}

BOOT_OPTION(test, "GLOB,...",
	    "run self-tests, as suite or suite.name, and leave", NULL);

/* What the command line asks for: tests, monitor commands, or a person. */
static int run(void)
{
	static char globs[512]; /* large */
	int len = option_get(&boot_option_test, globs, sizeof(globs));

	if (len == -E2BIG) {
		pr_err("test: more than %zu characters", sizeof(globs) - 1);
		return 1;
	}
	if (len >= 0)
		return tests_run(globs, NULL) == 0 ? 0 : 1;
	return monitor_main(cmdline_tail(&boot_info)) == 0 ? 0 : 1;
}

static void main_thread(void *arg __unused)
{
	smp_init();
	thread_init();
	console_init();
	need(opt_init(), "the optimiser");
	system_state = SYSTEM_RUNNING;
	pr_info("%s: %u CPU(s), %zu MiB free, up in %llu ms", arch_cpu_name(),
		cpu_count, frames_free() * PAGE_SIZE >> 20,
		clock_ns() / NSEC_PER_MSEC);
	kernel_exit(run());
}

void kernel_main(void)
{
	extable_init();
	arch_trap_init();
	symtab_init();
	number_cpus();
	need(frames_init(&boot_info), "memory");
	need(vm_init(&boot_info), "address space");
	heap_init();
	need(ret_init(), "shadow stacks");
	need(probe_init(), "probes");
	options_set();
	monitor_boot();
	need(arch_irq_init(&boot_info), "interrupts");
	need(arch_timer_init(&boot_info), "time");
	sched_init();
	arch_irq_init_cpu();
	arch_timer_init_cpu();
	timers_init_cpu();
	pr_info("Sonde, %s, booted by %s%s%s", SONDE_MACHINE,
		boot_info.protocol, *boot_info.loader ? " " : "",
		boot_info.loader);
	if (!thread_create("main", main_thread, NULL))
		panic("no memory for the first thread");
	system_state = SYSTEM_THREADS;
	sched_idle();
}
