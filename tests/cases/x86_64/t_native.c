// SPDX-License-Identifier: MIT
/*
 * The processor as referee, in the kernel: an instruction run where it is, its
 * relocated copy, its emulation, and a probe on it must leave the same registers,
 * flags and memory, or fault alike. The instructions are the corpus made from
 * the map.
 *
 * Registers of a test are put in place and taken out by probes: native_area.S.
 * The same corpus runs on the host with vector state, and with stack pointers and
 * addresses of any kind: native_x86_64.c.
 */
#include <arch/cpu.h>
#include <arch/insn.h>
#include <arch/regs.h>
#include <asm/x86.h>
#include <kernel/trap.h>
#include <lib/errno.h>
#include <lib/printf.h>
#include <lib/string.h>
#include <probe/kprobe.h>
#include <probe/patch.h>
#include <probe/site.h>
#include <tests/cases/x86_64/native_area.h>
#include <tests/random.h>
#include <tests/test.h>
#include <gen/insn_corpus.h>

#define STATES 8
#define INT3   0xcc
/* Flags that an instruction may be given, and those that are compared. */
#define FLAGS_GIVEN    0xcd5u
#define FLAGS_COMPARED (FLAGS_GIVEN | X86_FLAGS_IF | X86_FLAGS_TF)

/*
 * rsp points into @stack, which is compared from rsp on: below it are frames of
 * traps, in the end. rbp points into it, too.
 */
static struct {
	u8 below[16384] __aligned(16);
	u8 stack[2048];
	u8 data[4096];
} memory;

#define SP   ((unsigned long)memory.stack + 64)
#define BP   (SP + 1024)
#define DATA ((unsigned long)memory.data + sizeof(memory.data) / 2)

struct state {
	struct pt_regs regs;
	u8 stack[sizeof(memory.stack)];
	u8 data[sizeof(memory.data)];
	enum trap_kind kind; /* at the end: a breakpoint, or a fault */
};

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

static unsigned relocated, emulated, faulted, differences;
static unsigned probed[PLAN_STEP + 1]; /* encodings, by plan */
static unsigned ends_seen[PLAN_STEP + 1];

/* Running -------------------------------------------------------------------- */

static int on_start(struct kprobe *p __unused, struct pt_regs *regs)
{
	home = *regs;
	*regs = start;
	regs->vector = home.vector;
	regs->orig_ax = home.orig_ax;
	regs->cs = home.cs;
	regs->ss = home.ss;
	return 0;
}

