// SPDX-License-Identifier: MIT
/*
 * What t_native.c needs of x86_64. Vector state is not run here but on the host:
 * the kernel's own is nowhere saved.
 */
#include <asm/x86.h>
#include <lib/string.h>
#include <tests/cases/native.h>
#include <tests/random.h>
#include <gen/insn_corpus.h>

/* Flags that an instruction may be given, and those that are compared. */
#define FLAGS_GIVEN    0xcd5u
#define FLAGS_COMPARED (FLAGS_GIVEN | X86_FLAGS_IF | X86_FLAGS_TF)

/* Where branches lead, from the instruction on: its cell's breakpoints. */
#define BRANCH 32

const struct native_least native_least = { .encodings = 3900, .emulated = 300 };

void native_units_load(const struct native_units *u __unused)
{
}

void native_units_save(struct native_units *u __unused)
{
}

void native_keep(struct pt_regs *regs, const struct pt_regs *kernel)
{
	regs->vector = kernel->vector;
	regs->orig_ax = kernel->orig_ax;
	regs->cs = kernel->cs;
	regs->ss = kernel->ss;
}

/* Below its stack are, in the end, frames of traps. */
void native_normalise(struct native_state *s, const struct insn *insn __unused)
{
	unsigned long dead = s->regs.sp - NATIVE_STACK;

	s->regs.vector = s->regs.orig_ax = s->regs.cs = s->regs.ss = 0;
	s->regs.flags &= FLAGS_COMPARED;
	memset(s->stack, 0, min(dead, sizeof(s->stack)));
}

/* Random states -------------------------------------------------------------- */

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
		return NATIVE_DATA - 512 + random_below(seed, 128) * 8;
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

static void fill_words(u8 *at, size_t n, u64 value)
{
	for (size_t i = 0; i < n; i += sizeof(value))
		memcpy(at + i, &value, sizeof(value));
}

/* Wherever the target comes from, it is a breakpoint in the cell. */
static void aim_indirect(struct native_state *s, const struct insn *insn)
{
	const struct arch_insn *a = &insn->arch;
	u64 target = insn->pc + BRANCH;

	fill_words(s->stack, sizeof(s->stack), target);
	fill_words(s->data, sizeof(s->data), target);
	if (a->modrm_off && X86_MOD(a) == 3)
		*reg_at(&s->regs, X86_RM(a) | (a->rex & X86_REX_B)
						      << 3) = target;
}

static u64 random_flags(u64 *seed)
{
	return (random_next(seed) & FLAGS_GIVEN) | X86_FLAGS_FIXED;
}

/* Below its stack are frames of what comes before the handler. */
void native_scramble(struct pt_regs *regs, u64 *seed)
{
	unsigned long sp = regs->sp - 8 * random_below(seed, 4);

	for (unsigned i = 0; i < 16; i++)
		*reg_at(regs, i) = random_value(seed);
	regs->sp = sp;
	regs->flags = random_flags(seed);
}

void native_random(struct native_state *s, const struct insn *insn, u64 *seed)
{
	struct pt_regs *regs = &s->regs;

	for (unsigned i = 0; i < 16; i++)
		*reg_at(regs, i) = random_value(seed);
	regs->sp = NATIVE_STACK + 64 + random_below(seed, 2) * 8;
	regs->bp = NATIVE_STACK + 64 + 1024;
	if (insn->flags & INSN_REP_STRING)
		regs->cx = random_below(seed, 16);
	regs->flags = random_flags(seed);
	if (insn->flags & INSN_FLAGS_POP)
		fill_words(s->stack, sizeof(s->stack), random_flags(seed));
	if (insn->flags & (INSN_INDIRECT | INSN_RET))
		aim_indirect(s, insn);
}

/* Encodings ------------------------------------------------------------------ */

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
		put(code + a->imm_off, BRANCH - insn->len, a->imm_size);
	else if (insn->flags & (INSN_PC_MEM | INSN_PC_READ))
		put(code + a->disp_off, NATIVE_DATA - (insn->pc + insn->len),
		    4);
	else if (insn->flags & INSN_MEM && !a->modrm_off)
		put(code + a->imm_off, NATIVE_DATA, a->imm_size);
}

unsigned native_encodings(void)
{
	return ARRAY_SIZE(insn_corpus);
}

bool native_decode(struct insn *insn, unsigned i, unsigned long pc,
		   const char **name)
{
	unsigned len = insn_corpus[i].len;
	u8 code[ARCH_INSN_MAX];

	*name = insn_corpus_names[i];
	memcpy(code, insn_corpus[i].bytes, sizeof(code));
	if (arch_insn_decode(insn, code, len, pc))
		return false;
	aim(code, insn);
	return arch_insn_decode(insn, code, len, pc) == 0 && !not_here(insn);
}
