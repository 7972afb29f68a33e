// SPDX-License-Identifier: MIT
/*
 * `coverage`: how many instructions of the kernel's text can be probed, and how
 * many of these probes can be jumps. Each is registered, optimised and removed, one
 * at a time; then all that were accepted together, so that the whole kernel runs
 * through detours until they are removed again.
 *
 *	coverage ARCH text N accepted A (P %) jump-single J (Q %) jump-all K (R %)
 *	jump ARCH single own N pun N branch N region N
 *	stays ARCH single N REASON
 *	jump ARCH all ...
 *	stays ARCH all ...
 *	left ARCH text same heap N pages N executable N stubs N window N
 *	refused ARCH N REASON
 *	noprobe ARCH N bytes of M (P %)
 *	fill ARCH N bytes of M
 *
 * N of `coverage` counts the instructions of all functions, those of the tests
 * included, but not the two places where nothing may be probed: the head (boot
 * code, vectors) and the no-probe section (what a hit itself runs). `noprobe` is
 * that section's share of the whole text. `fill` is no code: breakpoints, where
 * tests put code of their own. Q and R are shares of A. `left` is what there is
 * after the last removal and was not before: nothing.
 *
 * What is a jump is decided by reading the text: it must decode as one, and lead,
 * perhaps by a stub, to the detour of its site.
 */
#include <arch/insn.h>
#include <arch/text.h>
#include <kernel/heap.h>
#include <kernel/image.h>
#include <kernel/monitor.h>
#include <kernel/symtab.h>
#include <kernel/vm.h>
#include <lib/errno.h>
#include <lib/hash.h>
#include <lib/string.h>
#include <lib/text.h>
#include <probe/detour.h>
#include <probe/kprobe.h>
#include <probe/opt.h>

#define REASON_MAX  80
#define REASONS_MAX 16

extern char __head_end[];

struct reason {
	char text[REASON_MAX];
	unsigned n;
};

/* Used from the first on; the last takes the rest. */
struct reasons {
	struct reason list[REASONS_MAX];
};

/* What stands at the sites. */
struct arming {
	const char *name;
	unsigned jumps, wrong;
	unsigned strategies[JUMP_STRATEGIES];
	struct reasons stays;
};

/* What has to be the same before and after. */
struct state {
	u64 text;
	size_t heap, pages;
	unsigned executable, stubs, window;
};

/* Commands run in one thread: no lock. */
static struct {
	unsigned total, accepted;
	unsigned long fill; /* bytes */
	struct reasons refused;
	struct arming single, all;
	struct state before, after;
} tally;

/* Offsets in text of all that was accepted. */
static u32 *spots;

static __noprobe int do_nothing(struct kprobe *p __unused,
				struct pt_regs *regs __unused)
{
	return 0;
}

/* "function+0x10: reason" is kprobe_reason(). */
static void count_reason(struct reasons *reasons, const char *why)
{
	const char *colon = strchr(why, ':');
	struct reason *r = reasons->list;

	if (colon)
		why = colon + 2;
	while (r->n && strncmp(r->text, why, REASON_MAX - 1) &&
	       r < &reasons->list[REASONS_MAX - 1])
		r++;
	if (!r->n)
		strscpy(r->text, why, sizeof(r->text));
	r->n++;
}

/* Where the jump at @pc leads, or 0. */
static unsigned long target_at(unsigned long pc, size_t size)
{
	const u32 jump = INSN_BRANCH_REL | INSN_COND | INSN_CALL;
	struct insn insn;

	if (arch_insn_decode(&insn, (const void *)pc, size, pc) ||
	    (insn.flags & jump) != INSN_BRANCH_REL)
		return 0;
	return insn.target;
}

static void count_arming(struct arming *a, unsigned long pc)
{
	const struct site *s = site_find(pc);
	unsigned long to = target_at(pc, ARCH_JUMP_TEXT);

	if (to && window_contains(to))
		to = target_at(to, STUB_SIZE);
	if (s->detour && to == s->detour->code.entry) {
		a->jumps++;
		a->strategies[s->detour->jump.strategy]++;
	} else if (memcmp((const void *)pc, arch_break_insn, ARCH_BREAK_SIZE)) {
		a->wrong++;
	} else {
		count_reason(&a->stays, s->no_jump ?: "it was not tried");
	}
}

static void try_instruction(unsigned long pc)
{
	struct kprobe p = { .addr = pc, .pre_handler = do_nothing };

	tally.total++;
	if (register_kprobe(&p)) {
		count_reason(&tally.refused, kprobe_reason());
		return;
	}
	opt_sync();
	count_arming(&tally.single, pc);
	spots[tally.accepted++] = (u32)(pc - (unsigned long)__text_start);
	unregister_kprobe(&p);
}

static bool is_open(unsigned long pc)
{
	return image_is_text(pc) && pc >= (unsigned long)__head_end &&
	       !(pc >= (unsigned long)__noprobe_text_start &&
		 pc < (unsigned long)__noprobe_text_end);
}

static void try_function(const struct symbol *sym)
{
	unsigned long pc = sym->addr, end = sym->addr + sym->size;
	struct insn insn;

	while (pc < end && is_open(pc)) {
		/* Where nothing can be decoded len is what to pass over. */
		if (arch_insn_decode(&insn, (const void *)pc,
				     min(end - pc, INSN_MAX_BYTES + 0UL),
				     pc) == -ENODATA)
			return;
		if (memcmp(insn.bytes, arch_break_insn, ARCH_BREAK_SIZE))
			try_instruction(pc);
		else
			tally.fill += insn.len;
		pc += insn.len;
	}
}

