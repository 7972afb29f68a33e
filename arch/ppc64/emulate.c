// SPDX-License-Identifier: MIT
/*
 * Emulation of whatever touches the pc, LR, CTR, CR or the interrupt enable,
 * and of common integer instructions, loads and stores.
 *
 * Analysis is one function per family (emu= of insn.map), which puts the whole
 * result into a struct insn_op. arch_insn_apply() then does the access and,
 * when nothing can fault any more, changes the registers: `stdu r1` stores
 * before r1 moves.
 *
 * Not offered, so that a copy in a slot runs instead: results that the manual
 * leaves undefined or that need OV; privileged instructions and memory operands
 * of user code (they need user access rules); invalid forms, which hardware may
 * treat in its own way; and stores below the red zone, where the frame of our
 * own trap lies. The last are what `stdu r1,-4096(r1)` does.
 *
 * Any context, but never a hit inside a hit: so it may be probed.
 */
#include <arch/insn.h>
#include <arch/uaccess.h>
#include <frame.h>
#include <lib/errno.h>
#include <gen/insn_table.h>

#define XER_SO	 (1u << 31)
#define XER_CA	 (1u << 29)
#define XER_CA32 (1u << 18)

enum cr_bit { CR_LT = 8, CR_GT = 4, CR_EQ = 2, CR_SO = 1 };

/* Stores this far below the red zone may meet the trap frame. */
#define BELOW_STACK 0x10000

#define BO_NO_CR    0x10
#define BO_IF_TRUE  0x08
#define BO_NO_CTR   0x04
#define BO_IF_ZERO  0x02

/* What the functions below work on; operands are fetched once. */
struct analysis {
	const struct insn *insn;
	const struct arch_insn *arch; /* of it */
	const struct pt_regs *regs;
	struct insn_op *op;
	u32 word;
	u8 rt, ra, rb; /* numbers in bits 6-10, 11-15, 16-20 */
	u64 s, a, b;   /* those registers */
	u64 base;      /* a, or 0 if ra is 0 */
	s64 simm;
	u32 uimm;
};

/* Results, all true ----------------------------------------------------------
 */

static bool to_cr(struct analysis *x, u32 bits, u32 value)
{
	x->op->set |= INSN_SET_CCR;
	x->op->ccr = ((u32)x->regs->ccr & ~bits) | (value & bits);
	return true;
}

static bool to_cr_field(struct analysis *x, unsigned field, u32 value)
{
	unsigned shift = 28 - 4 * field;

	return to_cr(x, 0xfu << shift, value << shift);
}

/* LT, GT or EQ, and a copy of SO. */
static bool to_cr_compared(struct analysis *x, unsigned field, bool less,
			   bool greater)
{
	u32 value = less ? CR_LT : greater ? CR_GT : CR_EQ;

	if (x->regs->xer & XER_SO)
		value |= CR_SO;
	return to_cr_field(x, field, value);
}

static bool to_gpr(struct analysis *x, unsigned reg, u64 value)
{
	x->op->set |= INSN_SET_RT;
	x->op->rt = reg;
	x->op->rt_value = value;
	return true;
}

static bool to_rt(struct analysis *x, u64 value)
{
	return to_gpr(x, x->rt, value);
}

/* Logical instructions and shifts name their target in RA. */
static bool to_ra(struct analysis *x, u64 value)
{
	return to_gpr(x, x->ra, value);
}

/* CR0 says how the result compares with 0. */
static bool record(struct analysis *x)
{
	s64 value = (s64)x->op->rt_value;

	return to_cr_compared(x, 0, value<0, value> 0);
}

/* The same for instructions with Rc. */
static bool to_rt_rc(struct analysis *x, u64 value)
{
	to_rt(x, value);
	return x->word & 1 ? record(x) : true;
}

static bool to_ra_rc(struct analysis *x, u64 value)
{
	to_ra(x, value);
	return x->word & 1 ? record(x) : true;
}

static void set_carry(struct analysis *x, bool ca, bool ca32)
{
	x->op->set |= INSN_SET_XER;
	x->op->xer = (x->regs->xer & ~(u64)(XER_CA | XER_CA32)) |
		     (ca ? XER_CA : 0) | (ca32 ? XER_CA32 : 0);
}

