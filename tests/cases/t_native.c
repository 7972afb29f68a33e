// SPDX-License-Identifier: MIT
/*
 * The processor as referee, in the kernel: an instruction run where it is, its
 * relocated copy, its emulation, and a probe on it of every kind must leave the
 * same registers and memory, or fault alike. The instructions are the corpus made
 * from the map.
 *
 * Registers of a test are put in place and taken out by probes: native.h. The
 * same corpus runs in user mode on the host, where what the kernel must not do to
 * itself can be tried too: tests/host/decode/native_*.c.
 */
#include <arch/cpu.h>
#include <arch/regs.h>
#include <lib/errno.h>
#include <lib/printf.h>
#include <lib/string.h>
#include <probe/kprobe.h>
#include <probe/opt.h>
#include <probe/patch.h>
#include <probe/site.h>
#include <tests/cases/native.h>
#include <tests/random.h>
#include <tests/test.h>

#define STATES 8

struct native_memory native_memory;
static struct native_state before, native, after;
static struct pt_regs start, finish, home;
static bool
	changed; /* registers are those of @start by a handler on their way */
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

static unsigned relocated, emulated, faulted, differences;
static unsigned crooked; /* handlers that were called with a bad stack */

/* Running -------------------------------------------------------------------- */

static int on_start(struct kprobe *p __unused, struct pt_regs *regs)
{
	static u64 seed = 1867;

	home = *regs;
	*regs = start;
	if (changed)
		native_scramble(regs, &seed);
	native_keep(regs, &home);
	return 0;
}

/* Both ends are nops, as long as a breakpoint. */
static int on_finish(struct kprobe *p __unused, struct pt_regs *regs)
{
	finish = *regs;
	last = *trap_last_repaired();
	*regs = home;
	instruction_pointer_set(regs,
				instruction_pointer(regs) + ARCH_BREAK_SIZE);
	return 0;
}

static struct kprobe ends[] = {
	{ .addr = (unsigned long)native_start,
	  .pre_handler = on_start,
	  .flags = KPROBE_FLAG_CONTROL | KPROBE_FLAG_NO_JUMP },
	{ .addr = (unsigned long)native_finish,
	  .pre_handler = on_finish,
	  .flags = KPROBE_FLAG_CONTROL | KPROBE_FLAG_NO_JUMP },
};

static void load_memory(void)
{
	memcpy(native_memory.stack, before.stack, sizeof(before.stack));
	memcpy(native_memory.data, before.data, sizeof(before.data));
}

static void save_memory(struct native_state *s)
{
	memcpy(s->stack, native_memory.stack, sizeof(s->stack));
	memcpy(s->data, native_memory.data, sizeof(s->data));
}

/* Runs what stands at @pc, @insn in some form, until it traps. */
static void run(unsigned long pc, const struct insn *insn,
		struct native_state *result)
{
	unsigned long irqs = arch_irq_save();

	load_memory();
	start = before.regs;
	instruction_pointer_set(&start, pc);
	native_units_load(&before.units);
	native_start();
	native_units_save(&result->units);
	arch_irq_restore(irqs);
	result->regs = finish;
	instruction_pointer_set(&result->regs, last.pc);
	result->kind = last.kind;
	save_memory(result);
	native_normalise(result, insn);
}

static void random_bytes(u8 *p, size_t n, u64 *seed)
{
	for (; n > 0; n--)
		*p++ = random_next(seed) >> 32;
}

static void random_state(const struct insn *insn, u64 *seed)
{
	memset(&before, 0, sizeof(before));
	random_bytes(before.stack, sizeof(before.stack), seed);
	random_bytes(before.data, sizeof(before.data), seed);
	native_random(&before, insn, seed);
}

/* Comparing ------------------------------------------------------------------ */

static const char *differs(void)
{
	if (native.kind != after.kind)
		return trap_kind_name(after.kind);
	if (memcmp(&native.regs, &after.regs, sizeof(native.regs)))
		return "registers";
	if (memcmp(&native.units, &after.units, sizeof(native.units)))
		return "vectors";
	if (memcmp(native.stack, after.stack, sizeof(native.stack)))
		return "stack";
	if (memcmp(native.data, after.data, sizeof(native.data)))
		return "memory";
	return NULL;
}

static unsigned long offset(const struct cell *cell,
			    const struct native_state *s)
{
	return instruction_pointer(&s->regs) - cell->insn.pc;
}

static void fail(const struct cell *cell, const char *how, const char *what)
{
	char text[3 * ARCH_PATCH_MAX + 1];

	differences++;
	for (unsigned i = 0; i < cell->insn.len; i++)
		snprintf(text + 3 * i, 4, " %02x", cell->insn.bytes[i]);
	FAIL("%s:%s, %s: %s; pc +0x%lx, alone +0x%lx", cell->name, text, how,
	     what, offset(cell, &after), offset(cell, &native));
}

