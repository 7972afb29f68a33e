// SPDX-License-Identifier: MIT
/*
 * A ppc64 processor (QEMU's user mode) as referee: an instruction run where it
 * is, its relocated copy, and its emulation must leave the same registers and
 * memory, or fault alike. The instructions are those of the corpus made from
 * the map.
 *
 * Code pages are filled with trap. To run code with given registers, a signal
 * handler replaces its own context; the trap or fault at the end raises another
 * signal, whose context is the result.
 *
 *	text	0x40000000	the instruction in the middle, traps around it
 *	near	0x41000000	its copy
 *	far	0x70000000	its copy, out of reach of branches
 *	data	0x50000000	random values; pointers point in here; targets
 *				of indirect branches in it point into text
 *	stack	0x60000000
 */
#define pt_regs libc_pt_regs
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ucontext.h>
#undef pt_regs
#undef PT_NIP
#undef PT_MSR
#undef PT_CTR
#undef PT_XER
#undef PT_CCR
#undef PT_TRAP
#undef PT_DAR
#undef PT_DSISR
#include <arch/insn.h>
#include <arch/uaccess.h>
#include <frame.h>
#include <lib/errno.h>
#include <gen/insn_corpus.h>
#include "../../test.h"
#include "../ours.h"

#define TEXT	  0x40000000ul
#define NEAR	  0x41000000ul
#define FAR	  0x70000000ul
#define DATA	  0x50000000ul
#define STACK	  0x60000000ul
#define SIZE	  0x8000ul /* of the code areas */
#define RAM	  0x2000ul /* of data and stack */
#define PC	  (TEXT + SIZE / 2)

#define VR_WORDS  (2 * 34)

#define WORD_TRAP 0x7fe00008u

/* In the order of a signal's gp_regs, for those that user code has. */
enum { GREG_NIP = 32, GREG_CTR = 35, GREG_LINK, GREG_XER, GREG_CCR };

struct state {
	struct pt_regs regs;
	u64 fp[33]; /* the last is FPSCR */
	/* As signals have them: VR0-31, VSCR, VRSAVE; low halves of VSR0-31. */
	u64 vr[VR_WORDS + 32];
	u8 data[RAM], stack[RAM];
	int signal; /* SIGTRAP, or that of a fault */
};

static struct state start, finish;
static gregset_t home;
static int final_signal;
static enum { IDLE, STARTING, RUNNING } phase;
static u64 seed = 20240229;

static bool writable(u64 va, size_t n)
{
	return va - DATA <= RAM - n || va - STACK <= RAM - n;
}

static bool readable(u64 va, size_t n)
{
	return writable(va, n) || va - TEXT <= SIZE - n;
}

/* One of the two is a variable of emulate.c. */
size_t arch_copy_safe(void *dst, const void *src, size_t n)
{
	if (!writable((u64)dst, n) && !readable((u64)src, n))
		return n;
	memcpy(dst, src, n);
	return 0;
}

int arch_peek(const volatile void *src, u64 *value, unsigned size)
{
	if (!readable((u64)src, size))
		return -EFAULT;
	*value = 0;
	memcpy((u8 *)value + 8 - size, (const void *)src, size);
	return 0;
}

int arch_poke(volatile void *dst, u64 value, unsigned size)
{
	if (!writable((u64)dst, size))
		return -EFAULT;
	memcpy((void *)dst, (u8 *)&value + 8 - size, size);
	return 0;
}

static void regs_to_context(const struct state *state, ucontext_t *uc)
{
	unsigned long *gregs = uc->uc_mcontext.gp_regs;

	for (unsigned i = 0; i < 32; i++)
		gregs[i] = state->regs.gpr[i];
	gregs[GREG_NIP] = state->regs.nip;
	gregs[GREG_CTR] = state->regs.ctr;
	gregs[GREG_LINK] = state->regs.link;
	gregs[GREG_XER] = state->regs.xer;
	gregs[GREG_CCR] = state->regs.ccr;
	memcpy(uc->uc_mcontext.fp_regs, state->fp, sizeof(state->fp));
	memcpy(uc->uc_mcontext.v_regs, state->vr, sizeof(state->vr));
}

static void regs_from_context(struct state *state, const ucontext_t *uc)
{
	const unsigned long *gregs = uc->uc_mcontext.gp_regs;

	for (unsigned i = 0; i < 32; i++)
		state->regs.gpr[i] = gregs[i];
	state->regs.nip = gregs[GREG_NIP];
	state->regs.ctr = gregs[GREG_CTR];
	state->regs.link = gregs[GREG_LINK];
	state->regs.xer = gregs[GREG_XER];
	state->regs.ccr = gregs[GREG_CCR];
	memcpy(state->fp, uc->uc_mcontext.fp_regs, sizeof(state->fp));
	memcpy(state->vr, uc->uc_mcontext.v_regs, sizeof(state->vr));
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)info;
	if (phase == STARTING) {
		memcpy(home, uc->uc_mcontext.gp_regs, sizeof(home));
		home[GREG_NIP] += 4; /* behind the trap */
		regs_to_context(&start, uc);
		phase = RUNNING;
		return;
	}
	if (phase == IDLE) {
		signal(number, SIG_DFL);
		return;
	}
	regs_from_context(&finish, uc);
	final_signal = number;
	phase = IDLE;
	memcpy(uc->uc_mcontext.gp_regs, home, sizeof(home));
}