/* a + b + carry, which also sets both carries. */
static u64 add(struct analysis *x, u64 a, u64 b, bool carry)
{
	u64 sum = a + b + carry;
	u64 low = (u64)(u32)a + (u32)b + carry;

	set_carry(x, sum < a || (carry && sum == a), low >> 32);
	return sum;
}

/* Branches -------------------------------------------------------------------
 */

static bool cr_bit(const struct analysis *x, unsigned bit)
{
	return x->regs->ccr >> (31 - bit) & 1;
}

/* Does the branch go? Counts CTR down if BO says so. */
static bool taken(struct analysis *x)
{
	u32 bo = x->rt, bi = x->ra;
	bool ctr_ok = true;

	if (!(bo & BO_NO_CTR)) {
		x->op->set |= INSN_SET_CTR;
		x->op->ctr = x->regs->ctr - 1;
		ctr_ok = (x->op->ctr == 0) == !!(bo & BO_IF_ZERO);
	}
	return ctr_ok &&
	       (bo & BO_NO_CR || cr_bit(x, bi) == !!(bo & BO_IF_TRUE));
}

static bool branch(struct analysis *x)
{
	u64 target = x->insn->target;

	if (x->arch->op == PPC_BCLR)
		target = x->regs->link & ~3ull;
	else if (x->arch->op == PPC_BCCTR)
		target = x->regs->ctr & ~3ull;
	if (x->word & 1) {
		x->op->set |= INSN_SET_LINK;
		x->op->link = x->insn->pc + 4;
	}
	if (x->arch->op == PPC_B || taken(x))
		x->op->nip = target;
	return true;
}

/* Integer, one line for each instruction -------------------------------------
 */

/* What a prefixed displacement is added to: the pc or a register. */
static u64 prefixed_address(const struct analysis *x)
{
	if (x->insn->flags & (INSN_PC_READ | INSN_PC_MEM))
		return x->insn->target;
	return x->base + (u64)insn_displacement(x->arch->prefix, x->arch->word);
}

/* clang-format off */
static bool immediate(struct analysis *x)
{
	u64 simm = (u64)x->simm, uimm = x->uimm, high = uimm << 16;

	switch (x->arch->op) {
	case PPC_ADDI:	   return to_rt(x, x->base + simm);
	case PPC_ADDIS:	   return to_rt(x, x->base + simm * 0x10000);
	case PPC_PADDI:	   return to_rt(x, prefixed_address(x));
	case PPC_ADDPCIS:  return to_rt(x, x->insn->target);
	case PPC_MULLI:	   return to_rt(x, x->a * simm);
	case PPC_ADDIC:	   return to_rt(x, add(x, x->a, simm, false));
	case PPC_ADDIC_RC: return to_rt(x, add(x, x->a, simm, false)) && record(x);
	case PPC_SUBFIC:   return to_rt(x, add(x, ~x->a, simm, true));
	case PPC_ORI:	   return to_ra(x, x->s | uimm);
	case PPC_ORIS:	   return to_ra(x, x->s | high);
	case PPC_XORI:	   return to_ra(x, x->s ^ uimm);
	case PPC_XORIS:	   return to_ra(x, x->s ^ high);
	case PPC_ANDI_RC:  return to_ra(x, x->s & uimm) && record(x);
	case PPC_ANDIS_RC: return to_ra(x, x->s & high) && record(x);
	default:	   return x->insn->flags & INSN_NOP;
	}
}

static bool arithmetic(struct analysis *x)
{
	bool carry = x->regs->xer & XER_CA;
	u64 a = x->a, b = x->b, all = ~0ull;

	switch (x->arch->op) {
	case PPC_ADD:	 return to_rt_rc(x, a + b);
	case PPC_SUBF:	 return to_rt_rc(x, b - a);
	case PPC_NEG:	 return to_rt_rc(x, -a);
	case PPC_ADDC:	 return to_rt_rc(x, add(x, a, b, false));
	case PPC_SUBFC:	 return to_rt_rc(x, add(x, ~a, b, true));
	case PPC_ADDE:	 return to_rt_rc(x, add(x, a, b, carry));
	case PPC_SUBFE:	 return to_rt_rc(x, add(x, ~a, b, carry));
	case PPC_ADDZE:	 return to_rt_rc(x, add(x, a, 0, carry));
	case PPC_SUBFZE: return to_rt_rc(x, add(x, ~a, 0, carry));
	case PPC_ADDME:	 return to_rt_rc(x, add(x, a, all, carry));
	case PPC_SUBFME: return to_rt_rc(x, add(x, ~a, all, carry));
	case PPC_MULLD:	 return to_rt_rc(x, a * b);
	case PPC_MULLW:	 return to_rt_rc(x, (u64)((s64)(s32)a * (s32)b));
	default:	 return false;
	}
}