static int on_finish(struct kprobe *p __unused, struct pt_regs *regs)
{
	finish = *regs;
	last = *trap_last_repaired();
	*regs = home;
	regs->ip++;
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

static void load_memory(void)
{
	memcpy(memory.stack, before.stack, sizeof(memory.stack));
	memcpy(memory.data, before.data, sizeof(memory.data));
}

/* Without what trap frames overwrote. */
static void save_memory(struct state *s)
{
	unsigned long dead = s->regs.sp - (unsigned long)memory.stack;

	memcpy(s->stack, memory.stack, sizeof(memory.stack));
	memcpy(s->data, memory.data, sizeof(memory.data));
	memset(s->stack, 0, min(dead, sizeof(s->stack)));
}

/* Only what an instruction can change, in a form that can be compared. */
static void normalize(struct pt_regs *regs)
{
	regs->vector = regs->orig_ax = regs->cs = regs->ss = 0;
	regs->flags &= FLAGS_COMPARED;
}

/* Runs what stands at @pc until it traps. */
static void run(unsigned long pc, struct state *result)
{
	unsigned long irqs = arch_irq_save();

	load_memory();
	start = before.regs;
	start.ip = pc;
	native_start();
	arch_irq_restore(irqs);
	result->regs = finish;
	result->regs.ip = last.pc;
	result->kind = last.kind;
	save_memory(result);
	normalize(&result->regs);
}

/*
 * Values of every kind. No sum of two of them is the address of what is not
 * ours, but could be written: large ones are no addresses at all.
 */
static u64 random_value(u64 *seed)
{
	switch (random_below(seed, 6)) {
	case 0:
		return random_below(seed, 3);
	case 1:
		return 0x5000000100000000 + random_below(seed, 2);
	case 2:
		return random_next(seed) >> 4 | 5ull << 60;
	default:
		return DATA - 512 + random_below(seed, 128) * 8;
	}
}

static unsigned long *reg_at(struct pt_regs *regs, unsigned n)
{
	unsigned long *const at[16] = {
		&regs->ax,  &regs->cx,	&regs->dx,  &regs->bx,
		&regs->sp,  &regs->bp,	&regs->si,  &regs->di,
		&regs->r8,  &regs->r9,	&regs->r10, &regs->r11,
		&regs->r12, &regs->r13, &regs->r14, &regs->r15,
	};

	return at[n];
}

/* Wherever the target comes from, it is a breakpoint in the cell. */
static void aim_indirect(const struct insn *insn)
{
	u64 target = insn->pc + 32;
	const struct arch_insn *a = &insn->arch;

	if (!(insn->flags & (INSN_INDIRECT | INSN_RET)))
		return;
	for (unsigned i = 0; i < sizeof(before.stack); i += 8)
		memcpy(before.stack + i, &target, 8);
	for (unsigned i = 0; i < sizeof(before.data); i += 8)
		memcpy(before.data + i, &target, 8);
	if (a->modrm_off && X86_MOD(a) == 3)
		*reg_at(&before.regs, X86_RM(a) | (a->rex & X86_REX_B)
							  << 3) = target;
}

static void random_state(const struct insn *insn, u64 *seed)
{
	struct pt_regs *regs = &before.regs;
	unsigned i;

	memset(&before, 0, sizeof(before));
	for (i = 0; i < 16; i++)
		*reg_at(regs, i) = random_value(seed);
	regs->sp = SP + random_below(seed, 2) * 8;
	regs->bp = BP;
	if (insn->flags & INSN_REP_STRING)
		regs->cx = random_below(seed, 16);
	regs->flags = (random_next(seed) & FLAGS_GIVEN) | X86_FLAGS_FIXED;
	for (i = 0; i < sizeof(before.data); i++)
		before.data[i] = random_next(seed) >> 32;
	for (i = 0; i < sizeof(before.stack); i++)
		before.stack[i] = random_next(seed) >> 32;
	if (insn->flags & INSN_FLAGS_POP) {
		u64 flags = (random_next(seed) & FLAGS_GIVEN) | X86_FLAGS_FIXED;

		for (i = 0; i < sizeof(before.stack); i += 8)
			memcpy(before.stack + i, &flags, 8);
	}
	aim_indirect(insn);
}

/* Comparing ------------------------------------------------------------------ */

static const char *differs(void)
{
	if (native.kind != after.kind)
		return trap_kind_name(after.kind);
	if (native.regs.ip != after.regs.ip)
		return "pc";
	if (native.regs.flags != after.regs.flags)
		return "flags";
	if (memcmp(&native.regs, &after.regs, sizeof(native.regs)))
		return "registers";
	if (memcmp(native.stack, after.stack, sizeof(native.stack)))
		return "stack";
	if (memcmp(native.data, after.data, sizeof(native.data)))
		return "memory";
	return NULL;
}

static void fail(const struct cell *cell, const char *how, const char *what)
{
	differences++;
	char text[3 * ARCH_INSN_MAX + 1];

	for (unsigned i = 0; i < cell->insn.len; i++)
		snprintf(text + 3 * i, 4, " %02x", cell->insn.bytes[i]);
	FAIL("%s:%s, %s: %s; pc +%lld, should be +%lld", cell->name, text, how,
	     what, (s64)(after.regs.ip - cell->insn.pc),
	     (s64)(native.regs.ip - cell->insn.pc));
}

static void compare(const struct cell *cell, const char *how)
{
	const char *what = differs();

	if (what)
		fail(cell, how, what);
}

static void try_copy(const struct cell *cell)
{
	const struct insn *insn = &cell->insn;

	if (cell->copy_len <= 0)
		return;
	run(cell->copy, &after);
	if (after.regs.ip == cell->copy + cell->copy_len)
		after.regs.ip = insn->pc + insn->len;
	else if (after.regs.ip - cell->copy < (unsigned long)cell->copy_len)
		after.regs.ip = native.regs.ip; /* a fault */
	relocated++;
	compare(cell, "relocated");
}

static void try_emulation(const struct cell *cell)
{
	struct insn_op op;
	int error;

	load_memory();
	after.regs = before.regs;
	after.regs.cs = home.cs;
	after.regs.ip = cell->insn.pc;
	if (arch_insn_analyse(&cell->insn, &after.regs, &op) == INSN_EMU_NONE)
		return;
	error = arch_insn_apply(&op, &after.regs);
	after.kind = error ? native.kind : TRAP_BREAKPOINT;
	save_memory(&after);
	normalize(&after.regs);
	emulated++;
	compare(cell, "emulated");
}

static u64 digest_of(u64 sum, const void *bytes, size_t n)
{
	for (const u8 *p = bytes; n; n--)
		sum = (sum ^ *p++) * 0x100000001b3;
	return sum;
}

static u64 digest(const struct state *s)
{
	u64 sum = 0xcbf29ce484222325;

	sum = digest_of(sum, &s->regs, sizeof(s->regs));
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
		if (digest(&after) != cell->results[i])
			fail(cell, "probed", trap_kind_name(after.kind));
	}
}

