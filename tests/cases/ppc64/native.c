// SPDX-License-Identifier: MIT
/* What t_native.c needs of ppc64. */
#include <asm/insn.h>
#include <lib/string.h>
#include <tests/cases/native.h>
#include <tests/random.h>
#include <gen/insn_corpus.h>

const struct native_least native_least = { .encodings = 2100, .emulated = 200 };

void native_keep(struct pt_regs *regs, const struct pt_regs *kernel)
{
	regs->msr |= kernel->msr;
	regs->gpr[2] = kernel->gpr[2];
	regs->gpr[13] = kernel->gpr[13];
}

/*
 * Bits 0-31 of XER are reserved (ISA 3.1 I 3.2.2). A relocated call saves r0
 * where nothing lives during a call: reloc.c.
 */
void native_normalise(struct native_state *s, const struct insn *insn)
{
	s->regs.gpr[2] = s->regs.gpr[13] = s->regs.msr = 0;
	s->regs.xer = (u32)s->regs.xer;
	memset((u8 *)&s->regs + offsetof(struct pt_regs, trap), 0,
	       sizeof(s->regs) - offsetof(struct pt_regs, trap));
	if (insn->flags & INSN_LR_WRITE)
		memset(s->stack, 0, 8);
}

/* Random states -------------------------------------------------------------- */

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
		return NATIVE_DATA - 256 + random_below(seed, 64) * 8;
	}
}

/* The stack proper begins above the red zone. Now and then a unit is off. */
void native_scramble(struct pt_regs *regs, u64 *seed)
{
	unsigned long sp = regs->gpr[1] - 16 * random_below(seed, 4);

	for (unsigned i = 0; i < 32; i++)
		regs->gpr[i] = random_value(seed);
	regs->gpr[1] = sp;
	regs->ctr = random_value(seed);
	regs->link = random_value(seed);
	regs->xer = random_next(seed) & 0xe00c007f;
	regs->ccr = (u32)random_next(seed);
}

void native_random(struct native_state *s, const struct insn *insn, u64 *seed)
{
	struct pt_regs *regs = &s->regs;

	for (unsigned i = 0; i < 32; i++)
		regs->gpr[i] = random_value(seed);
	regs->gpr[1] = NATIVE_STACK + FRAME_RED_ZONE;
	regs->ctr = random_value(seed);
	regs->link = random_value(seed);
	if (insn->flags & (INSN_INDIRECT | INSN_RET)) {
		regs->ctr = (unsigned long)native_area + 32 + (regs->ctr & 3);
		regs->link = (unsigned long)native_area + 64 + (regs->link & 3);
	}
	regs->msr = random_below(seed, 8) ? MSR_FP | MSR_VEC | MSR_VSX : 0;
	regs->xer = random_next(seed) & 0xe00c007f;
	regs->ccr = (u32)random_next(seed);
	for (unsigned i = 0; i < 64; i++) {
		s->units.vectors[i][0] = random_value(seed);
		s->units.vectors[i][1] = random_value(seed);
	}
}

/* Encodings ------------------------------------------------------------------ */

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

unsigned native_encodings(void)
{
	return ARRAY_SIZE(insn_corpus);
}

bool native_decode(struct insn *insn, unsigned i, unsigned long pc,
		   const char **name)
{
	u32 prefix = insn_corpus[i].prefix;
	u8 bytes[8], *at = bytes;

	*name = insn_corpus_names[insn_corpus[i].line];
	if (!insn_corpus[i].first)
		return false;
	if (prefix) {
		insn_word_put(at, prefix);
		at += 4;
	}
	insn_word_put(at, insn_corpus[i].word);
	at += 4;
	return arch_insn_decode(insn, bytes, at - bytes, pc) == 0 &&
	       !not_here(insn, *name);
}