static bool logic(struct analysis *x)
{
	u64 s = x->s, b = x->b;
	u32 low = s;

	switch (x->arch->op) {
	case PPC_AND:	 return to_ra_rc(x, s & b);
	case PPC_ANDC:	 return to_ra_rc(x, s & ~b);
	case PPC_NAND:	 return to_ra_rc(x, ~(s & b));
	case PPC_OR:	 return to_ra_rc(x, s | b);
	case PPC_ORC:	 return to_ra_rc(x, s | ~b);
	case PPC_NOR:	 return to_ra_rc(x, ~(s | b));
	case PPC_XOR:	 return to_ra_rc(x, s ^ b);
	case PPC_EQV:	 return to_ra_rc(x, ~(s ^ b));
	case PPC_EXTSB:	 return to_ra_rc(x, (u64)(s8)s);
	case PPC_EXTSH:	 return to_ra_rc(x, (u64)(s16)s);
	case PPC_EXTSW:	 return to_ra_rc(x, (u64)(s32)s);
	case PPC_CNTLZW: return to_ra_rc(x, low ? __builtin_clz(low) : 32);
	case PPC_CNTLZD: return to_ra_rc(x, s ? __builtin_clzll(s) : 64);
	case PPC_CNTTZW: return to_ra_rc(x, low ? __builtin_ctz(low) : 32);
	case PPC_CNTTZD: return to_ra_rc(x, s ? __builtin_ctzll(s) : 64);
	default:	 return false;
	}
}
/* clang-format on */

/* CA says whether ones were lost from a negative number. */
static u64 shift_right_signed(struct analysis *x, s64 value, unsigned bits,
			      unsigned width)
{
	u64 lost = bits < width ? (u64)value & ((1ull << bits) - 1) : ~0ull;
	bool ca = value < 0 && lost;

	set_carry(x, ca, ca);
	return (u64)(value >> min(bits, 63u));
}

static u64 rotate_left(u64 value, unsigned bits)
{
	return value << (bits & 63) | value >> (-bits & 63);
}

/* Ones from bit @first to bit @last, round the end if first > last. */
static u64 mask(unsigned first, unsigned last)
{
	u64 from = ~0ull >> first, to = ~0ull << (63 - last);

	return first <= last ? from & to : from | to;
}

/* Into the register's old value, where the mask has ones. */
static u64 insert(const struct analysis *x, u64 value, u64 m)
{
	return (value & m) | (x->a & ~m);
}

/* clang-format off */
static bool shift(struct analysis *x)
{
	unsigned sh = x->rb, sh6 = sh | (x->word & 2) << 4;
	unsigned n = x->b & 31, n6 = x->b & 63, n7 = x->b & 127;
	s64 s = (s64)x->s, word = (s32)x->s;
	u64 us = x->s;

	switch (x->arch->op) {
	case PPC_SLW:	return to_ra_rc(x, n6 > 31 ? 0 : (u32)us << n);
	case PPC_SRW:	return to_ra_rc(x, n6 > 31 ? 0 : (u32)us >> n);
	case PPC_SLD:	return to_ra_rc(x, n7 > 63 ? 0 : us << n6);
	case PPC_SRD:	return to_ra_rc(x, n7 > 63 ? 0 : us >> n6);
	case PPC_SRAW:	return to_ra_rc(x, shift_right_signed(x, word, n6, 32));
	case PPC_SRAWI:	return to_ra_rc(x, shift_right_signed(x, word, sh, 32));
	case PPC_SRAD:	return to_ra_rc(x, shift_right_signed(x, s, n7, 64));
	case PPC_SRADI:	return to_ra_rc(x, shift_right_signed(x, s, sh6, 64));
	case PPC_EXTSWSLI: return to_ra_rc(x, (u64)word << sh6);
	default:	return false;
	}
}