static void compare(const struct cell *cell, const char *how)
{
	const char *what = differs();

	if (what)
		fail(cell, how, what);
}

static void try_copy(const struct cell *cell)
{
	unsigned long pc;

	if (cell->copy_len <= 0)
		return;
	run(cell->copy, &cell->insn, &after);
	pc = instruction_pointer(&after.regs);
	if (pc == cell->copy + (unsigned long)cell->copy_len)
		pc = cell->insn.pc + cell->insn.len;
	else if (pc - cell->copy < (unsigned long)cell->copy_len)
		pc = instruction_pointer(&native.regs); /* a fault */
	instruction_pointer_set(&after.regs, pc);
	relocated++;
	compare(cell, "relocated");
}

static void try_emulation(const struct cell *cell)
{
	struct insn_op op;
	int error;

	load_memory();
	after = before;
	native_keep(&after.regs, &home);
	instruction_pointer_set(&after.regs, cell->insn.pc);
	if (arch_insn_analyse(&cell->insn, &after.regs, &op) == INSN_EMU_NONE)
		return;
	error = arch_insn_apply(&op, &after.regs);
	after.kind = error ? native.kind : TRAP_BREAKPOINT;
	if (error)
		instruction_pointer_set(&after.regs, cell->insn.pc);
	save_memory(&after);
	native_normalise(&after, &cell->insn);
	emulated++;
	compare(cell, "emulated");
}

static u64 digest_of(u64 sum, const void *bytes, size_t n)
{
	for (const u8 *p = bytes; n; n--)
		sum = (sum ^ *p++) * 0x100000001b3;
	return sum;
}

static u64 digest(const struct native_state *s)
{
	u64 sum = 0xcbf29ce484222325;

	sum = digest_of(sum, &s->regs, sizeof(s->regs));
	sum = digest_of(sum, &s->units, sizeof(s->units));
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
		run(cell->insn.pc, &cell->insn, &native);
		faulted += native.kind != TRAP_BREAKPOINT;
		try_copy(cell);
		try_emulation(cell);
		cell->results[i] = digest(&native);
	}
}

/* The same with a probe on the instruction. */
static void run_probed(struct cell *cell, const char *how)
{
	u64 seed = cell->seed;

	changed = true;
	for (unsigned i = 0; i < STATES; i++) {
		random_state(&cell->insn, &seed);
		run(cell->insn.pc, &cell->insn, &after);
		if (digest(&after) != cell->results[i])
			fail(cell, how, trap_kind_name(after.kind));
	}
	changed = false;
}

/* Cells ---------------------------------------------------------------------- */

/* Takes the next encoding of the corpus that can be run; false at its end. */
static bool fill(struct cell *cell, unsigned n, unsigned *next)
{
	unsigned long pc = (unsigned long)&native_area[n][NATIVE_INSN];

	while (*next < native_encodings()) {
		unsigned i = (*next)++;

		if (!native_decode(&cell->insn, i, pc, &cell->name))
			continue;
		cell->copy = (unsigned long)native_copies[n];
		cell->seed = 20240229 + *next;
		return true;
	}
	return false;
}

/* Patches for @size bytes at @at: @len bytes, and breakpoints behind them. */
static struct text_patch *put_patches(struct text_patch *p, u8 *at,
				      const u8 *bytes, int len, unsigned size)
{
	for (unsigned done = 0; done < size; done += p++->len) {
		p->addr = (unsigned long)at + done;
		p->len = min(size - done, (unsigned)ARCH_PATCH_MAX);
		for (unsigned i = 0; i < p->len; i++)
			p->bytes[i] =
				(int)(done + i) < len
					? bytes[done + i]
					: arch_break_insn[i % ARCH_BREAK_SIZE];
	}
	return p;
}

#define PATCHES (1 + DIV_ROUND_UP(INSN_RELOC_MAX, ARCH_PATCH_MAX))

/* Writes @n cells and their copies. */
static int write_cells(unsigned n)
{
	static struct text_patch patches[NATIVE_CELLS * PATCHES];
	struct text_patch *p = patches;

	for (unsigned i = 0; i < n; i++)
		p = put_patches(p, &native_area[i][NATIVE_INSN],
				cells[i].insn.bytes, cells[i].insn.len,
				ARCH_PATCH_MAX);
	for (unsigned i = 0; i < n; i++) {
		u8 copy[INSN_RELOC_MAX];

		cells[i].copy_len = arch_insn_relocate(
			&cells[i].insn, cells[i].copy, copy, sizeof(copy));
		p = put_patches(p, native_copies[i], copy, cells[i].copy_len,
				INSN_RELOC_MAX);
	}
	return text_patch_mode(patches, p - patches, PATCH_STOP);
}

/* Breakpoints again everywhere, as it was built. */
static void clear_cells(void)
{
	for (unsigned i = 0; i < NATIVE_CELLS; i++) {
		cells[i].insn.len = 0;
		cells[i].insn.deny = INSN_DENY_TRAP; /* so it has no copy */
	}
	EXPECT_EQ(write_cells(NATIVE_CELLS), 0);
}