/* Cells ---------------------------------------------------------------------- */

/*
 * May it leave in rsp what is no stack? Then the breakpoint behind it would have
 * no place for its frame. Group opcodes have no register in ModRM.reg.
 */
static bool may_lose_stack(const struct insn *insn)
{
	const struct arch_insn *a = &insn->arch;
	bool high = a->rex & X86_REX_B;

	if (!a->modrm_off)
		return (a->opcode & 7) == 4 && !high && a->opcode != 0x54 &&
		       !(insn->flags & INSN_BRANCH_REL);
	if (X86_REG(a) == 4 && !(a->rex & X86_REX_R))
		return true;
	return a->space > X86_3DNOW || (X86_MOD(a) == 3 && X86_RM(a) == 4);
}

/* Why the kernel must not run it, or NULL. */
static const char *not_here(const struct insn *insn)
{
	const struct arch_insn *a = &insn->arch;
	bool bit_string = a->space == X86_0F && (a->opcode & 0xc7) == 0x83 &&
			  (a->opcode & 0x20);

	if (insn->flags & INSN_FPVEC)
		return "vector state is run on the host";
	if (may_lose_stack(insn))
		return "may take the stack away from the trap";
	if (a->space == X86_LEGACY && a->opcode == 0xc8 &&
	    insn->bytes[a->imm_off])
		return "enter leaves a hole that keeps what a trap left there";
	if (bit_string && insn->flags & INSN_MEM)
		return "its bit number reaches what is not the test's";
	if (insn->flags & INSN_INDIRECT && a->modrm_off && X86_MOD(a) == 3 &&
	    (X86_RM(a) == 4 || X86_RM(a) == 5) && !(a->rex & X86_REX_B))
		return "would jump to the stack";
	return insn->deny ? insn_deny_reason(insn->deny) : NULL;
}

static void put(u8 *at, u64 value, unsigned size)
{
	memcpy(at, &value, size); /* the low bytes */
}

/* Operands to our data, branches to a breakpoint in the same cell. */
static void aim(u8 *code, const struct insn *insn)
{
	const struct arch_insn *a = &insn->arch;

	if (insn->flags & INSN_BRANCH_REL)
		put(code + a->imm_off, 40 - insn->len, a->imm_size);
	else if (insn->flags & (INSN_PC_MEM | INSN_PC_READ))
		put(code + a->disp_off, DATA - (insn->pc + insn->len), 4);
	else if (insn->flags & INSN_MEM && !a->modrm_off)
		put(code + a->imm_off, DATA, a->imm_size);
}