static bool rotate(struct analysis *x)
{
	unsigned sh = x->rb, sh6 = sh | (x->word & 2) << 4;
	unsigned m = insn_field(x->word, 21, 25);
	unsigned m6 = m | (x->word & 0x20);
	u64 m32 = mask(m + 32, insn_field(x->word, 26, 30) + 32);
	u64 s = x->s, twice = (u32)s * 0x100000001ull; /* in both halves */
	u64 by_sh = rotate_left(s, sh6), by_b = rotate_left(s, x->b);
	u64 word_by_sh = rotate_left(twice, sh);

	switch (x->arch->op) {
	case PPC_RLWINM: return to_ra_rc(x, word_by_sh & m32);
	case PPC_RLWIMI: return to_ra_rc(x, insert(x, word_by_sh, m32));
	case PPC_RLWNM:	 return to_ra_rc(x, rotate_left(twice, x->b & 31) & m32);
	case PPC_RLDICL: return to_ra_rc(x, by_sh & mask(m6, 63));
	case PPC_RLDICR: return to_ra_rc(x, by_sh & mask(0, m6));
	case PPC_RLDIC:	 return to_ra_rc(x, by_sh & mask(m6, 63 - sh6));
	case PPC_RLDIMI: return to_ra_rc(x, insert(x, by_sh, mask(m6, 63 - sh6)));
	case PPC_RLDCL:	 return to_ra_rc(x, by_b & mask(m6, 63));
	case PPC_RLDCR:	 return to_ra_rc(x, by_b & mask(0, m6));
	default:	 return false;
	}
}
/* clang-format on */

/* Condition register ---------------------------------------------------------
 */

/* L (bit 10) makes them 64 bits wide. */
static bool compare_signed(struct analysis *x, s64 a, s64 b)
{
	if (!insn_field(x->word, 10, 10)) {
		a = (s32)a;
		b = (s32)b;
	}
	return to_cr_compared(x, x->rt >> 2, a < b, b < a);
}

static bool compare_unsigned(struct analysis *x, u64 a, u64 b)
{
	if (!insn_field(x->word, 10, 10)) {
		a = (u32)a;
		b = (u32)b;
	}
	return to_cr_compared(x, x->rt >> 2, a < b, b < a);
}

static bool to_cr_bit(struct analysis *x, bool value)
{
	return to_cr(x, 1u << (31 - x->rt), value ? ~0u : 0);
}

/* clang-format off */
static bool condition(struct analysis *x)
{
	bool a = cr_bit(x, x->ra), b = cr_bit(x, x->rb);
	bool c = cr_bit(x, insn_field(x->word, 21, 25));
	u32 field = x->regs->ccr >> (28 - 4 * (x->ra >> 2)) & 0xf;

	switch (x->arch->op) {
	case PPC_CMP:	  return compare_signed(x, (s64)x->a, (s64)x->b);
	case PPC_CMPI:	  return compare_signed(x, (s64)x->a, x->simm);
	case PPC_CMPL:	  return compare_unsigned(x, x->a, x->b);
	case PPC_CMPLI:	  return compare_unsigned(x, x->a, x->uimm);
	case PPC_ISEL:	  return to_rt(x, c ? x->base : x->b);
	case PPC_SETBC:	  return to_rt(x, a);
	case PPC_SETBCR:  return to_rt(x, !a);
	case PPC_SETNBC:  return to_rt(x, -(u64)a);
	case PPC_SETNBCR: return to_rt(x, -(u64)!a);
	case PPC_MCRF:	  return to_cr_field(x, x->rt >> 2, field);
	case PPC_CRAND:	  return to_cr_bit(x, a && b);
	case PPC_CRANDC:  return to_cr_bit(x, a && !b);
	case PPC_CRNAND:  return to_cr_bit(x, !(a && b));
	case PPC_CROR:	  return to_cr_bit(x, a || b);
	case PPC_CRORC:	  return to_cr_bit(x, a || !b);
	case PPC_CRNOR:	  return to_cr_bit(x, !(a || b));
	case PPC_CRXOR:	  return to_cr_bit(x, a != b);
	case PPC_CREQV:	  return to_cr_bit(x, a == b);
	default:	  return false;
	}
}
/* clang-format on */

