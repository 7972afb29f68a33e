// SPDX-License-Identifier: MIT
/*
 * The processor as referee, in the kernel: an instruction run where it is, its
 * relocated copy, its emulation, and a probe on it must leave the same registers
 * and memory, or fault alike. The instructions are the corpus made from the map.
 *
 * Registers of a test are put in place and taken out by probes: native_area.S.
 * The same corpus runs in user mode on the host, where what the kernel must not
 * do to itself can be tried too: native_ppc64.c.
 */
#include <arch/cpu.h>
#include <arch/insn.h>
#include <arch/regs.h>
#include <kernel/trap.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/kprobe.h>
#include <probe/patch.h>
#include <probe/site.h>
#include <tests/cases/ppc64/native_area.h>
#include <tests/random.h>
#include <tests/test.h>
#include <gen/insn_corpus.h>

#define STATES	  8
#define WORD_TRAP 0x7fe00008u

/*
 * r1 points into @stack: room for trap frames below, and the stack proper, which
 * is compared, from the red zone on.
 */
struct memory {
	u8 below[16384] __aligned(16);
	u8 stack[FRAME_RED_ZONE + 1024];
	u8 data[3072]; /* pointers leave 1024 on either side */
};

#define R1(memory) ((unsigned long)(memory)->stack + FRAME_RED_ZONE)

struct state {
	struct pt_regs regs;
	struct vectors vectors;
	u8 stack[sizeof(((struct memory *)0)->stack)];
	u8 data[sizeof(((struct memory *)0)->data)];
	enum trap_kind
		kind; /* of the trap at the end: a breakpoint, or a fault */
};

static struct memory memory;
static struct state before, native, after;
static struct pt_regs start, finish, home;
static struct trap last;

/* What is in a cell of native_area, and its copy in native_copies. */
static struct cell {
	struct insn insn;
	const char *name;
	unsigned long copy;
	int copy_len;	     /* or why there is none */
	u64 seed;	     /* of the states */
	u64 results[STATES]; /* digests of what the processor did */
} cells[NATIVE_CELLS];

static unsigned relocated, emulated, differences, faulted, unit_off;
static unsigned probed[PLAN_STEP + 1]; /* encodings, by plan */
static unsigned ends_seen[PLAN_STEP + 1];

/* Running -------------------------------------------------------------------- */

static int on_start(struct kprobe *p __unused, struct pt_regs *regs)
{
	home = *regs;
	*regs = start;
	regs->msr |= home.msr;
	regs->gpr[2] = home.gpr[2];
	regs->gpr[13] = home.gpr[13];
	return 0;
}

static int on_finish(struct kprobe *p __unused, struct pt_regs *regs)
{
	finish = *regs;
	last = *trap_last_repaired();
	*regs = home;
	regs->nip += 4;
	return 0;
}

static struct kprobe ends[] = {
	{ .addr = (unsigned long)native_start,
	  .pre_handler = on_start,
	  .flags = KPROBE_FLAG_CONTROL },
	{ .addr = (unsigned long)native_finish,
	  .pre_handler = on_finish,
	  .flags = KPROBE_FLAG_CONTROL },
};

static void load_memory(const struct state *s)
{
	memcpy(memory.stack, s->stack, sizeof(s->stack));
	memcpy(memory.data, s->data, sizeof(s->data));
}

static void save_memory(struct state *s)
{
	memcpy(s->stack, memory.stack, sizeof(s->stack));
	memcpy(s->data, memory.data, sizeof(s->data));
}

/* Runs what stands at @pc until it traps. */
static void run(unsigned long pc, struct state *result)
{
	unsigned long irqs = arch_irq_save();

	load_memory(&before);
	start = before.regs;
	start.nip = pc;
	native_vectors_load(&before.vectors);
	native_start();
	native_vectors_save(&result->vectors);
	arch_irq_restore(irqs);
	result->regs = finish;
	result->regs.nip = last.pc;
	result->kind = last.kind;
	save_memory(result);
}

/*
 * Values of every kind, such that no sum of two of them is the address of what
 * is not ours but could be written.
 */
