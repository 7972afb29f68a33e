// SPDX-License-Identifier: MIT
/*
 * `bench`: what probes cost, in guest instructions, beside what Linux's cost.
 *
 *	bench ARCH NAME INSNS TRAPS LINUX RATIO
 *
 * INSNS is exact only where an instruction takes one tick of a clock, which is
 * QEMU with -icount: `make bench`, one CPU. A hit's figure is that of a call of
 * a probed function, empty handlers included, less that of the same call without
 * a probe; a registration's is that of the whole call. TRAPS is counted by the
 * kernel itself. docs/bench.md says where the figures of Linux come from.
 */
#include <arch/cpu.h>
#include <kernel/heap.h>
#include <kernel/monitor.h>
#include <kernel/percpu.h>
#include <kernel/smp.h>
#include <kernel/stop.h>
#include <kernel/symtab.h>
#include <kernel/vm.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/jprobe.h>
#include <probe/kretprobe.h>
#include <probe/opt.h>
#include <probe/patch.h>
#include <probe/site.h>
#include <probe/watch.h>
#include <tests/cases/patch_area.h>

#define CALLS	  1000
#define BATCH_MAX 8000

/* What was spent, in ticks of arch_cycles() or, later, in instructions. */
struct cost {
	u64 insns;
	u64 traps;
};

struct row {
	const char *name;
	u64 linux_best[2]; /* in order of machines[]; 0: none */
	int (*measure)(const struct row *row, struct cost *cost);
	unsigned probes;
	bool post;
	unsigned flags; /* of return probes */
	bool entry;	/* return probes: with an entry handler */
	size_t data;	/* ... with so many bytes of data */
	unsigned depth; /* ... on the levels of a recursion */
	enum probe_plan plan;
	bool jump; /* probes become jumps before they are hit */
};

static const char *const machines[] = { "x86_64", "ppc64" };

static struct kprobe *probes; /* BATCH_MAX of them */
static struct kprobe **list;  /* all of probes[] */

static __noclone unsigned long probed_function(unsigned long x)
{
	return x + 1;
}

static int pre_handler(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
}

static void post_handler(struct kprobe *p __unused,
			 struct pt_regs *regs __unused,
			 unsigned long flags __unused)
{
}

/* Instructions of ticks -------------------------------------------------------- */

/* On ppc64, with -icount, exactly 125 instructions take 64 ticks. */
#define NOPS	   250
#define NOPS_CALLS 2000

static __noclone void no_nops(void)
{
	barrier();
}

static __noclone void many_nops(void)
{
	__asm__ volatile(".rept " STRINGIFY(NOPS) "; nop; .endr");
}

static u64 ticks_of(void (*fn)(void))
{
	unsigned long flags = arch_irq_save();
	u64 start = arch_cycles();

	for (unsigned i = 0; i < NOPS_CALLS; i++)
		fn();
	start = arch_cycles() - start;
	arch_irq_restore(flags);
	return start;
}

/* Of so many ticks that were spent @n times; to the nearest. */
static u64 insns_of_ticks(u64 ticks, unsigned n)
{
	static u64 nops_ticks; /* what NOPS * NOPS_CALLS instructions take */
	u64 divisor;

	if (!nops_ticks)
		nops_ticks = ticks_of(many_nops) - ticks_of(no_nops);
	divisor = nops_ticks * n;
	return (ticks * (NOPS * NOPS_CALLS) + divisor / 2) / divisor;
}

/* Measuring -------------------------------------------------------------------- */

static u64 traps_so_far(void)
{
	u64 sum = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(this_cpu()->traps); i++)
		sum += this_cpu()->traps[i];
	return sum;
}

static void call_probed_function(struct cost *cost)
{
	unsigned long flags = arch_irq_save();
	u64 traps = traps_so_far(), start = arch_cycles();

	for (unsigned i = 0; i < CALLS; i++)
		probed_function(i);
	cost->insns = arch_cycles() - start;
	cost->traps = traps_so_far() - traps;
	arch_irq_restore(flags);
}

