// SPDX-License-Identifier: MIT
/*
 * The host's own processor as referee: an instruction run where it is, its
 * relocated copy, near and far, and its emulation must leave the same
 * registers, flags and memory, or fault alike.
 *
 * Code pages are filled with int3. To run code with given registers, a signal
 * handler replaces its own context; the int3 or fault at the end raises another
 * signal, whose context is the result.
 *
 *	text	0x10000000	the instruction in the middle, int3 around it
 *	near	0x18000000	its copy in reach
 *	far	0x7000_0000_0000 its copy out of reach
 *	data	0x20000000	random values; pointers point in here; targets
 *				of indirect branches in it point into text
 *	stack	0x30000000
 *
 * Vector state goes the same way: x87, xmm and the upper halves of ymm are set
 * and compared, what lies above them is zero at the start.
 */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include <arch/insn.h>
#include <arch/uaccess.h>
#include <frame.h>
#include <lib/errno.h>
#include "../../test.h"
#include "../ours.h"
#include <gen/insn_corpus.h>

#define TEXT  0x10000000ul
#define NEAR  0x18000000ul
#define FAR   0x700000000000ul
#define DATA  0x20000000ul
#define STACK 0x30000000ul
#define SIZE  0x10000ul /* of the code areas */
#define RAM   0x2000ul	/* of data and stack */
#define PC    (TEXT + SIZE / 2)
#define RF    (1ul << 16)

/* Those that a signal handler may set; not AC: we would fault ourselves. */
#define FLAGS 0xcd5ul

/* The layout of a signal's vector state (SDM 1 13.4). */
struct vectors {
	u16 fcw, fsw;
	u8 ftw, reserved;
	u8 pointers[18]; /* of the last x87 instruction */
	u32 mxcsr, mxcsr_mask;
	u8 st[8][16];
	u8 xmm[16][16];
	u8 unused[96];
	u64 present; /* XSTATE_BV, if the context has it at all */
	u64 header[7];
	u8 ymm_high[16][16];
};

#define VECTORS_LEGACY offsetof(struct vectors, unused)
#define XSTATE_MAGIC   0x46505853 /* at byte 464 */

struct state {
	struct pt_regs regs;
	struct vectors vectors;
	u8 data[RAM], stack[RAM];
	int signal; /* SIGTRAP, or that of a fault */
};

static struct pt_regs start, finish;
static struct vectors vectors_start, vectors_finish, vectors_home;
static ucontext_t home;
static int final_signal;
static enum { IDLE, STARTING, RUNNING } phase;
static u64 seed = 20240229;

/* Host memory that exists is what we mapped. */
size_t arch_copy_safe(void *dst, const void *src, size_t n)
{
	u64 a = (u64)dst, b = (u64)src;
	bool a_ours = a - DATA <= RAM - n || a - STACK <= RAM - n;
	bool b_ours = b - DATA <= RAM - n || b - STACK <= RAM - n ||
		      b - TEXT <= SIZE - n;

	/* One of the two is a variable of emulate.c. */
	if (!a_ours && !b_ours)
		return n;
	memcpy(dst, src, n);
	return 0;
}

/* The fields of struct pt_regs and their names in a signal's context. */
static const struct {
	u16 offset, greg;
} registers[] = {
/* clang-format off */
#define REG(field, greg) { offsetof(struct pt_regs, field), greg }
	REG(ax, REG_RAX), REG(bx, REG_RBX), REG(cx, REG_RCX), REG(dx, REG_RDX),
	REG(si, REG_RSI), REG(di, REG_RDI), REG(bp, REG_RBP), REG(sp, REG_RSP),
	REG(r8, REG_R8), REG(r9, REG_R9), REG(r10, REG_R10), REG(r11, REG_R11),
	REG(r12, REG_R12), REG(r13, REG_R13), REG(r14, REG_R14),
	REG(r15, REG_R15), REG(ip, REG_RIP), REG(flags, REG_EFL),
#undef REG
	/* clang-format on */
};

static unsigned long *field_of(struct pt_regs *regs, unsigned i)
{
	return (void *)((char *)regs + registers[i].offset);
}

static bool is_extended(const struct vectors *context)
{
	u32 magic;

	memcpy(&magic, (const u8 *)context + 464, 4);
	return magic == XSTATE_MAGIC;
}