static u64 random_value(u64 *seed)
{
	switch (random_below(seed, 8)) {
	case 0:
		return random_below(seed, 3);
	case 1:
		return 0x5000000100000000 + random_below(seed, 2);
	case 2:
		return random_next(seed) >> 4 | 5ull << 60;
	case 3:
		return (u64)(s32)(random_next(seed) | 1u << 31);
	case 4:
		return (unsigned long)native_copies + 1536 +
		       random_below(seed, 256) * 4;
	default:
		return (unsigned long)memory.data + 1024 +
		       random_below(seed, 64) * 8;
	}
}

static void random_state(const struct insn *insn, u64 *seed)
{
	struct pt_regs *regs = &before.regs;
	unsigned i;

	memset(&before, 0, sizeof(before));
	for (i = 0; i < 32; i++)
		regs->gpr[i] = random_value(seed);
	regs->gpr[1] = R1(&memory);
	regs->ctr = random_value(seed);
	regs->link = random_value(seed);
	if (insn->flags & (INSN_INDIRECT | INSN_RET)) {
		regs->ctr = (unsigned long)native_area + 32 + (regs->ctr & 3);
		regs->link = (unsigned long)native_area + 64 + (regs->link & 3);
	}
	/* Now and then a unit is off. */
	regs->msr = random_below(seed, 8) ? MSR_FP | MSR_VEC | MSR_VSX : 0;
	regs->xer = random_next(seed) & 0xe00c007f;
	regs->ccr = (u32)random_next(seed);
	for (i = 0; i < 64; i++) {
		before.vectors.vsr[i][0] = random_value(seed);
		before.vectors.vsr[i][1] = random_value(seed);
	}
	for (i = 0; i < sizeof(before.data); i++)
		before.data[i] = random_next(seed) >> 32;
	for (i = 0; i < sizeof(before.stack); i++)
		before.stack[i] = random_next(seed) >> 32;
}

/* Comparing ------------------------------------------------------------------ */

static const char *differs(void)
{
	const struct pt_regs *a = &native.regs, *b = &after.regs;

	if (native.kind != after.kind)
		return trap_kind_name(after.kind);
	if (a->nip != b->nip)
		return "pc";
	if (a->link != b->link || a->ctr != b->ctr)
		return "LR or CTR";
	/* Bits 0-31 of XER are reserved (ISA 3.1 I 3.2.2). */
	if (a->ccr != b->ccr || (u32)a->xer != (u32)b->xer)
		return "CR or XER";
	for (unsigned i = 0; i < 32; i++)
		if (i != 2 && i != 13 && a->gpr[i] != b->gpr[i])
			return "registers";
	if (memcmp(&native.vectors, &after.vectors, sizeof(after.vectors)))
		return "vectors";
	if (memcmp(native.stack, after.stack, sizeof(native.stack)) ||
	    memcmp(native.data, after.data, sizeof(native.data)))
		return "memory";
	return NULL;
}

static void compare(const struct cell *cell, const char *how)
{
	const char *what = differs();

	if (!what)
		return;
	differences++;
	FAIL("%s %08x %08x, %s: %s; pc 0x%lx for 0x%lx", cell->name,
	     cell->insn.arch.prefix, cell->insn.arch.word, how, what,
	     after.regs.nip, native.regs.nip);
}

/* A relocated call saves r0 where nothing lives during a call: reloc.c. */
static void forget_dead_word(const struct insn *insn, struct state *s)
{
	if (insn->flags & INSN_LR_WRITE)
		memcpy(s->stack, before.stack, 8);
}

static void try_copy(const struct cell *cell)
{
	const struct insn *insn = &cell->insn;

	if (cell->copy_len <= 0)
		return;
	run(cell->copy, &after);
	if (after.regs.nip == cell->copy + cell->copy_len)
		after.regs.nip = insn->pc + insn->len;
	else if (after.regs.nip - cell->copy < (unsigned long)cell->copy_len)
		after.regs.nip = native.regs.nip; /* a fault */
	forget_dead_word(insn, &after);
	relocated++;
	compare(cell, "relocated");
}