static void probe_fill(struct kprobe *p, unsigned long addr, bool post)
{
	*p = (struct kprobe){ .addr = addr, .pre_handler = pre_handler };
	if (post)
		p->post_handler = post_handler;
}

/* Of one call, what came on top of the @bare ones. */
static void cost_of_hit(struct cost *cost, const struct cost *bare)
{
	cost->insns = insns_of_ticks(cost->insns - bare->insns, CALLS);
	cost->traps = (cost->traps - bare->traps) / CALLS;
}

/* One hit of row->probes probes on one address. */
static int measure_hit(const struct row *row, struct cost *cost)
{
	struct symbol sym;
	struct cost bare;
	int err = symtab_lookup((unsigned long)probed_function, &sym);

	for (unsigned i = 0; i < row->probes; i++)
		probe_fill(&probes[i], symbol_entry(&sym), row->post);
	call_probed_function(&bare);
	probe_plan_set(row->plan);
	if (!err)
		err = register_kprobes(list, row->probes);
	probe_plan_set(PLAN_AUTO);
	if (err)
		return err;
	call_probed_function(cost);
	cost_of_hit(cost, &bare);
	return unregister_kprobes(list, row->probes);
}

static unsigned long jprobe_handler(unsigned long x)
{
	return x;
}

static int measure_jprobe(const struct row *row __unused, struct cost *cost)
{
	static struct jprobe jp = { .kp.symbol_name = "probed_function",
				    .entry = jprobe_handler };
	struct cost bare;
	int err;

	call_probed_function(&bare);
	err = register_jprobe(&jp);
	if (err)
		return err;
	call_probed_function(cost);
	cost_of_hit(cost, &bare);
	return unregister_jprobe(&jp);
}

/* Return probes --------------------------------------------------------------- */

#define RETURN_PROBES_MAX 4

static __noclone unsigned long probed_recursion(unsigned long n)
{
	unsigned long below = n > 1 ? probed_recursion(n - 1) : 0;

	barrier(); /* no loop */
	return below + 1;
}

static int return_handler(struct kretprobe_instance *ri __unused,
			  struct pt_regs *regs __unused)
{
	return 0;
}

static int data_handler(struct kretprobe_instance *ri,
			struct pt_regs *regs __unused)
{
	*(u64 *)ri->data = 1;
	return 0;
}

/* CALLS calls, each one of the levels of a recursion if @depth > 0. */
static void call_returning(unsigned depth, struct cost *cost)
{
	unsigned long flags = arch_irq_save();
	u64 traps = traps_so_far(), start = arch_cycles();

	for (unsigned i = 0; depth == 0 && i < CALLS; i++)
		probed_function(i);
	for (unsigned i = 0; depth > 0 && i < CALLS / depth; i++)
		probed_recursion(depth);
	cost->insns = arch_cycles() - start;
	cost->traps = traps_so_far() - traps;
	arch_irq_restore(flags);
}

/* One call of a function with row->probes return probes, and its return. */
static int measure_return(const struct row *row, struct cost *cost)
{
	static struct kretprobe rps[RETURN_PROBES_MAX];
	struct kretprobe *all[RETURN_PROBES_MAX];
	unsigned calls = row->depth ? CALLS / row->depth * row->depth : CALLS;
	struct cost bare;
	int err;

	for (unsigned i = 0; i < row->probes; i++) {
		all[i] = &rps[i];
		rps[i] = (struct kretprobe){
			.kp.addr = (unsigned long)(row->depth
							   ? probed_recursion
							   : probed_function),
			.kp.flags = row->flags,
			.handler = row->data ? data_handler : return_handler,
			.entry_handler = row->entry ? return_handler : NULL,
			.data_size = row->data,
		};
	}
	call_returning(row->depth, &bare);
	err = register_kretprobes(all, row->probes);
	if (err)
		return err;
	call_returning(row->depth, cost);
	cost->insns = insns_of_ticks(cost->insns - bare.insns, calls);
	cost->traps = (cost->traps - bare.traps) / calls;
	return unregister_kretprobes(all, row->probes);
}