/* Special registers ----------------------------------------------------------
 */

static bool to_link(struct analysis *x, u64 value)
{
	x->op->set |= INSN_SET_LINK;
	x->op->link = value;
	return true;
}

static bool to_ctr(struct analysis *x, u64 value)
{
	x->op->set |= INSN_SET_CTR;
	x->op->ctr = value;
	return true;
}

static bool to_xer(struct analysis *x, u64 value)
{
	x->op->set |= INSN_SET_XER;
	x->op->xer = value;
	return true;
}

/* With L = 1 only EE and RI change (ISA 3.1 III 5.4.4). */
static bool to_msr(struct analysis *x, u64 value)
{
	const u64 bits = MSR_EE | MSR_RI;

	x->op->set |= INSN_SET_MSR;
	x->op->msr = (x->regs->msr & ~bits) | (value & bits);
	return true;
}

/* The CR bits that an eight-bit field mask selects. */
static u32 cr_mask(u32 fxm)
{
	u32 bits = 0;

	for (unsigned i = 0; i < 8; i++)
		if (fxm & 1u << i)
			bits |= 0xfu << 4 * i;
	return bits;
}

/* clang-format off */
static bool special(struct analysis *x)
{
	u32 bits = cr_mask(insn_field(x->word, 12, 19));

	switch (x->arch->op) {
	case PPC_MFLR:	    return to_rt(x, x->regs->link);
	case PPC_MFCTR:	    return to_rt(x, x->regs->ctr);
	case PPC_MFXER:	    return to_rt(x, x->regs->xer);
	case PPC_MTLR:	    return to_link(x, x->s);
	case PPC_MTCTR:	    return to_ctr(x, x->s);
	case PPC_MTXER:	    return to_xer(x, x->s);
	case PPC_MFCR:	    return to_rt(x, (u32)x->regs->ccr);
	/* The other bits are undefined. */
	case PPC_MFOCRF:    return to_rt(x, (u32)x->regs->ccr & bits);
	case PPC_MTCRF:
	case PPC_MTOCRF:    return to_cr(x, bits, x->s);
	case PPC_MFMSR:	    return to_rt(x, x->regs->msr);
	case PPC_MTMSR_EE:
	case PPC_MTMSRD_EE: return to_msr(x, x->s);
	default:	    return false;
	}
}
/* clang-format on */

/* Memory ---------------------------------------------------------------------
 */

static u64 access_address(const struct analysis *x)
{
	if (x->insn->flags & INSN_PREFIXED)
		return prefixed_address(x);
	switch (x->arch->access & INSN_ACCESS_FORM) {
	case INSN_ACCESS_D:
		return x->base + (u64)x->simm;
	case INSN_ACCESS_DS:
		return x->base + (u64)(x->simm & ~3ll);
	default:
		return x->base + x->b;
	}
}

static u64 reverse(u64 value, unsigned size)
{
	return __builtin_bswap64(value) >> (64 - 8 * size);
}

static bool access(struct analysis *x)
{
	unsigned how = x->arch->access;
	unsigned size = 1u << (how & INSN_ACCESS_SIZE);
	bool store = how & INSN_ACCESS_STORE;
	u64 ea = access_address(x);
	u64 safe = x->regs->gpr[1] - FRAME_RED_ZONE; /* stack above is ours */

	if (x->regs->msr & MSR_PR || !(x->regs->msr & MSR_DR))
		return false;
	if (how & INSN_ACCESS_UPDATE &&
	    (x->ra == 0 || (!store && x->ra == x->rt)))
		return false;
	if (store && ea < safe && ea + size > safe - BELOW_STACK)
		return false;
	x->op->access = how;
	x->op->ea = ea;
	x->op->rt = x->rt;
	x->op->rt_value = how & INSN_ACCESS_REVERSED ? reverse(x->s, size)
						     : x->s;
	if (!store)
		x->op->set |= INSN_SET_RT;
	if (how & INSN_ACCESS_UPDATE) {
		x->op->set |= INSN_SET_RA;
		x->op->ra = x->ra;
		x->op->ra_value = ea;
	}
	return true;
}

