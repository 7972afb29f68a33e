/* SPDX-License-Identifier: MIT */
/*
 * A probe on every instruction of the kernel that may have one, all at once,
 * while the kernel runs tests: threads, time, other CPUs, memory, changes of
 * text. It must go on as if there were none. Once for each way in which a
 * displaced instruction can be run, and with jumps, in both modes of patching.
 *
 * Everything is slow then: each instruction costs a trap, loops over memory
 * included. So INSIDE names tests that are quick. The kernel's command line may
 * say others, as long as they do not count traps or change probed text, and that
 * only one instruction in so many is to be probed:
 *
 *	make run CMDLINE='test=everywhere.* everywhere=4 inside=sched,timer,vm'
 */
#include "../test.h"
#include <arch/boot.h>
#include <arch/mmu.h>
#include <arch/regs.h>
#include <kernel/heap.h>
#include <kernel/image.h>
#include <kernel/option.h>
#include <kernel/percpu.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <lib/errno.h>
#include <lib/hash.h>
#include <lib/string.h>
#include <lib/text.h>
#include <probe/kprobe.h>
#include <probe/opt.h>
#include <probe/patch.h>
#include <probe/plan.h>
#include <probe/site.h>
#include <tests/cases/patch_area.h>
#include <tests/cases/work.h>

#define INSIDE "trap.*s_own_last*,trap.every_kind*,list"
/* With a probe on a few of them only there is time for more. */
#define INSIDE_SHARE                                                  \
	INSIDE ",rbtree.[!r]*,sched.[ioy]*,wait.an_*,patch.batches*," \
	       "patch.wrong*,patch.a_long*"

/* So much memory is not in one piece. */
#define PIECE	   1024
#define PIECES	   256
#define INSIDE_MAX 256

struct batch {
	struct kprobe **list;
	unsigned n;
};

/* How they are probed. */
struct manner {
	enum probe_plan plan;
	enum opt_mode opt;
	enum patch_mode patch;
	unsigned share; /* one instruction in so many, unless told otherwise */
};

/*
 * What placing and removing probes runs itself is hot: with traps all over it,
 * the rest would take minutes. So it comes last, and goes first.
 */
struct everywhere {
	struct kprobe *pieces[PIECES];
	unsigned n;
	struct batch functions; /* their entries: is it hot? */
	struct batch cold, hot;
	enum probe_plan plan;
	u64 share; /* one instruction in so many */
	u64 seen;
	const struct test *inside[INSIDE_MAX];
	unsigned nr_inside;
};

static unsigned long wrong_pc;

/* No-probe: it would hit itself, once for each of its instructions. */
static __noprobe int on_hit(struct kprobe *p, struct pt_regs *regs)
{
	if (unlikely(instruction_pointer(regs) != p->addr))
		wrong_pc++;
	return 0;
}

/* All of it but what tests inside change, which has no probes. */
static u64 text_hash(void)
{
	const u8 *end = patch_area + PATCH_SITES * PATCH_STRIDE;
	u64 hash = hash_fnv1a64(HASH_FNV1A64_INIT, __text_start,
				(size_t)(patch_area - (u8 *)__text_start));

	return hash_fnv1a64(hash, end, (size_t)((u8 *)__text_end - end));
}

/* Choosing ------------------------------------------------------------------ */

/* Would a probe be accepted there? */
static bool may_be_probed(const struct everywhere *e, unsigned long addr)
{
	bool slot, step, emulate;
	u8 code[ARCH_SLOT_SIZE];
	const char *why;
	struct insn insn;
	int err;

	mutex_lock(&probe_mutex);
	err = deny_check(addr, &insn, &why);
	mutex_unlock(&probe_mutex);
	if (err)
		return false;
	slot = arch_insn_relocate(&insn, NEAR_BASE, code, sizeof(code)) >= 0;
	step = arch_probe_prepare(&insn, NEAR_BASE, code) == 0;
	emulate = plan_can_emulate(&insn);
	switch (e->plan) {
	case PLAN_EMULATE:
		return emulate && (slot || step);
	case PLAN_SLOT:
		return slot;
	case PLAN_STEP:
		return step;
	default:
		return slot || step;
	}
}

static bool batch_alloc(struct batch *b)
{
	b->n = 0;
	b->list = kcalloc(PIECES * PIECE, sizeof(*b->list));
	if (!b->list)
		FAIL("no memory for a list of probes");
	return b->list;
}