/* x87 and xmm are given; everything else begins as zero. */
static void vectors_load(struct vectors *context, const struct vectors *from)
{
	u32 mask = context->mxcsr_mask;

	memcpy(context, from, VECTORS_LEGACY);
	context->mxcsr_mask = mask;
	if (is_extended(context))
		context->present = 3;
}

static void vectors_save(struct vectors *to, const struct vectors *context)
{
	memcpy(to, context, VECTORS_LEGACY);
	memset(to->pointers, 0, sizeof(to->pointers));
	to->mxcsr_mask = 0;
	memset(to->ymm_high, 0, sizeof(to->ymm_high));
	if (is_extended(context) && context->present & 4)
		memcpy(to->ymm_high, context->ymm_high, sizeof(to->ymm_high));
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *gregs = uc->uc_mcontext.gregs;
	struct vectors *vectors = (void *)uc->uc_mcontext.fpregs;

	(void)info;
	if (phase == STARTING) {
		home = *uc;
		memcpy(&vectors_home, vectors, VECTORS_LEGACY);
		for (unsigned i = 0; i < ARRAY_SIZE(registers); i++)
			gregs[registers[i].greg] = *field_of(&start, i);
		vectors_load(vectors, &vectors_start);
		phase = RUNNING;
		return;
	}
	if (phase == IDLE) {
		signal(number, SIG_DFL);
		return;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(registers); i++)
		*field_of(&finish, i) = gregs[registers[i].greg];
	if (number == SIGTRAP)
		finish.ip--; /* the int3 */
	finish.flags &= ~RF; /* set in the image of a fault */
	final_signal = number;
	phase = IDLE;
	vectors_save(&vectors_finish, vectors);
	vectors_load(vectors, &vectors_home);
	memcpy(gregs, home.uc_mcontext.gregs, sizeof(home.uc_mcontext.gregs));
}

static bool set_up(void)
{
	static const struct {
		unsigned long va, size;
	} maps[] = {
		{ TEXT, SIZE }, { NEAR, SIZE }, { FAR, SIZE },
		{ DATA, RAM },	{ STACK, RAM },
	};
	static u8 signal_stack[65536];
	stack_t ss = { .ss_sp = signal_stack, .ss_size = sizeof(signal_stack) };
	struct sigaction action = {
		.sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
	};
	static const int signals[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGILL,
				       SIGFPE };
	static bool done;

	if (done)
		return true;
	for (unsigned i = 0; i < ARRAY_SIZE(maps); i++)
		if (mmap((void *)maps[i].va, maps[i].size,
			 PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			 0) == MAP_FAILED)
			return false;
	sigaltstack(&ss, NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &action, NULL);
	return done = true;
}

static void load_memory(const struct state *state)
{
	memcpy((void *)DATA, state->data, RAM);
	memcpy((void *)STACK, state->stack, RAM);
}

static void save_memory(struct state *state)
{
	memcpy(state->data, (void *)DATA, RAM);
	memcpy(state->stack, (void *)STACK, RAM);
}