/* Naturally aligned accesses are single, as the instruction's own are. */
static int load(struct insn_op *op, unsigned size, u64 *value)
{
	const void *from = (const void *)(uintptr_t)op->ea;
	u8 bytes[8] = { 0 };

	if (IS_ALIGNED(op->ea, size))
		return arch_peek(from, value, size);
	if (arch_copy_safe(bytes, from, size))
		return -EFAULT;
	*value = insn_text_little ? load_le64(bytes)
				  : load_be64(bytes) >> (64 - 8 * size);
	return 0;
}

static int store(struct insn_op *op, unsigned size)
{
	void *to = (void *)(uintptr_t)op->ea;
	u8 bytes[8];

	if (IS_ALIGNED(op->ea, size))
		return arch_poke(to, op->rt_value, size);
	if (insn_text_little)
		store_le64(bytes, op->rt_value);
	else
		store_be64(bytes, op->rt_value << (64 - 8 * size));
	return arch_copy_safe(to, bytes, size) ? -EFAULT : 0;
}

static int access_memory(struct insn_op *op)
{
	unsigned size = 1u << (op->access & INSN_ACCESS_SIZE);
	unsigned unused = 64 - 8 * size;
	u64 value = 0;
	int error;

	op->fault_va = op->ea;
	if (op->access & INSN_ACCESS_STORE)
		return store(op, size);
	error = load(op, size, &value);
	if (error)
		return error;
	if (op->access & INSN_ACCESS_REVERSED)
		value = reverse(value, size);
	if (op->access & INSN_ACCESS_SIGNED)
		value = (u64)((s64)(value << unused) >> unused);
	op->rt_value = value;
	return 0;
}

/* The contract ---------------------------------------------------------------
 */

typedef bool family_fn(struct analysis *x);

static family_fn *const families[EMU_FAMILIES] = {
	[EMU_BRANCH] = branch,	       [EMU_IMMEDIATE] = immediate,
	[EMU_ARITHMETIC] = arithmetic, [EMU_LOGIC] = logic,
	[EMU_SHIFT] = shift,	       [EMU_ROTATE] = rotate,
	[EMU_CONDITION] = condition,   [EMU_SPECIAL] = special,
	[EMU_ACCESS] = access,
};

/* Not in 32-bit mode; not what would trap. */
static bool may_emulate(const struct insn *insn, const struct pt_regs *regs)
{
	return insn->arch.emu && regs->msr & MSR_SF &&
	       !(insn->flags & INSN_PRIV && regs->msr & MSR_PR);
}

enum insn_emu arch_insn_analyse(const struct insn *insn,
				const struct pt_regs *regs, struct insn_op *op)
{
	u32 word = insn->arch.word;
	struct analysis x = {
		.insn = insn,
		.arch = &insn->arch,
		.regs = regs,
		.op = op,
		.word = word,
		.rt = insn_field(word, 6, 10),
		.ra = insn_field(word, 11, 15),
		.rb = insn_field(word, 16, 20),
		.simm = (s16)word,
		.uimm = word & 0xffff,
	};

	x.s = regs->gpr[x.rt];
	x.a = regs->gpr[x.ra];
	x.b = regs->gpr[x.rb];
	x.base = x.ra ? x.a : 0;
	op->set = 0;
	op->access = 0;
	op->fault_va = 0;
	op->nip = insn->pc + insn->len;
	if (!may_emulate(insn, regs) || !families[insn->arch.emu](&x))
		return INSN_EMU_NONE;
	return op->access ? INSN_EMU_NEEDS_MEMORY : INSN_EMU_DONE_IN_REGS;
}

int arch_insn_apply(struct insn_op *op, struct pt_regs *regs)
{
	int error = op->access ? access_memory(op) : 0;

	if (error)
		return error;
	if (op->set & INSN_SET_RT)
		regs->gpr[op->rt] = op->rt_value;
	if (op->set & INSN_SET_RA)
		regs->gpr[op->ra] = op->ra_value;
	if (op->set & INSN_SET_LINK)
		regs->link = op->link;
	if (op->set & INSN_SET_CTR)
		regs->ctr = op->ctr;
	if (op->set & INSN_SET_XER)
		regs->xer = op->xer;
	if (op->set & INSN_SET_CCR)
		regs->ccr = op->ccr;
	if (op->set & INSN_SET_MSR)
		regs->msr = op->msr;
	regs->nip = op->nip;
	op->fault_va = 0;
	return 0;
}