static bool add(struct everywhere *e, struct batch *b, unsigned long addr)
{
	struct kprobe *p, **piece = &e->pieces[e->n / PIECE];

	if (!may_be_probed(e, addr))
		return true;
	if (e->n % PIECE == 0)
		*piece = kcalloc(PIECE, sizeof(*p));
	if (!*piece || e->n == PIECES * PIECE) {
		FAIL("no memory for probe %u", e->n);
		return false;
	}
	p = *piece + e->n++ % PIECE;
	p->addr = addr;
	p->pre_handler = on_hit;
	b->list[b->n++] = p;
	return true;
}

/* If each hit ran it with a probe on each instruction, nothing would end. */
static bool is_emulator(unsigned long pc)
{
	extern const char __emulator_start[], __emulator_end[];

	return pc >= (unsigned long)__emulator_start &&
	       pc < (unsigned long)__emulator_end;
}

/* Adds the instructions of @sym from @pc on: all, or one. */
static bool add_function(struct everywhere *e, struct batch *b,
			 const struct symbol *sym)
{
	unsigned long pc = sym->addr, end = pc + sym->size;
	struct insn insn;

	/* Its text is changed by who is called inside. */
	if (pc == (unsigned long)patch_area)
		return true;
	if (e->plan == PLAN_EMULATE && is_emulator(pc))
		return true;
	for (; pc < end; pc += insn.len) {
		if (arch_insn_decode(&insn, (const void *)pc,
				     min(end - pc, INSN_MAX_BYTES + 0UL),
				     pc) == -ENODATA)
			break;
		if (e->seen++ % e->share == 0 && !add(e, b, pc))
			return false;
	}
	return true;
}

/* Somewhere to place some probes at. */
static __noclone u64 drill_ground(u64 a, u64 b)
{
	return a * b + (a ^ b) * (a + b) - (a & b);
}

/* Probes to be placed and removed while others are on all functions. */
#define DRILL 6

struct drill {
	struct kprobe probes[DRILL], *list[DRILL];
};

static bool drill_init(const struct everywhere *e, struct drill *d)
{
	unsigned long pc = (unsigned long)drill_ground;
	struct insn insn;

	EXPECT_EQ(drill_ground(3, 4), 12 + 7 * 7);
	for (unsigned i = 0; i < DRILL; pc += insn.len) {
		if (arch_insn_decode(&insn, (const void *)pc, INSN_MAX_BYTES,
				     pc) < 0)
			return false;
		if (!may_be_probed(e, pc))
			continue;
		d->probes[i] = (struct kprobe){ .addr = pc,
						.pre_handler = on_hit };
		d->list[i] = &d->probes[i];
		i++;
	}
	return true;
}

/* Which functions run when probes are placed and removed? */
static bool find_hot(struct everywhere *e)
{
	struct symbol sym = { 0 };
	static struct drill d; /* large */
	enum opt_mode mode = opt_mode();
	int err;

	if (!drill_init(e, &d))
		return false;
	/* With so many probes as are to come, jumps are planned at once. */
	if (mode == OPT_ON)
		EXPECT_EQ(opt_set(OPT_EAGER), 0);
	while (symtab_next(sym.addr, &sym) == 0) {
		if (!add(e, &e->functions, symbol_entry(&sym)))
			return false;
	}
	err = register_kprobes(e->functions.list, e->functions.n);
	EXPECT_EQ(err, 0);
	if (err)
		return false;
	EXPECT_EQ(register_kprobes(d.list, DRILL), 0);
	EXPECT_EQ(unregister_kprobes(d.list, DRILL), 0);
	EXPECT_EQ(unregister_kprobes(e->functions.list, e->functions.n), 0);
	EXPECT_EQ(opt_set(mode), 0);
	return true;
}

static bool choose(struct everywhere *e, enum probe_plan plan)
{
	struct symbol sym = { 0 };
	unsigned next = 0;

	e->plan = plan;
	if (!batch_alloc(&e->functions) || !batch_alloc(&e->cold) ||
	    !batch_alloc(&e->hot) || !find_hot(e))
		return false;
	while (symtab_next(sym.addr, &sym) == 0) {
		struct batch *b = &e->cold;
		const struct kprobe *p = NULL;

		if (next < e->functions.n)
			p = e->functions.list[next];
		if (p && p->addr == symbol_entry(&sym)) {
			b = p->nhit ? &e->hot : &e->cold;
			next++;
		}
		if (!add_function(e, b, &sym))
			return false;
	}
	return true;
}

static void forget(struct everywhere *e)
{
	for (unsigned i = 0; i < PIECES; i++)
		kfree(e->pieces[i]);
	kfree(e->functions.list);
	kfree(e->cold.list);
	kfree(e->hot.list);
}

