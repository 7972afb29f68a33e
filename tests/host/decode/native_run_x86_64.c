// SPDX-License-Identifier: MIT
/*
 * The harness behind native_x86_64.c. Code pages are filled with int3. To run
 * code with given registers, a signal handler replaces its own context; the int3
 * or fault at the end raises another signal, whose context is the result.
 *
 * Vector state goes the same way: x87, xmm and the upper halves of ymm are set
 * and compared, what lies above them is zero at the start.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#include "../../test.h"
#include "../ours.h"
#include "native_x86_64.h"

#define RF (1ul << 16)

/* Those that a signal handler may set; not AC: we would fault ourselves. */
#define FLAGS	       0xcd5ul

#define VECTORS_LEGACY offsetof(struct vectors, unused)
#define XSTATE_MAGIC   0x46505853 /* at byte 464 */

static struct pt_regs start, finish;
static struct vectors vectors_start, vectors_finish, vectors_home;
static ucontext_t home;
static int final_signal;
static enum { IDLE, STARTING, RUNNING } phase;
static u64 seed = 20240229;

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

bool native_set_up(void)
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

void native_load(const struct state *state)
{
	memcpy((void *)DATA, state->data, RAM);
	memcpy((void *)STACK, state->stack, RAM);
}

void native_save(struct state *state)
{
	memcpy(state->data, (void *)DATA, RAM);
	memcpy(state->stack, (void *)STACK, RAM);
}

/* Runs what stands at @pc until it traps. */
void native_run(u64 pc, const struct state *before, struct state *after)
{
	native_load(before);
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
	native_save(after);
}

/* Fills a code area with int3 and puts @code in its middle. */
void native_place(u64 area, const u8 *code, unsigned n)
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

void native_state(struct state *state)
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
void native_flags_on_stack(struct state *state)
{
	u64 *stack = (u64 *)state->stack;

	for (unsigned i = 0; i < RAM / 8; i++)
		stack[i] = (random_next(&seed) & FLAGS) | 0x202;
}

const char *native_differs(const struct state *a, const struct state *b,
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

void native_say(const char *what, const char *how, const u8 *code, unsigned n,
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