/* Probes --------------------------------------------------------------------- */

/* Each way to probe an instruction, and what became of it. */
static struct way {
	const char *name;
	enum probe_plan plan;
	bool post; /* that has to see each end which is no fault */
	enum opt_mode opt;
	unsigned encodings, jumps, ends;
} ways[] = {
	{ "stepped", PLAN_STEP, true, OPT_OFF, 0, 0, 0 },
	{ "in a slot", PLAN_AUTO, false, OPT_OFF, 0, 0, 0 },
	{ "emulated", PLAN_EMULATE, true, OPT_OFF, 0, 0, 0 },
	{ "by a jump", PLAN_AUTO, false, OPT_EAGER, 0, 0, 0 },
	{ "by a jump, with an end", PLAN_AUTO, true, OPT_EAGER, 0, 0, 0 },
}, *way;

/* What it writes takes effect, whatever way leads here and on. */
static int seen(struct kprobe *p __unused, struct pt_regs *regs)
{
	crooked += (unsigned long)__builtin_frame_address(0) % 16 != 0;
	*regs = start;
	native_keep(regs, &home);
	return 0;
}

static void seen_end(struct kprobe *p __unused, struct pt_regs *regs __unused,
		     unsigned long flags __unused)
{
	way->ends++;
}

static struct kprobe *place(struct kprobe *p, const struct cell *cell)
{
	int err;

	*p = (struct kprobe){ .addr = cell->insn.pc, .pre_handler = seen };
	if (way->post)
		p->post_handler = seen_end;
	err = register_kprobe(p);
	if (!err)
		return p;
	if (way->plan != PLAN_EMULATE || err != -EOPNOTSUPP)
		FAIL("register: %s", kprobe_reason());
	return NULL;
}

static void run_cells_probed(unsigned n)
{
	static struct kprobe probes[NATIVE_CELLS];
	static struct kprobe *placed[NATIVE_CELLS];
	unsigned n_placed = 0;

	EXPECT_EQ(opt_set(OPT_OFF), 0);
	probe_plan_set(way->plan);
	for (unsigned i = 0; i < n; i++) {
		struct kprobe *p = place(&probes[i], &cells[i]);

		if (p)
			placed[n_placed++] = p;
	}
	EXPECT_EQ(opt_set(way->opt), 0);
	for (unsigned i = 0; i < n_placed; i++) {
		way->jumps += kprobe_jump(placed[i]) != JUMP_NONE;
		run_probed(&cells[placed[i] - probes], way->name);
	}
	unregister_kprobes(placed, n_placed);
	probe_plan_set(PLAN_AUTO);
	way->encodings += n_placed;
}

static void run_cells(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		run_plain(&cells[i]);
	for (way = ways; way < ways + ARRAY_SIZE(ways); way++)
		run_cells_probed(n);
}

static void judge(const struct way *w, unsigned encodings)
{
	test_note("%s: %u encodings, %u jumps, %u ends", w->name, w->encodings,
		  w->jumps, w->ends);
	if (w->plan == PLAN_EMULATE)
		EXPECT_GE(w->encodings, native_least.emulated);
	else
		EXPECT_EQ(w->encodings, encodings);
	/* One kind alone, or none, serves whom it serves. */
	if (w->opt == OPT_EAGER && strcmp(opt_wish_name(), "any") == 0)
		EXPECT_GE(w->jumps * 100, encodings * 99);
	if (w->post && w->plan != PLAN_EMULATE)
		EXPECT_EQ(w->ends + faulted, encodings * STATES);
}

TEST(native, copies_emulation_and_probes_do_what_the_processor_does)
{
	struct kprobe *list[] = { &ends[0], &ends[1] };
	enum opt_mode opt = opt_mode();
	unsigned encodings = 0, next = 0, n;

	relocated = emulated = faulted = differences = crooked = 0;
	for (way = ways; way < ways + ARRAY_SIZE(ways); way++)
		way->encodings = way->jumps = way->ends = 0;
	ASSERT_EQ(register_kprobes(list, 2), 0);
	do {
		for (n = 0; n < NATIVE_CELLS; n++)
			if (!fill(&cells[n], n, &next))
				break;
		if (n && write_cells(n) == 0)
			run_cells(n);
		encodings += n;
	} while (n == NATIVE_CELLS);
	clear_cells();
	unregister_kprobes(list, 2);
	EXPECT_EQ(opt_set(opt), 0);
	test_note("%u encodings x %u states: %u differences (%u relocated, %u "
		  "emulated; %u faulted)",
		  encodings, STATES, differences, relocated, emulated, faulted);
	EXPECT_GE(encodings, native_least.encodings);
	EXPECT_EQ(crooked, 0);
	for (unsigned i = 0; i < ARRAY_SIZE(ways); i++)
		judge(&ways[i], encodings);
}