/*
 * So many addresses: the first two instructions of each function from our own
 * on. Those are tests, and nothing runs them meanwhile.
 */
static int choose_addresses(unsigned n)
{
	struct symbol sym = { .addr = (unsigned long)probed_function - 1 };
	unsigned i = 0;
	int err = 0;

	mutex_lock(&probe_mutex);
	while (i < n && (err = symtab_next(sym.addr, &sym)) == 0) {
		unsigned long pc = symbol_entry(&sym);
		struct insn insn;
		const char *why;

		for (unsigned k = 0; k < 2 && i < n; k++, pc += insn.len) {
			if (deny_check(pc, &insn, &why))
				break;
			probe_fill(&probes[i++], pc, false);
		}
	}
	mutex_unlock(&probe_mutex);
	return err;
}

/* All instructions of functions behind this file, which nothing runs meanwhile. */
static int choose_in_a_row(unsigned n)
{
	struct symbol sym = { .addr = (unsigned long)probed_function - 1 };
	unsigned i = 0;
	int err = 0;

	mutex_lock(&probe_mutex);
	while (i < n && (err = symtab_next(sym.addr, &sym)) == 0) {
		unsigned long pc = symbol_entry(&sym);
		unsigned long end = sym.addr + sym.size;
		struct insn insn;
		const char *why;

		/* No functions: breakpoints. */
		if (pc == (unsigned long)patch_area ||
		    !strcmp(sym.file, "bench.c"))
			continue;
		for (; pc < end && i < n; pc += insn.len) {
			insn.len = 0;
			if (deny_check(pc, &insn, &why) == 0)
				probe_fill(&probes[i++], pc, false);
			if (!insn.len)
				break;
		}
	}
	mutex_unlock(&probe_mutex);
	return err;
}

/* Registers row->probes, each on another address, in one call, and removes. */
static int register_and_remove(const struct row *row, struct cost *add,
			       struct cost *remove)
{
	u64 start, traps;
	int err = choose_addresses(row->probes);

	if (err)
		return err;
	traps = traps_so_far();
	start = arch_cycles();
	err = register_kprobes(list, row->probes);
	add->insns = insns_of_ticks(arch_cycles() - start, 1);
	add->traps = traps_so_far() - traps;
	if (err)
		return err;
	traps = traps_so_far();
	start = arch_cycles();
	err = unregister_kprobes(list, row->probes);
	remove->insns = insns_of_ticks(arch_cycles() - start, 1);
	remove->traps = traps_so_far() - traps;
	return err;
}

static int measure_register(const struct row *row, struct cost *cost)
{
	struct cost remove;

	return register_and_remove(row, cost, &remove);
}

static int measure_unregister(const struct row *row, struct cost *cost)
{
	struct cost add;

	return register_and_remove(row, &add, cost);
}

/* Jumps instead of breakpoints, and back, at row->probes addresses. */
static int optimise_and_back(const struct row *row, struct cost *up,
			     struct cost *down)
{
	u64 start;
	int err = choose_addresses(row->probes);

	if (!err)
		err = register_kprobes(list, row->probes);
	if (err)
		return err;
	*up = *down = (struct cost){ 0 };
	/* Once, for what regions need to know about the functions there. */
	err = opt_sync() ?: opt_set(OPT_OFF);
	start = arch_cycles();
	err = err ?: opt_sync();
	up->insns = insns_of_ticks(arch_cycles() - start, 1);
	start = arch_cycles();
	if (!err)
		err = opt_set(OPT_OFF);
	down->insns = insns_of_ticks(arch_cycles() - start, 1);
	return err ? err : unregister_kprobes(list, row->probes);
}

static int measure_optimise(const struct row *row, struct cost *cost)
{
	struct cost down;

	return optimise_and_back(row, cost, &down);
}

static int measure_unoptimise(const struct row *row, struct cost *cost)
{
	struct cost up;

	return optimise_and_back(row, &up, cost);
}