static void try_emulation(const struct cell *cell)
{
	struct insn_op op;
	int error;

	load_memory(&before);
	after.regs = before.regs;
	after.regs.msr = home.msr;
	after.vectors = before.vectors;
	if (arch_insn_analyse(&cell->insn, &after.regs, &op) == INSN_EMU_NONE)
		return;
	error = arch_insn_apply(&op, &after.regs);
	if (error)
		after.regs.nip = cell->insn.pc;
	after.kind = error ? TRAP_MEMORY : TRAP_BREAKPOINT;
	save_memory(&after);
	emulated++;
	compare(cell, "emulated");
}

static u64 digest_of(u64 sum, const void *bytes, size_t n)
{
	for (const u8 *p = bytes; n; n--)
		sum = (sum ^ *p++) * 0x100000001b3;
	return sum;
}

static u64 digest(struct state *s)
{
	u64 sum = 0xcbf29ce484222325;

	s->regs.gpr[2] = s->regs.gpr[13] = s->regs.msr = 0;
	s->regs.xer = (u32)s->regs.xer;
	sum = digest_of(sum, &s->regs, offsetof(struct pt_regs, trap));
	sum = digest_of(sum, &s->vectors, sizeof(s->vectors));
	sum = digest_of(sum, s->stack, sizeof(s->stack));
	sum = digest_of(sum, s->data, sizeof(s->data));
	return sum + s->kind;
}

/* The processor alone, the copy, the emulation. */
static void run_plain(struct cell *cell)
{
	u64 seed = cell->seed;

	for (unsigned i = 0; i < STATES; i++) {
		random_state(&cell->insn, &seed);
		run(cell->insn.pc, &native);
		unit_off += native.kind == TRAP_FLOAT;
		faulted += native.kind != TRAP_BREAKPOINT;
		try_copy(cell);
		try_emulation(cell);
		cell->results[i] = digest(&native);
	}
}

/* The same with a probe on the instruction. */
static void run_probed(struct cell *cell)
{
	u64 seed = cell->seed;

	for (unsigned i = 0; i < STATES; i++) {
		random_state(&cell->insn, &seed);
		run(cell->insn.pc, &after);
		forget_dead_word(&cell->insn, &after);
		if (digest(&after) == cell->results[i])
			continue;
		differences++;
		FAIL("%s %08x %08x, probed: %s at 0x%llx", cell->name,
		     cell->insn.arch.prefix, cell->insn.arch.word,
		     trap_kind_name(after.kind),
		     after.regs.nip - cell->insn.pc);
	}
}

/* Cells ---------------------------------------------------------------------- */

/* Why the kernel must not run it, or NULL. */
static const char *not_here(const struct insn *insn, const char *name)
{
	static const char *const loads_r13[] = { "lmw", "lswi", "lswx" };

	for (unsigned i = 0; i < ARRAY_SIZE(loads_r13); i++)
		if (!strcmp(name, loads_r13[i]))
			return "may load r13, which is the kernel's";
	if (!strcmp(name, "bctar"))
		return "TAR is nowhere saved";
	if (insn->flags & INSN_PREFIXED && insn->flags & INSN_MEM)
		return "its displacement reaches what is not the test's";
	if (insn->flags & INSN_BRANCH_REL && insn->target - insn->pc + 32 > 64)
		return "its target is elsewhere";
	return insn->deny ? insn_deny_reason(insn->deny) : NULL;
}

/* Takes the next encoding of the corpus that can be run; false at its end. */
static bool fill(struct cell *cell, unsigned n, unsigned *next)
{
	unsigned long pc = (unsigned long)&native_area[n][NATIVE_CELL_INSN];

	for (; *next < ARRAY_SIZE(insn_corpus); ++*next) {
		u32 prefix = insn_corpus[*next].prefix;
		u8 bytes[8], *at = bytes;

		if (!insn_corpus[*next].first)
			continue;
		if (prefix) {
			insn_word_put(at, prefix);
			at += 4;
		}
		insn_word_put(at, insn_corpus[*next].word);
		at += 4;
		cell->name = insn_corpus_names[insn_corpus[*next].line];
		if (arch_insn_decode(&cell->insn, bytes, at - bytes, pc) ||
		    not_here(&cell->insn, cell->name))
			continue;
		cell->copy = (unsigned long)native_copies[n];
		cell->seed = 20240229 + ++*next;
		return true;
	}
	return false;
}