/* Runs what stands at @pc until it traps. */
static void run(u64 pc, const struct state *before, struct state *after)
{
	load_memory(before);
	start = before->regs;
	start.ip = pc;
	vectors_start = before->vectors;
	phase = STARTING;
	__asm__ volatile("int3"
			 :
			 :
			 : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
			   "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
			   "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	*after = *before;
	after->regs = finish;
	after->vectors = vectors_finish;
	after->signal = final_signal;
	save_memory(after);
}

/* Fills a code area with int3 and puts @code in its middle. */
static void place(u64 area, const u8 *code, unsigned n)
{
	mprotect((void *)area, SIZE, PROT_READ | PROT_WRITE);
	memset((void *)area, 0xcc, SIZE);
	memcpy((void *)(area + SIZE / 2), code, n);
	mprotect((void *)area, SIZE, PROT_READ | PROT_EXEC);
}

/* Values of every kind: small, huge, pointers to data and text. */
static u64 random_value(void)
{
	switch (random_below(&seed, 8)) {
	case 0:
		return random_below(&seed, 3);
	case 1:
		return 0x100000000ull + random_below(&seed, 2);
	case 2:
		return random_next(&seed);
	case 3:
		return (u32)random_next(&seed);
	case 4:
		return TEXT + SIZE / 4 + random_below(&seed, SIZE / 2);
	default:
		return DATA + RAM / 2 - 512 + random_below(&seed, 128) * 8;
	}
}

/* Numbers of all precisions, integers, and noise. */
static void random_vector(u8 *vector)
{
	for (unsigned i = 0; i < 16; i += 8) {
		float pair[2] = { random_below(&seed, 1000) / 8.0f, -3.5f };
		double one = random_below(&seed, 100000) / -64.0;
		u64 noise = random_value();

		switch (random_below(&seed, 3)) {
		case 0:
			memcpy(vector + i, pair, 8);
			break;
		case 1:
			memcpy(vector + i, &one, 8);
			break;
		default:
			memcpy(vector + i, &noise, 8);
		}
	}
}

static void random_vectors(struct vectors *vectors)
{
	vectors->fcw = 0x37f;
	vectors->ftw = random_below(&seed, 2) ? 0xff : 0x0f;
	vectors->mxcsr = 0x1f80;
	for (unsigned i = 0; i < 16; i++)
		random_vector(vectors->xmm[i]);
	for (unsigned i = 0; i < 8; i++) {
		long double number = random_below(&seed, 1000) / 16.0L - 20;

		if (vectors->ftw >> i & 1)
			memcpy(vectors->st[i], &number, 10);
	}
}

static void random_state(struct state *state)
{
	u64 *data = (u64 *)state->data, *stack = (u64 *)state->stack;

	memset(state, 0, sizeof(*state));
	for (unsigned i = 0; i < ARRAY_SIZE(registers); i++)
		*field_of(&state->regs, i) = random_value();
	state->regs.sp = STACK + RAM / 2 + random_below(&seed, 16) * 8;
	state->regs.flags = (random_next(&seed) & FLAGS) | 0x202;
	random_vectors(&state->vectors);
	for (unsigned i = 0; i < RAM / 8; i++) {
		data[i] = random_value();
		stack[i] = random_below(&seed, 2) ? random_value() : data[i];
	}
}

/* popf must find flags that a program may set, on all of the stack. */
static void random_flags_on_stack(struct state *state)
{
	u64 *stack = (u64 *)state->stack;

	for (unsigned i = 0; i < RAM / 8; i++)
		stack[i] = (random_next(&seed) & FLAGS) | 0x202;
}

static const char *differs(const struct state *a, const struct state *b,
			   u64 below)
{
	if (a->signal != b->signal)
		return "signal";
	for (unsigned i = 0; i < ARRAY_SIZE(registers); i++)
		if (*field_of((struct pt_regs *)&a->regs, i) !=
		    *field_of((struct pt_regs *)&b->regs, i))
			return "registers";
	if (memcmp(&a->vectors, &b->vectors, sizeof(a->vectors)))
		return "vectors";
	if (memcmp(a->data, b->data, sizeof(a->data)))
		return "data";
	/* Below the stack only the relocated call may have written. */
	for (unsigned i = 0; i < RAM / 8; i++) {
		u64 va = STACK + i * 8;

		if (va + 8 == below)
			continue;
		if (memcmp(a->stack + i * 8, b->stack + i * 8, 8))
			return "stack";
	}
	return NULL;
}

static void say(const char *what, const char *how, const u8 *code, unsigned n,
		const struct state *a, const struct state *b)
{
	char text[64], *at = text;

	for (unsigned i = 0; i < n; i++)
		at += sonde_snprintf(at, 4, " %02x", code[i]);
	FAIL("%s: %s differ:%s", how, what, text);
	for (unsigned i = 0; i < ARRAY_SIZE(registers); i++)
		if (*field_of((struct pt_regs *)&a->regs, i) !=
		    *field_of((struct pt_regs *)&b->regs, i))
			test_note("register %u: %lx, should be %lx", i,
				  *field_of((struct pt_regs *)&b->regs, i),
				  *field_of((struct pt_regs *)&a->regs, i));
	if (a->signal != b->signal)
		test_note("signal %d, should be %d", b->signal, a->signal);
}

/* What was done, for the corpus. */
static struct {
	unsigned relocated, emulated, faults, unknown, refused;
} total;

/* A relocated copy; its end stands for the byte after the original. */
struct copy {
	const char *how;
	u64 slot;
	int n; /* bytes, or why there is none */
};

static void place_copy(struct copy *copy, const struct insn *insn, u64 area,
		       const char *how)
{
	u8 code[INSN_RELOC_MAX];

	copy->how = how;
	copy->slot = area + SIZE / 2;
	copy->n = arch_insn_relocate(insn, copy->slot, code, sizeof(code));
	if (copy->n >= 0)
		place(area, code, copy->n);
	else if (area != FAR || copy->n != -ERANGE)
		FAIL("%s: no relocated copy: %d", how, copy->n);
}

/* What the copy makes of it, seen as if it stood at the original's place. */
static void run_copy(const struct insn *insn, const struct copy *copy,
		     const struct state *before, const struct state *native,
		     struct state *after)
{
	run(copy->slot, before, after);
	if (after->regs.ip == copy->slot + copy->n)
		after->regs.ip = insn->pc + insn->len;
	/* A fault may be reported anywhere in the copy. */
	if (after->signal != SIGTRAP &&
	    after->regs.ip - copy->slot < (u64)copy->n)
		after->regs.ip = native->regs.ip;
}

static void try_relocated(const struct insn *insn, const struct copy *copy,
			  const struct state *before,
			  const struct state *native)
{
	const char *what = NULL;
	struct state after;

	if (copy->n < 0)
		return;
	total.relocated++;
	/* Once in 10^5 times a virtual host calls an int3 an illegal one. */
	for (unsigned attempt = 0; attempt < 2; attempt++) {
		run_copy(insn, copy, before, native, &after);
		/* A call of what is no address pushes first: reloc.c. */
		if (insn->flags & INSN_CALL && native->signal == SIGSEGV &&
		    after.signal == SIGSEGV)
			return;
		what = differs(native, &after, native->regs.sp);
		if (!what)
			return;
	}
	say(what, copy->how, insn->bytes, insn->len, native, &after);
}

static void try_emulated(const struct insn *insn, const struct state *before,
			 const struct state *native)
{
	struct state after = *before;
	enum insn_emu offer;
	struct insn_op op;
	const char *what;
	int error;

	load_memory(before);
	after.regs.cs = 0x10;
	after.regs.ip = insn->pc;
	offer = arch_insn_analyse(insn, &after.regs, &op);
	if (offer == INSN_EMU_NONE)
		return;
	error = arch_insn_apply(&op, &after.regs);
	after.signal = SIGTRAP;
	if (error) {
		EXPECT_EQ(error, -EFAULT);
		after.signal = native->signal;
		EXPECT_NE(native->signal, SIGTRAP);
	}
	/* The jump was made and its target cannot be fetched. */
	if (!error && native->signal == SIGSEGV &&
	    after.regs.ip == native->regs.ip)
		after.signal = SIGSEGV;
	save_memory(&after);
	total.emulated++;
	what = differs(native, &after, 0);
	if (what)
		say(what, "emulated", insn->bytes, insn->len, native, &after);
}

#define STATES 8

static void check_states(const struct insn *insn)
{
	struct state before, native;
	struct copy near, far;

	place(TEXT, insn->bytes, insn->len);
	place_copy(&near, insn, NEAR, "near");
	place_copy(&far, insn, FAR, "far");
	for (unsigned i = 0; i < STATES; i++) {
		random_state(&before);
		if (insn->flags & INSN_FLAGS_POP)
			random_flags_on_stack(&before);
		run(PC, &before, &native);
		if (native.signal != SIGTRAP)
			total.faults++;
		if (native.signal == SIGILL) {
			total.unknown++;
			return;
		}
		try_relocated(insn, &near, &before, &native);
		try_relocated(insn, &far, &before, &native);
		try_emulated(insn, &before, &native);
	}
}

static void check(const u8 *code, unsigned n)
{
	struct insn insn;

	ASSERT_TRUE(set_up());
	ASSERT_EQ(arch_insn_decode(&insn, code, n, PC), 0);
	EXPECT_EQ(insn.len, n);
	total.emulated = 0;
	check_states(&insn);
}

#define CHECK(...) \
	check((const u8[]){ __VA_ARGS__ }, sizeof((u8[]){ __VA_ARGS__ }))
#define CHECK_EMULATED(...)                   \
	do {                                  \
		CHECK(__VA_ARGS__);           \
		EXPECT_GT(total.emulated, 0); \
	} while (0)

TEST(native, the_harness_sees_a_difference)
{
	struct state before, a, b;

	ASSERT_TRUE(set_up());
	random_state(&before);
	before.regs.ax = 1;
	place(TEXT, (const u8[]){ 0xff, 0xc0 }, 2); /* inc %eax */
	run(PC, &before, &a);
	EXPECT_EQ(a.regs.ax, 2);
	EXPECT_EQ(a.regs.ip, PC + 2);
	EXPECT_EQ(a.signal, SIGTRAP);
	place(TEXT, (const u8[]){ 0xff, 0xc8 }, 2);
	run(PC, &before, &b);
	EXPECT_STREQ(differs(&a, &b, 0), "registers");
	place(TEXT, (const u8[]){ 0x0f, 0x58, 0xca }, 3); /* addps */
	run(PC, &before, &b);
	before.regs.ip = b.regs.ip;
	b.regs.ax = before.regs.ax;
	EXPECT_EQ(b.signal, SIGTRAP);
	before.signal = SIGTRAP;
	EXPECT_STREQ(differs(&before, &b, 0), "vectors");
}

TEST(native, calls_return_to_the_original)
{
	CHECK_EMULATED(0xe8, 0x10, 0, 0, 0);
	CHECK_EMULATED(0xe8, 0xf0, 0xff, 0xff, 0xff);
	CHECK_EMULATED(0x66, 0x66, 0x48, 0xe8, 0x10, 0, 0, 0);
	CHECK_EMULATED(0xff, 0xd0);		      /* *%rax */
	CHECK_EMULATED(0x41, 0xff, 0xd4);	      /* *%r12 */
	CHECK_EMULATED(0xf2, 0xff, 0xd1);	      /* bnd *%rcx */
	CHECK_EMULATED(0x3e, 0xff, 0xd2);	      /* notrack *%rdx */
	CHECK_EMULATED(0xff, 0x10);		      /* *(%rax) */
	CHECK_EMULATED(0xff, 0x15, 0x00, 0, 0, 0x10); /* *data(%rip) */
}

TEST(native, call_operands_relative_to_rsp_are_read_before_the_push)
{
	CHECK_EMULATED(0xff, 0xd4);		/* *%rsp */
	CHECK_EMULATED(0xff, 0x14, 0x24);	/* *(%rsp) */
	CHECK_EMULATED(0xff, 0x54, 0x24, 0x08); /* *8(%rsp) */
	CHECK_EMULATED(0xff, 0x54, 0x24, 0xf8); /* *-8(%rsp) */
	CHECK_EMULATED(0xff, 0x54, 0xc4, 0x08); /* *8(%rsp,%rax,8) */
}

TEST(native, returns_and_absolute_jumps_need_no_fix_up)
{
	CHECK_EMULATED(0xc3);
	CHECK_EMULATED(0xf3, 0xc3);
	CHECK_EMULATED(0x36, 0xc3);
	CHECK_EMULATED(0xc2, 0x08, 0x00);
	CHECK_EMULATED(0xff, 0xe0);
	CHECK_EMULATED(0xff, 0xe4);
	CHECK_EMULATED(0xff, 0x25, 0x00, 0, 0, 0x10);
	CHECK_EMULATED(0xff, 0x64, 0x24, 0x08);
	CHECK(0xff, 0x24, 0xc5, 0, 0x10, 0, 0x20);
}

TEST(native, jumps_go_where_they_went)
{
	CHECK_EMULATED(0xeb, 0x10);
	CHECK_EMULATED(0xeb, 0xf0);
	CHECK_EMULATED(0xe9, 0x10, 0x01, 0, 0);
	CHECK_EMULATED(0x2e, 0x75, 0x02);
	for (unsigned cc = 0; cc < 16; cc++) {
		CHECK_EMULATED(0x70 | cc, 0x20);
		CHECK_EMULATED(0x0f, 0x80 | cc, 0x10, 0x01, 0, 0);
	}
}

TEST(native, loops_count_as_wide_as_their_address)
{
	for (unsigned op = 0xe0; op < 0xe4; op++) {
		CHECK_EMULATED(op, 0x10);
		CHECK_EMULATED(0x67, op, 0x10);
		CHECK_EMULATED(op, 0xf0);
	}
}

TEST(native, flags_on_the_stack_are_the_programs)
{
	CHECK_EMULATED(0x9c);
	CHECK_EMULATED(0x66, 0x9c);
	CHECK_EMULATED(0x9d);
	CHECK_EMULATED(0x66, 0x9d);
	CHECK_EMULATED(0x48, 0x9d);
}

TEST(native, single_flags)
{
	CHECK_EMULATED(0xf5);
	CHECK_EMULATED(0xf8);
	CHECK_EMULATED(0xf9);
	CHECK_EMULATED(0xfc);
	CHECK_EMULATED(0xfd);
}

TEST(native, pushes_and_pops)
{
	for (unsigned reg = 0; reg < 8; reg++) {
		CHECK_EMULATED(0x50 | reg);
		CHECK_EMULATED(0x58 | reg);
		CHECK_EMULATED(0x41, 0x50 | reg);
		CHECK_EMULATED(0x41, 0x58 | reg);
		CHECK_EMULATED(0x66, 0x50 | reg);
		CHECK_EMULATED(0x66, 0x58 | reg);
		CHECK_EMULATED(0xff, 0xf0 | reg);
		CHECK_EMULATED(0x8f, 0xc0 | reg);
	}
	CHECK_EMULATED(0x6a, 0x01);
	CHECK_EMULATED(0x6a, 0xff);
	CHECK_EMULATED(0x66, 0x6a, 0xff);
	CHECK_EMULATED(0x68, 0x78, 0x56, 0x34, 0x92);
	CHECK_EMULATED(0x66, 0x68, 0x78, 0x56);
	CHECK_EMULATED(0xff, 0x74, 0x24, 0x10);
	CHECK_EMULATED(0xff, 0x33);
	CHECK_EMULATED(0x66, 0xff, 0x33);
	CHECK_EMULATED(0x8f, 0x04, 0x24);
	CHECK_EMULATED(0x8f, 0x44, 0x24, 0x10);
	CHECK_EMULATED(0x8f, 0x03);
	CHECK_EMULATED(0xc9);
}

TEST(native, moves)
{
	for (unsigned op = 0x88; op < 0x8c; op++) {
		for (unsigned reg = 0; reg < 8; reg++) {
			CHECK_EMULATED(op, 0xc3 | reg << 3);
			CHECK_EMULATED(0x40, op, 0xc6 | reg << 3);
			CHECK_EMULATED(0x4d, op, 0xc7 | reg << 3);
			CHECK_EMULATED(0x66, op, 0xc1 | reg << 3);
			CHECK_EMULATED(op, 0x03 | reg << 3);
			CHECK_EMULATED(0x48, op, 0x44 | reg << 3, 0x24, 0x18);
			CHECK_EMULATED(0x66, op, 0x43 | reg << 3, 0xf0);
			CHECK(0x67, op, 0x84 | reg << 3, 0x83, 0x10, 0, 0, 0);
			CHECK_EMULATED(0x4c, op, 0x05 | reg << 3, 0, 0, 0,
				       0x10);
		}
	}
	for (unsigned reg = 0; reg < 8; reg++) {
		CHECK_EMULATED(0xb0 | reg, 0x5a);
		CHECK_EMULATED(0x41, 0xb0 | reg, 0x5a);
		CHECK_EMULATED(0xb8 | reg, 1, 2, 3, 0x84);
		CHECK_EMULATED(0x66, 0xb8 | reg, 1, 0x82);
		CHECK_EMULATED(0x49, 0xb8 | reg, 1, 2, 3, 4, 5, 6, 7, 8);
		CHECK_EMULATED(0xc6, 0xc0 | reg, 0x99);
		CHECK_EMULATED(0x48, 0xc7, 0xc0 | reg, 1, 2, 3, 0x84);
	}
	CHECK_EMULATED(0xc6, 0x03, 0x99);
	CHECK_EMULATED(0xc7, 0x03, 1, 2, 3, 0x84);
	CHECK_EMULATED(0x48, 0xc7, 0x03, 1, 2, 3, 0x84);
	CHECK_EMULATED(0x66, 0xc7, 0x03, 1, 0x82);
	CHECK_EMULATED(0xc7, 0x05, 0, 0, 0, 0x10, 1, 2, 3, 0x84);
}

TEST(native, addresses)
{
	CHECK_EMULATED(0x48, 0x8d, 0x05, 0x10, 0, 0, 0);
	CHECK_EMULATED(0x8d, 0x05, 0x10, 0, 0, 0);
	CHECK_EMULATED(0x66, 0x8d, 0x05, 0x10, 0, 0, 0);
	CHECK_EMULATED(0x67, 0x48, 0x8d, 0x05, 0x10, 0, 0, 0);
	CHECK_EMULATED(0x4c, 0x8d, 0x3d, 0x10, 0, 0, 0);
	for (unsigned sib = 0; sib < 256; sib += 5) {
		CHECK_EMULATED(0x48, 0x8d, 0x44, sib, 0x80);
		CHECK_EMULATED(0x4b, 0x8d, 0x84, sib, 1, 2, 3, 0x84);
		if ((sib & 7) != 5)
			CHECK_EMULATED(0x67, 0x46, 0x8d, 0x04, sib);
		else
			CHECK_EMULATED(0x48, 0x8d, 0x04, sib, 1, 2, 3, 4);
	}
}

TEST(native, pc_relative_operands_with_immediates)
{
	CHECK(0x80, 0x05, 0, 0, 0, 0x10, 0x11);
	CHECK(0x81, 0x05, 0, 0, 0, 0x10, 0x11, 0x22, 0x33, 0x44);
	CHECK(0x66, 0x81, 0x05, 0, 0, 0, 0x10, 0x11, 0x22);
	CHECK(0xf6, 0x05, 0, 0, 0, 0x10, 0x01);
	CHECK(0x0f, 0xba, 0x25, 0, 0, 0, 0x10, 0x03);
	CHECK(0x48, 0x69, 0x05, 0, 0, 0, 0x10, 0x11, 0x22, 0x33, 0x44);
	CHECK(0x0f, 0x1f, 0x05, 0, 0, 0, 0);
}

TEST(native, the_rest_is_copied)
{
	CHECK_EMULATED(0x90);
	CHECK_EMULATED(0xf3, 0x90);
	CHECK_EMULATED(0xf3, 0x0f, 0x1e, 0xfa);
	CHECK_EMULATED(0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0);
	CHECK(0x41, 0x90); /* xchg %r8d, %eax */
	CHECK(0x48, 0x01, 0xd8);
	CHECK(0xf0, 0x48, 0x0f, 0xb1, 0x0b);
	CHECK(0xf3, 0xa4);
	CHECK(0x48, 0xf7, 0xf3); /* div: may fault */
	CHECK(0xf6, 0xd8);
	CHECK(0xf6, 0xc8, 0x01);
}

/* Its operand is to be in our data. */
static void aim(u8 *code, const struct insn *insn)
{
	const struct arch_insn *a = &insn->arch;
	u32 disp = DATA + RAM / 2 - (PC + insn->len);
	u64 address = DATA + RAM / 2;

	if (insn->flags & (INSN_PC_MEM | INSN_PC_READ))
		memcpy(code + a->disp_off, &disp, 4);
	else if (insn->flags & INSN_MEM && !a->modrm_off)
		memcpy(code + a->imm_off, &address, a->imm_size);
}

TEST(native, every_form_of_the_map_is_the_same_elsewhere)
{
	unsigned n = ARRAY_SIZE(insn_corpus);

	ASSERT_TRUE(set_up());
	memset(&total, 0, sizeof(total));
	for (unsigned i = 0; i < n; i++) {
		struct insn insn;
		u8 code[15];

		memcpy(code, insn_corpus[i].bytes, sizeof(code));
		if (arch_insn_decode(&insn, code, insn_corpus[i].len, PC) ||
		    insn.len != insn_corpus[i].len) {
			FAIL("%s: encoding %u of the corpus is none",
			     insn_corpus_names[i], i);
			continue;
		}
		if (insn.deny != INSN_OK) {
			total.refused++;
			continue;
		}
		aim(code, &insn);
		if (!arch_insn_decode(&insn, code, insn.len, PC))
			check_states(&insn);
	}
	test_note("%u encodings x %u states: %u relocated, %u emulated, "
		  "%u faulted; %u unknown to this processor, %u refused",
		  n, STATES, total.relocated, total.emulated, total.faults,
		  total.unknown, total.refused);
	for (unsigned i = 0; i < ARRAY_SIZE(insn_corpus_left_out); i++)
		test_note("left out: %s: %s", insn_corpus_left_out[i].name,
			  insn_corpus_left_out[i].why);
}