/* All at once -------------------------------------------------------------------- */

static struct state state_now(void)
{
	return (struct state){
		.text = hash_fnv1a64(HASH_FNV1A64_INIT, __text_start,
				     (size_t)(__text_end - __text_start)),
		.heap = heap_objects_used(),
		.pages = vm_pages_used(),
		.executable = exec_units_used(),
		.stubs = window_stub_count(),
		.window = window_page_count(),
	};
}

static void *pages_alloc(size_t bytes)
{
	return vm_alloc(DIV_ROUND_UP(bytes, PAGE_SIZE), VM_READ | VM_WRITE);
}

/* The jumps are planned while nothing stands in the text yet: OPT_EAGER. */
static int arm_all(struct kprobe *probes, struct kprobe **list)
{
	int err;

	for (unsigned i = 0; i < tally.accepted; i++) {
		probes[i].addr = (unsigned long)__text_start + spots[i];
		probes[i].pre_handler = do_nothing;
		list[i] = &probes[i];
	}
	err = opt_set(OPT_EAGER) ?: register_kprobes(list, tally.accepted);
	if (err)
		return err;
	for (unsigned i = 0; i < tally.accepted; i++)
		count_arming(&tally.all, probes[i].addr);
	return unregister_kprobes(list, tally.accepted) ?: opt_set(OPT_OFF);
}

static int try_all(void)
{
	size_t n = tally.accepted;
	struct kprobe *probes = pages_alloc(n * sizeof(*probes));
	struct kprobe **list = pages_alloc(n * sizeof(struct kprobe *));
	int err = -ENOMEM;

	tally.before = state_now();
	if (probes && list)
		err = arm_all(probes, list);
	tally.after = state_now();
	vm_free(probes);
	vm_free(list);
	return err;
}

/* @part of @whole in hundredths of a percent. */
static unsigned long share(unsigned long part, unsigned long whole)
{
	return whole ? part * 10000 / whole : 0;
}

static void print_share(const char *what, unsigned long part,
			unsigned long whole)
{
	unsigned long p = share(part, whole);

	monitor_print(" %s %lu (%lu.%02lu %%)", what, part, p / 100, p % 100);
}

static void print_reasons(const char *what, const char *where,
			  const struct reasons *reasons)
{
	for (const struct reason *r = reasons->list;
	     r < reasons->list + REASONS_MAX && r->n; r++)
		monitor_print("%s %s%s %u %s\n", what, SONDE_MACHINE, where,
			      r->n, r->text);
}

static void print_arming(const struct arming *a)
{
	monitor_print("jump %s%s", SONDE_MACHINE, a->name);
	for (unsigned s = JUMP_NONE + 1; s < JUMP_STRATEGIES; s++)
		monitor_print(" %s %u", jump_strategy_name(s),
			      a->strategies[s]);
	if (a->wrong)
		monitor_print(" WRONG %u", a->wrong);
	monitor_print("\n");
	print_reasons("stays", a->name, &a->stays);
}

static void print_left(const struct state *was, const struct state *is)
{
	monitor_print(
		"left %s text %s heap %ld pages %ld executable %d stubs "
		"%d window %d\n",
		SONDE_MACHINE, is->text == was->text ? "same" : "CHANGED",
		(long)(is->heap - was->heap), (long)(is->pages - was->pages),
		(int)(is->executable - was->executable),
		(int)(is->stubs - was->stubs), (int)(is->window - was->window));
}

static void print_tally(void)
{
	unsigned long text = (unsigned long)(__text_end - __text_start);

	monitor_print("coverage %s text %u", SONDE_MACHINE, tally.total);
	print_share("accepted", tally.accepted, tally.total);
	print_share("jump-single", tally.single.jumps, tally.accepted);
	print_share("jump-all", tally.all.jumps, tally.accepted);
	monitor_print("\n");
	print_arming(&tally.single);
	print_arming(&tally.all);
	print_left(&tally.before, &tally.after);
	print_reasons("refused", "", &tally.refused);
	monitor_print("noprobe %s", SONDE_MACHINE);
	print_share("bytes",
		    (unsigned long)(__noprobe_text_end - __noprobe_text_start),
		    text);
	monitor_print(" of %lu\nfill %s %lu bytes of %lu\n", text,
		      SONDE_MACHINE, tally.fill, text);
}

static int cover(void)
{
	struct symbol sym = { .addr = 0 };

	memset(&tally, 0, sizeof(tally));
	tally.single.name = " single";
	tally.all.name = " all";
	while (symtab_next(sym.addr, &sym) == 0) {
		if (monitor_interrupted())
			return monitor_fail(-EINTR, "interrupted");
		try_function(&sym);
	}
	return try_all();
}

static int cmd_coverage(const struct monitor_call *call __unused)
{
	size_t text = (size_t)(__text_end - __text_start);
	enum opt_mode before = opt_mode();
	int err = opt_set(OPT_OFF); /* jumps only when asked for */

	if (err)
		return err;
	spots = pages_alloc(text * sizeof(*spots));
	err = spots ? cover() : -ENOMEM;
	vm_free(spots);
	if (!err)
		print_tally();
	return opt_set(before) ?: err;
}
MONITOR_COMMAND("coverage", "",
		"probe every instruction, alone and all at once: takes minutes",
		cmd_coverage);
