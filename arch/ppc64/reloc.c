// SPDX-License-Identifier: MIT
/*
 * Relocation: code that does elsewhere what an instruction does at its own
 * address. Most words are copied; what is relative to the pc is not:
 *
 *	b, ba		b or ba to the same target
 *	bc		bc if the target is near, else
 *				bc BO,BI,1f; b 2f; 1: b target; 2:
 *	bl, bcl, bctrl	link register first (below), then without link
 *	addpcis		its result as a constant
 *	prefixed	the same with another displacement, and a nop in front
 *			if the copy would cross a 64-byte boundary
 *	the others	as they are, blr and bctr included
 *
 * A call must leave the original's return address in LR, and no register is
 * free to make it with. But memory is: at a call, the red zone below r1 belongs
 * to the callee (ELFv2 2.2.2.4), so r0 waits there, in the lowest double word.
 * That one is the last that out-of-line save functions use, and then only for
 * floating-point registers. Trap entries leave the red zone alone.
 *
 *	std r0,-288(r1); r0 = constant; mtlr r0; ld r0,-288(r1)
 *
 * Refused (-EOPNOTSUPP): blrl, which needs the old LR as well, and bcl 20,31,$+4,
 * which is no call: both are emulated. And what may not be probed, above all the
 * ends of load-and-reserve sequences: whatever traps in one makes it fail for
 * ever. Its beginning may move, since a jump back is no trap.
 *
 * Pure; any context.
 */
#include <arch/insn.h>
#include <frame.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <gen/insn_table.h>

/* Code being written for address @at. */
struct code {
	u64 at;
	unsigned count;
	u32 words[ARCH_INSN_RELOC_MAX / 4];
};

static void put(struct code *code, u32 word)
{
	code->words[code->count++] = word;
}

/* From the next word to @target. */
static s64 distance(const struct code *code, u64 target)
{
	return (s64)(target - (code->at + 4 * code->count));
}

static bool fits(s64 value, unsigned bits)
{
	return value >= -(1LL << (bits - 1)) && value < 1LL << (bits - 1);
}

/* Instructions, with the operands that vary. */
#define PPC_WORD_NOP	 0x60000000u
#define PPC_WORD_B	 0x48000000u
#define PPC_WORD_BC	 0x40000000u
#define PPC_WORD_MTLR_R0 0x7c0803a6u
/* std r0,-FRAME_RED_ZONE(r1) and ld */
#define PPC_WORD_SAVE_R0    (0xf8010000u | (-FRAME_RED_ZONE & 0xffff))
#define PPC_WORD_RESTORE_R0 (0xe8010000u | (-FRAME_RED_ZONE & 0xffff))
#define PPC_BIT_AA	    2u
#define PPC_BIT_LK	    1u

/* op rt,rt,immediate and op rt,0,immediate. */
static u32 word_imm(u32 opcode, u32 rt, u32 ra, u32 immediate)
{
	return opcode << 26 | rt << 21 | ra << 16 | (immediate & 0xffff);
}

/* The upper half first, without a scratch register: at most five words. */
static void put_constant(struct code *code, u32 rt, u64 value)
{
	bool wide = !fits((s64)value, 32);
	u32 top = wide ? value >> 32 : value;

	if (fits((s32)top, 16)) {
		put(code, word_imm(14, rt, 0, top)); /* li */
	} else {
		put(code, word_imm(15, rt, 0, top >> 16)); /* lis */
		if (top & 0xffff)
			put(code, word_imm(24, rt, rt, top)); /* ori */
	}
	if (!wide)
		return;
	put(code, 0x780007c6u | rt << 21 | rt << 16); /* sldi rt,rt,32 */
	if (value & 0xffff0000)
		put(code, word_imm(25, rt, rt, (u32)value >> 16)); /* oris */
	if (value & 0xffff)
		put(code, word_imm(24, rt, rt, value));
}

static void put_link(struct code *code, u64 link)
{
	put(code, PPC_WORD_SAVE_R0);
	put_constant(code, 0, link);
	put(code, PPC_WORD_MTLR_R0);
	put(code, PPC_WORD_RESTORE_R0);
}

static int put_jump(struct code *code, u64 target)
{
	s64 disp = distance(code, target);

	if (fits(disp, 26))
		put(code, PPC_WORD_B | (disp & 0x3fffffc));
	else if (fits((s64)target, 26))
		put(code, PPC_WORD_B | (target & 0x3fffffc) | PPC_BIT_AA);
	else
		return -ERANGE;
	return 0;
}

static int put_conditional(struct code *code, const struct insn *insn)
{
	u32 condition = PPC_WORD_BC | (insn->arch.word & 0x03ff0000);
	s64 disp = distance(code, insn->target);

	if (!(insn->flags & (INSN_COND | INSN_LOOP)))
		return put_jump(code, insn->target);
	if (fits(disp, 16)) {
		put(code, condition | (disp & 0xfffc));
		return 0;
	}
	put(code, condition | 8);
	put(code, PPC_WORD_B | 8);
	return put_jump(code, insn->target);
}

static int put_branch(struct code *code, const struct insn *insn)
{
	if (insn->flags & INSN_LR_WRITE)
		put_link(code, insn->pc + 4);
	switch (insn->arch.op) {
	case PPC_B:
		return put_jump(code, insn->target);
	case PPC_BC:
		return put_conditional(code, insn);
	default: /* to a register */
		put(code, insn->arch.word & ~PPC_BIT_LK);
		return 0;
	}
}

/* Prefixed words that name an address: it is within 34 bits, or it is not. */
static int put_prefixed(struct code *code, const struct insn *insn)
{
	u32 prefix = insn->arch.prefix, word = insn->arch.word;

	if ((code->at & 63) == 60)
		put(code, PPC_WORD_NOP);
	if (insn->flags & (INSN_PC_READ | INSN_PC_MEM)) {
		s64 disp = distance(code, insn->target);

		if (!fits(disp, 34))
			return -ERANGE;
		prefix = (prefix & ~0x3ffffu) | (disp >> 16 & 0x3ffff);
		word = (word & ~0xffffu) | (disp & 0xffff);
	}
	put(code, prefix);
	put(code, word);
	return 0;
}

/* Beside what may not be probed: see above. */
static bool is_refused(const struct insn *insn)
{
	const u32 link = INSN_LR_READ | INSN_LR_WRITE;

	return insn->deny != INSN_OK || insn->arch.op == PPC_BCL_HERE ||
	       (insn->flags & link) == link;
}

static int put_insn(struct code *code, const struct insn *insn)
{
	if (is_refused(insn))
		return -EOPNOTSUPP;
	if (insn->flags & INSN_PREFIXED)
		return put_prefixed(code, insn);
	switch (insn->arch.op) {
	case PPC_B:
	case PPC_BC:
	case PPC_BCLR:
	case PPC_BCCTR:
	case PPC_BCTAR:
		return put_branch(code, insn);
	case PPC_ADDPCIS:
		put_constant(code, insn_field(insn->arch.word, 6, 10),
			     insn->target);
		return 0;
	default:
		put(code, insn->arch.word);
		return 0;
	}
}

int arch_insn_relocate(const struct insn *insn, u64 at, void *buf, size_t size)
{
	struct code code = { .at = at };
	int error = put_insn(&code, insn);

	if (error)
		return error;
	if (size < 4 * code.count)
		return -ENOSPC;
	for (unsigned i = 0; i < code.count; i++)
		insn_word_put((u8 *)buf + 4 * i, code.words[i]);
	return 4 * code.count;
}