/* Takes the next encoding of the corpus that can be run; false at its end. */
static bool fill(struct cell *cell, unsigned n, unsigned *next)
{
	unsigned long pc = (unsigned long)&native_area[n][NATIVE_CELL_INSN];

	for (; *next < ARRAY_SIZE(insn_corpus); ++*next) {
		unsigned len = insn_corpus[*next].len;
		u8 code[ARCH_INSN_MAX];

		memcpy(code, insn_corpus[*next].bytes, sizeof(code));
		if (arch_insn_decode(&cell->insn, code, len, pc))
			continue;
		aim(code, &cell->insn);
		if (arch_insn_decode(&cell->insn, code, len, pc) ||
		    not_here(&cell->insn))
			continue;
		cell->name = insn_corpus_names[*next];
		cell->copy = (unsigned long)native_copies[n];
		cell->seed = 20240229 + ++*next;
		return true;
	}
	return false;
}

/* Patches of at most ARCH_PATCH_MAX bytes for @size bytes at @at. */
static struct text_patch *put_patches(struct text_patch *p, u8 *at,
				      const u8 *bytes, int len, unsigned size)
{
	for (unsigned done = 0; done < size; done += p++->len) {
		p->addr = (unsigned long)at + done;
		p->len = min(size - done, (unsigned)ARCH_PATCH_MAX);
		for (unsigned i = 0; i < p->len; i++)
			p->bytes[i] = (int)(done + i) < len ? bytes[done + i]
							    : INT3;
	}
	return p;
}

#define PATCHES (1 + DIV_ROUND_UP(INSN_RELOC_MAX, ARCH_PATCH_MAX))

/* Writes @n cells and their copies, and breakpoints behind what is short. */
static int write_cells(unsigned n)
{
	static struct text_patch patches[NATIVE_CELLS * PATCHES];
	struct text_patch *p = patches;

	for (unsigned i = 0; i < n; i++)
		p = put_patches(p, &native_area[i][NATIVE_CELL_INSN],
				cells[i].insn.bytes, cells[i].insn.len,
				ARCH_INSN_MAX);
	for (unsigned i = 0; i < n; i++) {
		u8 copy[INSN_RELOC_MAX];

		cells[i].copy_len = arch_insn_relocate(
			&cells[i].insn, cells[i].copy, copy, sizeof(copy));
		p = put_patches(p, native_copies[i], copy, cells[i].copy_len,
				INSN_RELOC_MAX);
	}
	return text_patch_mode(patches, p - patches, PATCH_STOP);
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

/* Breakpoints again everywhere, as it was built. */
static void clear_cells(void)
{
	for (unsigned i = 0; i < NATIVE_CELLS; i++) {
		cells[i].insn.len = 0;
		cells[i].insn.deny =
			INSN_DENY_TRAP; /* so that it has no copy */
	}
	EXPECT_EQ(write_cells(NATIVE_CELLS), 0);
}

TEST(native, copies_emulation_and_probes_do_what_the_processor_does)
{
	struct kprobe *list[] = { &ends[0], &ends[1] };
	unsigned encodings = 0, next = 0, n;

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
	test_note("%u encodings x %u states: %u differences (%u relocated, %u "
		  "emulated, with probes %u; %u faulted)",
		  encodings, STATES, differences, relocated, emulated,
		  probed[PLAN_EMULATE] * STATES, faulted);
	for (unsigned i = 0; i < ARRAY_SIZE(insn_corpus_left_out); i++)
		test_note("left out: %s: %s", insn_corpus_left_out[i].name,
			  insn_corpus_left_out[i].why);
	EXPECT_GE(encodings, 1500);
	EXPECT_GT(emulated, 3000);
	EXPECT_EQ(ends_seen[PLAN_STEP] + faulted, encodings * STATES);
	EXPECT_GT(ends_seen[PLAN_EMULATE], 1500);
	EXPECT_EQ(probed[PLAN_STEP], encodings);
	EXPECT_EQ(probed[PLAN_AUTO], encodings);
	EXPECT_GT(probed[PLAN_EMULATE], 300);
}
