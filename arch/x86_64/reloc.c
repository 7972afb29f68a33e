// SPDX-License-Identifier: MIT
/*
 * Relocation: code that does elsewhere what an instruction does at its own
 * address. Most instructions are copied; the pc is in the way of some:
 *
 *	operand at disp(%rip)	new displacement; lea out of reach: mov $imm64
 *	jmp rel			jmp rel32, or jmp *0(%rip) and the address
 *	jcc rel			jcc rel32, or jncc over the long jmp
 *	loop, jrcxz		the same instruction over a jmp: see put_loop()
 *	call			the original's return address is pushed by hand
 *	ret, jmp *x		copied: nothing in them is relative
 *
 * No register and no flag changes that the original would not change, and a
 * fault leaves the registers as the original's fault does, but for calls of
 * what is no address: they have pushed by then. Shadow stacks (CET) would
 * notice the calls; Sonde does not turn them on.
 *
 * Pure: any context.
 */
#include <arch/insn.h>
#include <lib/errno.h>

/* Code being written for address @at. */
struct code {
	u64 at;
	unsigned len;
	u8 bytes[ARCH_INSN_RELOC_MAX];
};

static void put(struct code *code, u64 value, unsigned size)
{
	for (; size; size--, value >>= 8)
		code->bytes[code->len++] = (u8)value;
}

static void put_bytes(struct code *code, const u8 *from, unsigned n)
{
	while (n--)
		put(code, *from++, 1);
}

static bool fits32(u64 value)
{
	return (u64)(s32)value == value;
}

/* The displacement to @target at the end of an instruction of @len bytes. */
static u64 distance(const struct code *code, unsigned len, u64 target)
{
	return target - (code->at + code->len + len);
}

/*
 * bnd (f2) is the only prefix of a near branch that may mean something; 67
 * selects the counter of loops. The others are hints.
 */
static void put_branch_prefixes(struct code *code, const struct insn *insn)
{
	if (insn->arch.prefixes & X86_P_REPNE)
		put(code, 0xf2, 1);
}

static void put_jump(struct code *code, const struct insn *insn, u64 target)
{
	put_branch_prefixes(code, insn);
	if (fits32(distance(code, 5, target))) {
		u64 rel = distance(code, 5, target);

		put(code, 0xe9, 1);
		put(code, rel, 4);
	} else {
		put(code, 0x25ff, 2); /* jmp *0(%rip) */
		put(code, 0, 4);
		put(code, target, 8);
	}
}

static void put_jcc(struct code *code, const struct insn *insn)
{
	unsigned condition = insn->arch.opcode & 15;
	unsigned skip;

	put_branch_prefixes(code, insn);
	if (fits32(distance(code, 6, insn->target))) {
		u64 rel = distance(code, 6, insn->target);

		put(code, 0x0f | (0x80 | condition) << 8, 2);
		put(code, rel, 4);
		return;
	}
	put(code, 0x70 | (condition ^ 1), 1);
	put(code, 0, 1);
	skip = code->len;
	put_jump(code, insn, insn->target);
	code->bytes[skip - 1] = code->len - skip;
}

/*
 *		loop 1f
 *		jmp 2f
 *	1:	jmp target
 *	2:
 */
static void put_loop(struct code *code, const struct insn *insn)
{
	unsigned skip;

	if (insn->arch.prefixes & X86_P_ADDRSIZE)
		put(code, 0x67, 1);
	put(code, insn->arch.opcode | 2 << 8, 2);
	put(code, 0xeb, 1);
	put(code, 0, 1);
	skip = code->len;
	put_jump(code, insn, insn->target);
	code->bytes[skip - 1] = code->len - skip;
}

/* The value @value on top of the stack. */
static void put_push(struct code *code, u64 value)
{
	put(code, 0x68, 1); /* push $low, which sign-extends */
	put(code, value, 4);
	if (!fits32(value)) {
		put(code, 0x042444c7, 4); /* movl $high, 4(%rsp) */
		put(code, value >> 32, 4);
	}
}

/*
 * The instruction's bytes, its pc-relative displacement adjusted, and
 * ModRM.reg replaced if @reg is not negative.
 */