/*
 * A call for each of row->probes instructions in a row, while they become jumps in
 * the background. The time until the last is one, for each of them.
 */
static int measure_background(const struct row *row, struct cost *cost)
{
	u64 start;
	int err = choose_in_a_row(row->probes) ?: opt_set(OPT_ON);

	start = arch_cycles();
	for (unsigned i = 0; i < row->probes && !err; i++)
		err = register_kprobe(&probes[i]);
	err = err ?: opt_sync();
	*cost = (struct cost){ .insns = insns_of_ticks(arch_cycles() - start,
						       row->probes) };
	err = err ?: opt_set(OPT_OFF);
	return err ?: unregister_kprobes(list, row->probes);
}

/* clang-format off */
static const struct row rows[] = {
	{ "break",	     { 241, 634 },    measure_hit, .probes = 1 },
	{ "break-post",	     { 460, 643 },    measure_hit, .probes = 1,
	  .post = true },
	{ "break-x2",	     { 289, 717 },    measure_hit, .probes = 2 },
	{ "break-x8",	     { 397, 873 },    measure_hit, .probes = 8 },
	{ "break-emulate",   { 0, 0 },	      measure_hit, .probes = 1,
	  .plan = PLAN_EMULATE },
	{ "break-step",	     { 0, 0 },	      measure_hit, .probes = 1,
	  .plan = PLAN_STEP },
	{ "jprobe-break",    { 0, 0 },	      measure_jprobe, .probes = 1 },
	{ "jump",	     { 95, 354 },     measure_hit, .probes = 1,
	  .jump = true },
	{ "jump-post",	     { 0, 0 },	      measure_hit, .probes = 1,
	  .post = true, .jump = true },
	{ "jump-x2",	     { 111, 378 },    measure_hit, .probes = 2,
	  .jump = true },
	{ "jump-x8",	     { 207, 522 },    measure_hit, .probes = 8,
	  .jump = true },
	{ "jprobe-jump",     { 0, 0 },	      measure_jprobe, .probes = 1,
	  .jump = true },
	{ "ret-break",	     { 460, 1199 },   measure_return, .probes = 1 },
	{ "ret-break-entry", { 0, 0 },	      measure_return, .probes = 1,
	  .entry = true },
	{ "ret-break-data",  { 0, 0 },	      measure_return, .probes = 1,
	  .entry = true, .data = 8 },
	{ "ret-break-x4",    { 0, 0 },	      measure_return, .probes = 4 },
	{ "ret-break-depth32", { 0, 0 },      measure_return, .probes = 1,
	  .depth = 32 },
	{ "ret-jump",	     { 314, 900 },    measure_return, .probes = 1,
	  .jump = true },
	{ "ret-jump-x4",     { 0, 0 },	      measure_return, .probes = 4,
	  .jump = true },
	{ "ret-retsite",     { 0, 0 },	      measure_return, .probes = 1,
	  .flags = KRETPROBE_FLAG_RETSITE },
	{ "register-1",	     { 1600000, 220000 }, measure_register,
	  .probes = 1 },
	{ "register-1024",   { 1620000000, 228000000 }, measure_register,
	  .probes = 1024 },
	{ "unregister-1",    { 0, 0 }, measure_unregister, .probes = 1 },
	{ "unregister-1024", { 0, 0 }, measure_unregister, .probes = 1024 },
	{ "patch",	     { 0, 0 }, measure_optimise, .probes = 1 },
	{ "unpatch",	     { 0, 0 }, measure_unoptimise, .probes = 1 },
	{ "optimise-1024",   { 0, 0 }, measure_optimise, .probes = 1024 },
	{ "unoptimise-1024", { 0, 0 }, measure_unoptimise, .probes = 1024 },
	{ "background-1000", { 0, 0 }, measure_background, .probes = 1000 },
	{ "background-8000", { 0, 0 }, measure_background, .probes = 8000 },
};
/* clang-format on */