static void patch_word(struct text_patch *p, const u32 *at, const u8 *bytes)
{
	p->addr = (unsigned long)at;
	p->len = 4;
	insn_word_put(p->bytes, WORD_TRAP);
	if (bytes)
		memcpy(p->bytes, bytes, 4);
}

#define COPY_WORDS (INSN_RELOC_MAX / 4)

/* Writes @n cells and their copies, and traps behind what is short. */
static int write_cells(unsigned n)
{
	static struct text_patch patches[NATIVE_CELLS * (2 + COPY_WORDS)];
	struct text_patch *p = patches;

	for (unsigned i = 0; i < n; i++) {
		const struct insn *insn = &cells[i].insn;

		for (unsigned w = 0; w < 2; w++)
			patch_word(p++, &native_area[i][NATIVE_CELL_INSN + w],
				   4 * w < insn->len ? insn->bytes + 4 * w
						     : NULL);
	}
	for (unsigned i = 0; i < n; i++) {
		u8 copy[INSN_RELOC_MAX];
		int len = arch_insn_relocate(&cells[i].insn, cells[i].copy,
					     copy, sizeof(copy));

		cells[i].copy_len = len;
		for (int w = 0; w < (int)COPY_WORDS; w++)
			patch_word(p++, &native_copies[i][w],
				   4 * w < len ? copy + 4 * w : NULL);
	}
	return text_patch(patches, p - patches);
}

static int seen(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
}

static void seen_end(struct kprobe *p __unused, struct pt_regs *regs __unused,
		     unsigned long flags __unused)
{
	ends_seen[probe_plan()]++;
}

/* Stepped, out of a slot, emulated as far as that is offered. All but slots */
/* know the end. */
static const enum probe_plan plans[] = { PLAN_STEP, PLAN_AUTO, PLAN_EMULATE };

static void run_cells_probed(unsigned n, enum probe_plan plan)
{
	static struct kprobe probes[NATIVE_CELLS];
	static struct kprobe *list[NATIVE_CELLS];
	unsigned placed = 0;

	probe_plan_set(plan);
	for (unsigned i = 0; i < n; i++) {
		struct kprobe *p = &probes[i];
		int err;

		*p = (struct kprobe){ .addr = cells[i].insn.pc,
				      .pre_handler = seen };
		if (plan != PLAN_AUTO)
			p->post_handler = seen_end;
		err = register_kprobe(p);
		if (err == 0) {
			list[placed++] = p;
			run_probed(&cells[i]);
		} else if (plan != PLAN_EMULATE || err != -EOPNOTSUPP) {
			FAIL("register: %s", kprobe_reason());
		}
	}
	unregister_kprobes(list, placed);
	probe_plan_set(PLAN_AUTO);
	probed[plan] += placed;
}

static void run_cells(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		run_plain(&cells[i]);
	for (unsigned k = 0; k < ARRAY_SIZE(plans); k++)
		run_cells_probed(n, plans[k]);
}

TEST(native, copies_emulation_and_probes_do_what_the_processor_does)
{
	struct kprobe *list[] = { &ends[0], &ends[1] };
	unsigned encodings = 0, next = 0, n = 0;

	ASSERT_EQ(register_kprobes(list, 2), 0);
	do {
		for (n = 0; n < NATIVE_CELLS; n++)
			if (!fill(&cells[n], n, &next))
				break;
		if (n && write_cells(n) == 0)
			run_cells(n);
		encodings += n;
	} while (n == NATIVE_CELLS);
	unregister_kprobes(list, 2);
	test_note(
		"%u encodings x %u states: %u differences (%u relocated, %u "
		"emulated, with probes %u; %u faulted, %u for want of a unit)",
		encodings, STATES, differences, relocated, emulated,
		probed[PLAN_EMULATE] * STATES, faulted, unit_off);
	EXPECT_GE(encodings, 700);
	EXPECT_GT(emulated, 2000);
	EXPECT_EQ(ends_seen[PLAN_STEP] + faulted, encodings * STATES);
	EXPECT_GT(ends_seen[PLAN_EMULATE], 1500);
	EXPECT_EQ(probed[PLAN_STEP], encodings);
	EXPECT_EQ(probed[PLAN_AUTO], encodings);
	EXPECT_GT(probed[PLAN_EMULATE], 200);
}