/* In full --------------------------------------------------------------------- */

static bool place(struct batch *b)
{
	int err = register_kprobes(b->list, b->n);

	EXPECT_EQ(err, 0);
	if (err)
		test_note("%s", kprobe_reason());
	return !err;
}

static void be_probed(struct everywhere *e)
{
	if (!place(&e->cold))
		return;
	if (place(&e->hot)) {
		work_everywhere();
		for (unsigned i = 0; i < e->nr_inside; i++) {
			test_note("inside: %s.%s", e->inside[i]->suite,
				  e->inside[i]->name);
			test_run_inside(e->inside[i]);
		}
		EXPECT_EQ(unregister_kprobes(e->hot.list, e->hot.n), 0);
	}
	EXPECT_EQ(unregister_kprobes(e->cold.list, e->cold.n), 0);
}

static void count(const struct batch *b, u64 *hits, u64 *missed)
{
	for (unsigned i = 0; i < b->n; i++) {
		*hits += b->list[i]->nhit;
		*missed += b->list[i]->nmissed;
	}
}

BOOT_OPTION(everywhere, "N",
	    "suite everywhere: probes are on one of N instructions", NULL);
BOOT_OPTION(inside, "GLOB,...", "suite everywhere: what runs among its probes",
	    NULL);

static struct manner manner_change(const struct manner *m)
{
	struct manner before = { probe_plan(), opt_mode(), patch_mode(), 0 };

	probe_plan_set(m->plan);
	patch_mode_set(m->patch);
	EXPECT_EQ(opt_set(m->opt), 0);
	return before;
}

static void everywhere(struct manner manner)
{
	struct everywhere *e = kzalloc(sizeof(*e));
	static char globs[1024]; /* large */
	u64 before = text_hash(), hits = 0, missed = 0;

	if (!e) {
		FAIL("no memory");
		return;
	}
	e->share = option_number(&boot_option_everywhere, manner.share);
	if (option_get(&boot_option_inside, globs, sizeof(globs)) < 0)
		strscpy(globs, e->share < 4 ? INSIDE : INSIDE_SHARE,
			sizeof(globs));
	e->nr_inside = tests_find(globs, e->inside, INSIDE_MAX);
	wrong_pc = 0;
	manner = manner_change(&manner);
	if (choose(e, probe_plan()))
		be_probed(e);
	manner_change(&manner);
	EXPECT_EQ(text_hash(), before);
	EXPECT_EQ(wrong_pc, 0);
	EXPECT_GT(e->cold.n, 20000 / e->share);
	EXPECT_GT(e->hot.n, 2000 / e->share);
	count(&e->cold, &hits, &missed);
	count(&e->hot, &hits, &missed);
	EXPECT_GT(hits, 100000 / e->share);
	test_note("%u + %u probes, %llu hits, %llu missed", e->cold.n, e->hot.n,
		  hits, missed);
	forget(e);
	kfree(e);
}

TEST(everywhere, every_instruction_at_once_by_the_best_plan)
{
	everywhere((struct manner){ PLAN_AUTO, OPT_OFF, PATCH_BREAK, 4 });
}

TEST(everywhere, every_instruction_at_once_by_emulation_where_possible)
{
	everywhere((struct manner){ PLAN_EMULATE, OPT_OFF, PATCH_BREAK, 16 });
}

TEST(everywhere, every_instruction_at_once_by_slot)
{
	everywhere((struct manner){ PLAN_SLOT, OPT_OFF, PATCH_BREAK, 16 });
}

TEST(everywhere, every_instruction_at_once_by_step)
{
	everywhere((struct manner){ PLAN_STEP, OPT_OFF, PATCH_STOP, 16 });
}

TEST(everywhere, every_instruction_a_jump_at_once_by_break)
{
	everywhere((struct manner){ PLAN_AUTO, OPT_EAGER, PATCH_BREAK, 16 });
}

TEST(everywhere, every_instruction_a_jump_at_once_by_stop)
{
	everywhere((struct manner){ PLAN_AUTO, OPT_EAGER, PATCH_STOP, 16 });
}

TEST(everywhere, every_instruction_becomes_a_jump_meanwhile_by_break)
{
	everywhere((struct manner){ PLAN_AUTO, OPT_ON, PATCH_BREAK, 16 });
}

TEST(everywhere, every_instruction_becomes_a_jump_meanwhile_by_stop)
{
	everywhere((struct manner){ PLAN_AUTO, OPT_ON, PATCH_STOP, 16 });
}