/* Printing --------------------------------------------------------------------- */

/* ppc64le is compared with ppc64. */
static u64 linux_best(const struct row *row)
{
	for (unsigned i = 0; i < ARRAY_SIZE(machines); i++) {
		if (!strncmp(SONDE_MACHINE, machines[i], strlen(machines[i])))
			return row->linux_best[i];
	}
	return 0;
}

static void print_row(const struct row *row, const struct cost *cost)
{
	u64 best = linux_best(row), percent = 0;

	if (cost->insns)
		percent = (best * 100 + cost->insns / 2) / cost->insns;
	if (best)
		monitor_print("bench %s %s %llu %llu %llu %llu.%02llu\n",
			      SONDE_MACHINE, row->name, cost->insns,
			      cost->traps, best, percent / 100, percent % 100);
	else
		monitor_print("bench %s %s %llu %llu - -\n", SONDE_MACHINE,
			      row->name, cost->insns, cost->traps);
}

static int run_rows(void)
{
	struct cost cost;

	monitor_print("# bench ARCH NAME INSNS TRAPS LINUX RATIO\n");
	for (const struct row *r = rows; r < rows + ARRAY_SIZE(rows); r++) {
		int err = opt_set(r->jump ? OPT_EAGER : OPT_OFF);

		if (!err)
			err = r->measure(r, &cost);
		if (err)
			return monitor_fail(err, "%s: %s", r->name,
					    kprobe_reason());
		print_row(r, &cost);
		if (monitor_interrupted())
			return monitor_fail(-EINTR, "interrupted");
	}
	return 0;
}

/*
 *	stop ARCH MODE CPUS WRITER OTHERS WAITS
 *
 * 1024 jumps are made and taken back: the longest time in ns for which the CPU
 * that writes had interrupts off, and the longest for which it held another; and
 * how often one waited in an interrupt until the writer had come further.
 */
static int print_stop(enum patch_mode mode)
{
	static const struct row row = { .probes = 1024 };
	struct stop_stats before, after;
	struct cost up, down;
	int err;

	patch_mode_set(mode);
	stop_stats_get(&before);
	patch_longest_hold(); /* forget what was */
	smp_longest_hold();
	err = optimise_and_back(&row, &up, &down);
	stop_stats_get(&after);
	monitor_print("stop %s %s %u %llu %llu %llu\n", SONDE_MACHINE,
		      patch_mode_name(mode), smp_online(), patch_longest_hold(),
		      smp_longest_hold(), after.waits - before.waits);
	return err;
}

static int print_stops(void)
{
	enum patch_mode before = patch_mode();
	int err = opt_set(OPT_OFF);

	if (!err)
		err = print_stop(PATCH_BREAK);
	if (!err)
		err = print_stop(PATCH_STOP);
	patch_mode_set(before);
	return err;
}

static void *pages_alloc(size_t bytes)
{
	return vm_alloc(DIV_ROUND_UP(bytes, PAGE_SIZE), VM_READ | VM_WRITE);
}

static int cmd_bench(const struct monitor_call *call)
{
	bool all = call->argc == 0;
	enum opt_mode before = opt_mode();
	u64 budget = probe_budget();
	int err = -ENOMEM;

	if (!all && strcmp(call->argv[0], "stops"))
		return monitor_usage(call, "'%s' is none of these",
				     call->argv[0]);

	/* Its timers would be counted, too. */
	(void)!probe_budget_set(0);
	probes = pages_alloc(BATCH_MAX * sizeof(*probes));
	list = pages_alloc(BATCH_MAX * sizeof(struct kprobe *));
	if (probes && list) {
		for (unsigned i = 0; i < BATCH_MAX; i++)
			list[i] = &probes[i];
		err = all ? run_rows() : print_stops();
	}
	(void)!opt_set(before);
	(void)!probe_budget_set(budget);
	vm_free(list);
	vm_free(probes);
	return err;
}
MONITOR_COMMAND("bench", "[stops]",
		"what probes cost; exact with make bench only", cmd_bench);