static int put_copy(struct code *code, const struct insn *insn, int reg)
{
	const struct arch_insn *a = &insn->arch;
	u8 *copy = code->bytes + code->len;
	u64 disp = distance(code, insn->len, insn->target);

	put_bytes(code, insn->bytes, insn->len);
	if (reg >= 0)
		copy[a->modrm_off] = (a->modrm & ~0x38) | reg << 3;
	if (!(insn->flags & (INSN_PC_MEM | INSN_PC_READ)))
		return 0;
	/* With 67 the sum wraps at 4 GiB, so everything is in reach. */
	if (!fits32(disp) && !(a->prefixes & X86_P_ADDRSIZE))
		return -ERANGE;
	code->len = copy + a->disp_off - code->bytes;
	put(code, disp, 4);
	code->len = copy + insn->len - code->bytes;
	return 0;
}

/*
 * call *x. A register other than rsp is still the same after the push. Else
 * the target is read first, as the CPU does (SDM 2A CALL): it goes on the
 * stack by a push of the same operand, below it goes a copy of it, and the
 * return address replaces the first:
 *
 *	push x			[T]
 *	push (%rsp)		[T] [T]
 *	mov return, 8(%rsp)	[return] [T]
 *	ret			[return], at T
 *
 * This touches eight bytes more below the stack than the call would have.
 */
static int put_call_indirect(struct code *code, const struct insn *insn)
{
	const struct arch_insn *a = &insn->arch;
	u64 back = insn->pc + insn->len;
	int error;

	if (!X86_HAS_MEM(a) && (X86_RM(a) != 4 || a->rex & X86_REX_B)) {
		put_push(code, back);
		return put_copy(code, insn, 4); /* jmp *reg */
	}
	error = put_copy(code, insn, 6); /* push x */
	if (error)
		return error;
	put(code, 0x2434ff, 3);
	if (fits32(back)) {
		put(code, 0x082444c748, 5); /* movq $back, 8(%rsp) */
		put(code, back, 4);
	} else {
		put(code, 0x082444c7, 4); /* movl $low, 8(%rsp) */
		put(code, back, 4);
		put(code, 0x0c2444c7, 4); /* movl $high, 12(%rsp) */
		put(code, back >> 32, 4);
	}
	put(code, 0xc3, 1);
	return 0;
}

/* Where it goes on after an abort. The 16-bit form wraps like its pc. */
static int put_xbegin(struct code *code, const struct insn *insn)
{
	const struct arch_insn *a = &insn->arch;
	u64 rel = distance(code, insn->len, insn->target);

	if (a->imm_size != 4)
		return -EOPNOTSUPP;
	if (!fits32(rel))
		return -ERANGE;
	put_bytes(code, insn->bytes, a->imm_off);
	put(code, rel, 4);
	return 0;
}

static int put_branch(struct code *code, const struct insn *insn)
{
	switch (insn->arch.emu) {
	case X86_EMU_CALL_REL:
		put_push(code, insn->pc + insn->len);
		put_jump(code, insn, insn->target);
		return 0;
	case X86_EMU_JMP_REL:
		put_jump(code, insn, insn->target);
		return 0;
	case X86_EMU_JCC:
		put_jcc(code, insn);
		return 0;
	case X86_EMU_LOOP:
		put_loop(code, insn);
		return 0;
	}
	return put_xbegin(code, insn);
}

/* lea disp(%rip), reg -> mov $address, reg. */
static void put_address(struct code *code, const struct insn *insn)
{
	const struct arch_insn *a = &insn->arch;
	unsigned rex = (a->rex & X86_REX_W) | !!(a->rex & X86_REX_R);

	if (a->opsize == 2)
		put(code, 0x66, 1);
	if (rex)
		put(code, 0x40 | rex, 1);
	put(code, 0xb8 | X86_REG(a), 1);
	put(code, insn->target, a->opsize);
}

static int relocate(struct code *code, const struct insn *insn)
{
	int error;

	if (insn->deny != INSN_OK)
		return -EOPNOTSUPP;
	if (insn->flags & INSN_BRANCH_REL)
		return put_branch(code, insn);
	if (insn->arch.emu == X86_EMU_CALL_RM)
		return put_call_indirect(code, insn);
	error = put_copy(code, insn, -1);
	if (error && insn->arch.emu == X86_EMU_LEA) {
		code->len = 0;
		put_address(code, insn);
		return 0;
	}
	return error;
}

int arch_insn_relocate(const struct insn *insn, u64 at, void *buf, size_t size)
{
	struct code code = { .at = at };
	int error = relocate(&code, insn);

	if (error)
		return error;
	if (code.len > size)
		return -ENOSPC;
	for (unsigned i = 0; i < code.len; i++)
		((u8 *)buf)[i] = code.bytes[i];
	return code.len;
}