static bool set_up(void)
{
	static const unsigned long maps[][2] = {
		{ TEXT, SIZE }, { NEAR, SIZE }, { FAR, SIZE },
		{ DATA, RAM },	{ STACK, RAM },
	};
	static const int signals[] = { SIGTRAP, SIGSEGV, SIGBUS, SIGILL,
				       SIGFPE };
	static u8 signal_stack[65536];
	stack_t ss = { .ss_sp = signal_stack, .ss_size = sizeof(signal_stack) };
	struct sigaction action = {
		.sa_sigaction = on_signal,
		.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER,
	};
	static bool done;

	if (done)
		return true;
	for (unsigned i = 0; i < ARRAY_SIZE(maps); i++)
		if (mmap((void *)maps[i][0], maps[i][1], PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
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
	start = *before;
	start.regs.nip = pc;
	phase = STARTING;
	__asm__ volatile("trap" : : : "memory");
	*after = finish;
	after->signal = final_signal;
	save_memory(after);
}

/* Fills a code area with trap and puts @code in its middle. */
static void place(u64 area, const u8 *code, unsigned n)
{
	mprotect((void *)area, SIZE, PROT_READ | PROT_WRITE);
	for (u64 at = area; at < area + SIZE; at += 4)
		*(u32 *)at = WORD_TRAP;
	memcpy((void *)(area + SIZE / 2), code, n);
	__builtin___clear_cache((char *)area, (char *)area + SIZE);
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
		return (u64)(s32)(random_next(&seed) | 1u << 31);
	case 4:
		return TEXT + SIZE / 4 + random_below(&seed, SIZE / 8) * 4;
	case 5:
		return random_below(&seed, 64) * 8;
	default:
		return DATA + RAM / 2 - 512 + random_below(&seed, 128) * 8;
	}
}

static void random_state(struct state *state)
{
	unsigned long tls;

	__asm__("mr %0,13" : "=r"(tls));
	memset(state, 0, sizeof(*state));
	for (unsigned i = 0; i < 32; i++)
		state->regs.gpr[i] = random_value();
	state->regs.gpr[1] = STACK + RAM / 2 + random_below(&seed, 16) * 16;
	state->regs.gpr[13] = tls;
	state->regs.ctr = random_value();
	state->regs.link = random_value();
	state->regs.xer = random_next(&seed) & 0xe00c007f;
	state->regs.ccr = (u32)random_next(&seed);
	for (unsigned i = 0; i < 32; i++) {
		state->fp[i] = random_value();
		state->vr[2 * i] = random_value();
		state->vr[2 * i + 1] = random_value();
		state->vr[VR_WORDS + i] = random_value();
	}
	for (unsigned i = 0; i < RAM / 8; i++) {
		((u64 *)state->data)[i] = random_value();
		((u64 *)state->stack)[i] = random_value();
	}
}

/* Where in the stack a relocated call leaves r0. */
static u64 red_zone_word(const struct state *before)
{
	return before->regs.gpr[1] - FRAME_RED_ZONE - STACK;
}

static const char *differs(const struct state *a, const struct state *b)
{
	if (a->signal != b->signal)
		return "signal";
	if (a->regs.nip != b->regs.nip)
		return "pc";
	if (a->regs.link != b->regs.link || a->regs.ctr != b->regs.ctr)
		return "LR or CTR";
	/* Bits 0-31 of XER are reserved (ISA 3.1 I 3.2.2). */
	if (a->regs.ccr != b->regs.ccr || (u32)a->regs.xer != (u32)b->regs.xer)
		return "CR or XER";
	if (memcmp(a->regs.gpr, b->regs.gpr, sizeof(a->regs.gpr)))
		return "registers";
	if (memcmp(a->fp, b->fp, sizeof(a->fp)) ||
	    memcmp(a->vr, b->vr, sizeof(a->vr)))
		return "vectors";
	if (memcmp(a->data, b->data, RAM) || memcmp(a->stack, b->stack, RAM))
		return "memory";
	return NULL;
}

static void say(const char *what, const char *how, const struct insn *insn,
		const char *name, const struct state *a, const struct state *b)
{
	FAIL("%s %08x %08x, %s: %s", name, insn->arch.prefix, insn->arch.word,
	     how, what);
	test_note("pc %lx for %lx, LR %lx for %lx, CR %lx for %lx, XER %lx"
		  " for %lx, signal %d for %d",
		  b->regs.nip, a->regs.nip, b->regs.link, a->regs.link,
		  b->regs.ccr, a->regs.ccr, b->regs.xer, a->regs.xer, b->signal,
		  a->signal);
	for (unsigned i = 0; i < 32; i++)
		if (a->regs.gpr[i] != b->regs.gpr[i])
			test_note("r%u %lx for %lx", i, b->regs.gpr[i],
				  a->regs.gpr[i]);
}

static unsigned ran, relocated, emulated, faulted;

static void try_relocated(const struct insn *insn, const char *name, u64 area,
			  const struct state *before,
			  const struct state *native)
{
	u64 slot = area + SIZE / 2;
	u8 code[INSN_RELOC_MAX];
	struct state after;
	const char *what;
	int n = arch_insn_relocate(insn, slot, code, sizeof(code));

	if (n == -EOPNOTSUPP || (area == FAR && n == -ERANGE))
		return;
	ASSERT_TRUE(n > 0);
	place(area, code, n);
	run(slot, before, &after);
	if (after.regs.nip == slot + n)
		after.regs.nip = insn->pc + insn->len;
	/* A fault may be reported anywhere in the copy; hashchk traps. */
	if (native->regs.nip == insn->pc && after.regs.nip - slot < (u64)n)
		after.regs.nip = native->regs.nip;
	if (insn->flags & INSN_LR_WRITE)
		memcpy(after.stack + red_zone_word(before),
		       before->stack + red_zone_word(before), 8);
	relocated++;
	what = differs(native, &after);
	if (what)
		say(what, area == FAR ? "far" : "near", insn, name, native,
		    &after);
}

static void try_emulated(const struct insn *insn, const char *name,
			 const struct state *before, const struct state *native)
{
	struct state after = *before;
	struct insn_op op;
	const char *what;
	int error;

	load_memory(before);
	after.regs.nip = insn->pc;
	after.regs.msr = MSR_SF | MSR_IR | MSR_DR;
	if (arch_insn_analyse(insn, &after.regs, &op) == INSN_EMU_NONE)
		return;
	error = arch_insn_apply(&op, &after.regs);
	after.signal = SIGTRAP;
	/* Nothing is at the target of the jump that was made. */
	if (native->signal == SIGSEGV && after.regs.nip == native->regs.nip)
		after.signal = SIGSEGV;
	if (error == -EFAULT)
		after.signal = SIGSEGV;
	save_memory(&after);
	emulated++;
	what = differs(native, &after);
	if (what)
		say(what, "emulated", insn, name, native, &after);
}

#define STATES 8

/* False if the processor knows no such instruction. */
static bool check(u32 prefix, u32 word, const char *name)
{
	struct state before, native;
	struct insn insn;
	u8 code[8];
	unsigned n = 0;

	if (prefix) {
		insn_word_put(code, prefix);
		n = 4;
	}
	insn_word_put(code + n, word);
	n += 4;
	if (arch_insn_decode(&insn, code, n, PC))
		return false; /* an invalid form */
	for (unsigned i = 0; i < STATES; i++) {
		random_state(&before);
		place(TEXT, code, n);
		run(PC, &before, &native);
		if (native.signal == SIGILL)
			return false;
		ran++;
		faulted += native.signal != SIGTRAP;
		try_relocated(&insn, name, NEAR, &before, &native);
		try_relocated(&insn, name, FAR, &before, &native);
		try_emulated(&insn, name, &before, &native);
	}
	return true;
}

TEST(native, the_harness_sees_a_difference)
{
	struct state before, a, b;
	u8 code[4];

	insn_text_little = false;
	ASSERT_TRUE(set_up());
	random_state(&before);
	before.regs.gpr[3] = 1;
	insn_word_put(code, 0x38630001); /* addi r3,r3,1 */
	place(TEXT, code, 4);
	run(PC, &before, &a);
	EXPECT_EQ(a.regs.gpr[3], 2);
	EXPECT_EQ(a.regs.nip, PC + 4);
	EXPECT_EQ(a.signal, SIGTRAP);
	insn_word_put(code, 0x3863ffff);
	place(TEXT, code, 4);
	run(PC, &before, &b);
	EXPECT_STREQ(differs(&a, &b), "registers");
}

TEST(native, copies_and_emulation_do_what_the_processor_does)
{
	unsigned encodings = 0, other = 0;

	insn_text_little = false;
	ASSERT_TRUE(set_up());
	for (unsigned i = 0; i < ARRAY_SIZE(insn_corpus); i++) {
		if (check(insn_corpus[i].prefix, insn_corpus[i].word,
			  insn_corpus_names[insn_corpus[i].line]))
			encodings++;
		else
			other++;
	}
	test_note("%u encodings x %u states: %u relocated, %u emulated, %u "
		  "faulted; %u invalid or unknown to it",
		  encodings, STATES, relocated, emulated, faulted, other);
	EXPECT_GT(encodings, 700);
}

TEST(native, what_is_left_out_has_a_reason)
{
	for (unsigned i = 0; i < ARRAY_SIZE(insn_corpus_left_out); i++)
		EXPECT_TRUE(insn_corpus_left_out[i].why[0]);
}
