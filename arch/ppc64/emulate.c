/* SPDX-License-Identifier: MIT */
/*
 * Emulation of whatever touches the pc, LR, CTR, CR or the interrupt enable,
 * and of common integer instructions, loads and stores.
 *
 * Analysis is one function per family: it says no to an operation it does not
 * know, and otherwise puts the whole result into a struct insn_op.
 * arch_insn_apply() then does the access and, when nothing can fault any more,
 * changes the registers: `stdu r1` stores before r1 moves.
 *
 * Not offered, so that a copy in a slot runs instead: results that the manual
 * leaves undefined or that need OV; privileged instructions and memory operands
 * of user code (they need user access rules); invalid forms, which hardware may
 * treat in its own way; and stores below the red zone, where the frame of our
 * own trap lies. The last are what `stdu r1,-4096(r1)` does.
 *
 * On the hit path: no-probe, any context.
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
	const struct pt_regs *regs;
	struct insn_op *op;
	u32 word;
	u8 rt, ra, rb; /* numbers in bits 6-10, 11-15, 16-20 */
	u64 s, a, b;   /* those registers */
	u64 base;      /* a, or 0 if ra is 0 */
	s64 simm;
	u32 uimm;
};

/* Results --------------------------------------------------------------------
 */

static __noprobe void set_rt(struct analysis *x, u64 value)
{
	x->op->set |= INSN_SET_RT;
	x->op->rt = x->rt;
	x->op->rt_value = value;
}

/* Logical instructions and shifts name their target in RA. */
static __noprobe void set_target_ra(struct analysis *x, u64 value)
{
	x->op->set |= INSN_SET_RT;
	x->op->rt = x->ra;
	x->op->rt_value = value;
}

static __noprobe void set_cr_field(struct analysis *x, unsigned field,
				   u32 value)
{
	unsigned shift = 28 - 4 * field;

	x->op->set |= INSN_SET_CCR;
	x->op->ccr = ((u32)x->regs->ccr & ~(0xfu << shift)) | value << shift;
}

static __noprobe void set_cr_bit(struct analysis *x, unsigned bit, bool value)
{
	u32 mask = 1u << (31 - bit);

	x->op->set |= INSN_SET_CCR;
	x->op->ccr = ((u32)x->regs->ccr & ~mask) | (value ? mask : 0);
}

static __noprobe bool cr_bit(const struct analysis *x, unsigned bit)
{
	return x->regs->ccr >> (31 - bit) & 1;
}

static __noprobe u32 summary_overflow(const struct analysis *x)
{
	return x->regs->xer & XER_SO ? CR_SO : 0;
}

/* CR0 of an instruction whose last bit is set. */
static __noprobe void record(struct analysis *x)
{
	s64 value = (s64)x->op->rt_value;

	set_cr_field(x, 0,
		     (value < 0	  ? CR_LT
		      : value > 0 ? CR_GT
				  : CR_EQ) |
			     summary_overflow(x));
}

static __noprobe void set_carry(struct analysis *x, bool ca, bool ca32)
{
	x->op->set |= INSN_SET_XER;
	x->op->xer = (x->regs->xer & ~(u64)(XER_CA | XER_CA32)) |
		     (ca ? XER_CA : 0) | (ca32 ? XER_CA32 : 0);
}

/* a + b + carry, with both carries out. */
static __noprobe void add_carry(struct analysis *x, u64 a, u64 b, bool carry)
{
	u64 sum = a + b + carry;
	u64 low = (u64)(u32)a + (u32)b + carry;

	set_rt(x, sum);
	set_carry(x, sum < a || (carry && sum == a), low >> 32);
}

/* Branches -------------------------------------------------------------------
 */

/* Does the branch go? Counts CTR down if BO says so. */
static __noprobe bool taken(struct analysis *x)
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

static __noprobe bool branch(struct analysis *x)
{
	u64 target = x->insn->target;

	switch (x->insn->arch.op) {
	case PPC_B:
	case PPC_BC:
	case PPC_BCL_HERE:
		break;
	case PPC_BCLR:
		target = x->regs->link & ~3ull;
		break;
	case PPC_BCCTR:
		target = x->regs->ctr & ~3ull;
		break;
	default:
		return false;
	}
	if (x->word & 1) {
		x->op->set |= INSN_SET_LINK;
		x->op->link = x->insn->pc + 4;
	}
	if (x->insn->arch.op == PPC_B || taken(x))
		x->op->nip = target;
	return true;
}

/* Integer --------------------------------------------------------------------
 */

/* What a prefixed displacement is added to: the pc or a register. */
static __noprobe u64 prefixed_address(const struct analysis *x)
{
	const struct arch_insn *arch = &x->insn->arch;

	if (x->insn->flags & (INSN_PC_READ | INSN_PC_MEM))
		return x->insn->target;
	return x->base + (u64)insn_displacement(arch->prefix, arch->word);
}

static __noprobe bool immediate(struct analysis *x)
{
	switch (x->insn->arch.op) {
	case PPC_ADDI:
		set_rt(x, x->base + (u64)x->simm);
		return true;
	case PPC_ADDIS:
		set_rt(x, x->base + (u64)x->simm * 0x10000);
		return true;
	case PPC_ADDPCIS:
		set_rt(x, x->insn->target);
		return true;
	case PPC_PADDI:
		set_rt(x, prefixed_address(x));
		return true;
	case PPC_ADDIC:
	case PPC_ADDIC_RC:
		add_carry(x, x->a, (u64)x->simm, false);
		if (x->insn->arch.op == PPC_ADDIC_RC)
			record(x);
		return true;
	case PPC_SUBFIC:
		add_carry(x, ~x->a, (u64)x->simm, true);
		return true;
	case PPC_MULLI:
		set_rt(x, x->a * (u64)x->simm);
		return true;
	default:
		return false;
	}
}

static __noprobe bool immediate_logic(struct analysis *x)
{
	u64 high = (u64)x->uimm << 16;

	switch (x->insn->arch.op) {
	case PPC_ORI:
		set_target_ra(x, x->s | x->uimm);
		return true;
	case PPC_ORIS:
		set_target_ra(x, x->s | high);
		return true;
	case PPC_XORI:
		set_target_ra(x, x->s ^ x->uimm);
		return true;
	case PPC_XORIS:
		set_target_ra(x, x->s ^ high);
		return true;
	case PPC_ANDI_RC:
		set_target_ra(x, x->s & x->uimm);
		record(x);
		return true;
	case PPC_ANDIS_RC:
		set_target_ra(x, x->s & high);
		record(x);
		return true;
	case PPC_NOP:
	case PPC_XNOP:
	case PPC_PNOP:
		return true;
	default:
		return false;
	}
}

#define BIT_OE 0x400u

static __noprobe bool arithmetic(struct analysis *x)
{
	bool carry = x->regs->xer & XER_CA;

	if (x->word & BIT_OE)
		return false;
	switch (x->insn->arch.op) {
	case PPC_ADD:
		set_rt(x, x->a + x->b);
		break;
	case PPC_SUBF:
		set_rt(x, x->b - x->a);
		break;
	case PPC_NEG:
		set_rt(x, -x->a);
		break;
	case PPC_ADDC:
		add_carry(x, x->a, x->b, false);
		break;
	case PPC_SUBFC:
		add_carry(x, ~x->a, x->b, true);
		break;
	case PPC_ADDE:
		add_carry(x, x->a, x->b, carry);
		break;
	case PPC_SUBFE:
		add_carry(x, ~x->a, x->b, carry);
		break;
	case PPC_ADDZE:
		add_carry(x, x->a, 0, carry);
		break;
	case PPC_SUBFZE:
		add_carry(x, ~x->a, 0, carry);
		break;
	case PPC_ADDME:
		add_carry(x, x->a, ~0ull, carry);
		break;
	case PPC_SUBFME:
		add_carry(x, ~x->a, ~0ull, carry);
		break;
	case PPC_MULLD:
		set_rt(x, x->a * x->b);
		break;
	case PPC_MULLW:
		set_rt(x, (u64)((s64)(s32)x->a * (s32)x->b));
		break;
	default:
		return false;
	}
	if (x->word & 1)
		record(x);
	return true;
}

static __noprobe bool logic(struct analysis *x)
{
	u64 value;

	switch (x->insn->arch.op) {
	case PPC_AND:
		value = x->s & x->b;
		break;
	case PPC_ANDC:
		value = x->s & ~x->b;
		break;
	case PPC_NAND:
		value = ~(x->s & x->b);
		break;
	case PPC_OR:
		value = x->s | x->b;
		break;
	case PPC_ORC:
		value = x->s | ~x->b;
		break;
	case PPC_NOR:
		value = ~(x->s | x->b);
		break;
	case PPC_XOR:
		value = x->s ^ x->b;
		break;
	case PPC_EQV:
		value = ~(x->s ^ x->b);
		break;
	case PPC_EXTSB:
		value = (u64)(s8)x->s;
		break;
	case PPC_EXTSH:
		value = (u64)(s16)x->s;
		break;
	case PPC_EXTSW:
		value = (u64)(s32)x->s;
		break;
	case PPC_CNTLZW:
		value = (u32)x->s ? __builtin_clz(x->s) : 32;
		break;
	case PPC_CNTLZD:
		value = x->s ? __builtin_clzll(x->s) : 64;
		break;
	case PPC_CNTTZW:
		value = (u32)x->s ? __builtin_ctz(x->s) : 32;
		break;
	case PPC_CNTTZD:
		value = x->s ? __builtin_ctzll(x->s) : 64;
		break;
	default:
		return false;
	}
	set_target_ra(x, value);
	if (x->word & 1)
		record(x);
	return true;
}

/* sraw and srad: CA says whether ones were lost from a negative number. */
static __noprobe u64 shift_right_signed(struct analysis *x, s64 value,
					unsigned bits, unsigned width)
{
	u64 lost = bits < width ? (u64)value & ((1ull << bits) - 1) : ~0ull;
	bool ca = value < 0 && lost;

	set_carry(x, ca, ca);
	return (u64)(value >> (bits < 63 ? bits : 63));
}

static __noprobe bool shift(struct analysis *x)
{
	unsigned bits5 = x->rb, bits6 = x->rb | (x->word & 2) << 4;
	u64 value;

	switch (x->insn->arch.op) {
	case PPC_SLW:
		value = x->b & 0x20 ? 0 : (u32)x->s << (x->b & 31);
		break;
	case PPC_SRW:
		value = x->b & 0x20 ? 0 : (u32)x->s >> (x->b & 31);
		break;
	case PPC_SLD:
		value = x->b & 0x40 ? 0 : x->s << (x->b & 63);
		break;
	case PPC_SRD:
		value = x->b & 0x40 ? 0 : x->s >> (x->b & 63);
		break;
	case PPC_SRAW:
		value = shift_right_signed(x, (s32)x->s, x->b & 0x3f, 32);
		break;
	case PPC_SRAWI:
		value = shift_right_signed(x, (s32)x->s, bits5, 32);
		break;
	case PPC_SRAD:
		value = shift_right_signed(x, (s64)x->s, x->b & 0x7f, 64);
		break;
	case PPC_SRADI:
		value = shift_right_signed(x, (s64)x->s, bits6, 64);
		break;
	case PPC_EXTSWSLI:
		value = (u64)(s32)x->s << bits6;
		break;
	default:
		return false;
	}
	set_target_ra(x, value);
	if (x->word & 1)
		record(x);
	return true;
}

static __noprobe u64 rotate_left(u64 value, unsigned bits)
{
	return value << (bits & 63) | value >> (-bits & 63);
}

/* Ones from bit @first to bit @last, round the end if first > last. */
static __noprobe u64 mask(unsigned first, unsigned last)
{
	u64 from = ~0ull >> first, to = ~0ull << (63 - last);

	return first <= last ? from & to : from | to;
}

static __noprobe bool rotate(struct analysis *x)
{
	unsigned sh = x->rb | (x->word & 2) << 4;
	unsigned mb = insn_field(x->word, 21, 25) | (x->word & 0x20);
	unsigned mb32 = insn_field(x->word, 21, 25) + 32;
	unsigned me32 = insn_field(x->word, 26, 30) + 32;
	u64 twice = (u32)x->s * 0x100000001ull; /* low word in both halves */
	u64 m, value;

	switch (x->insn->arch.op) {
	case PPC_RLWINM:
		value = rotate_left(twice, x->rb) & mask(mb32, me32);
		break;
	case PPC_RLWNM:
		value = rotate_left(twice, x->b & 31) & mask(mb32, me32);
		break;
	case PPC_RLWIMI:
		m = mask(mb32, me32);
		value = (rotate_left(twice, x->rb) & m) | (x->a & ~m);
		break;
	case PPC_RLDICL:
		value = rotate_left(x->s, sh) & mask(mb, 63);
		break;
	case PPC_RLDICR:
		value = rotate_left(x->s, sh) & mask(0, mb);
		break;
	case PPC_RLDIC:
		value = rotate_left(x->s, sh) & mask(mb, 63 - sh);
		break;
	case PPC_RLDIMI:
		m = mask(mb, 63 - sh);
		value = (rotate_left(x->s, sh) & m) | (x->a & ~m);
		break;
	case PPC_RLDCL:
		value = rotate_left(x->s, x->b & 63) & mask(mb, 63);
		break;
	case PPC_RLDCR:
		value = rotate_left(x->s, x->b & 63) & mask(0, mb);
		break;
	default:
		return false;
	}
	set_target_ra(x, value);
	if (x->word & 1)
		record(x);
	return true;
}

/* Condition register ---------------------------------------------------------
 */

static __noprobe void compare(struct analysis *x, bool less, bool greater)
{
	set_cr_field(x, insn_field(x->word, 6, 8),
		     (less	? CR_LT
		      : greater ? CR_GT
				: CR_EQ) |
			     summary_overflow(x));
}

static __noprobe void compare_signed(struct analysis *x, s64 a, s64 b)
{
	if (!(x->word & 1 << 21)) { /* L */
		a = (s32)a;
		b = (s32)b;
	}
	compare(x, a<b, a> b);
}

static __noprobe void compare_unsigned(struct analysis *x, u64 a, u64 b)
{
	if (!(x->word & 1 << 21)) {
		a = (u32)a;
		b = (u32)b;
	}
	compare(x, a<b, a> b);
}

static __noprobe bool cr_logic(struct analysis *x)
{
	bool a = cr_bit(x, x->ra), b = cr_bit(x, x->rb), value;

	switch (x->insn->arch.op) {
	case PPC_CRAND:
		value = a && b;
		break;
	case PPC_CRANDC:
		value = a && !b;
		break;
	case PPC_CRNAND:
		value = !(a && b);
		break;
	case PPC_CROR:
		value = a || b;
		break;
	case PPC_CRORC:
		value = a || !b;
		break;
	case PPC_CRNOR:
		value = !(a || b);
		break;
	case PPC_CRXOR:
		value = a != b;
		break;
	case PPC_CREQV:
		value = a == b;
		break;
	default:
		return false;
	}
	set_cr_bit(x, x->rt, value);
	return true;
}

static __noprobe bool condition(struct analysis *x)
{
	switch (x->insn->arch.op) {
	case PPC_CMP:
		compare_signed(x, (s64)x->a, (s64)x->b);
		return true;
	case PPC_CMPI:
		compare_signed(x, (s64)x->a, x->simm);
		return true;
	case PPC_CMPL:
		compare_unsigned(x, x->a, x->b);
		return true;
	case PPC_CMPLI:
		compare_unsigned(x, x->a, x->uimm);
		return true;
	case PPC_ISEL:
		set_rt(x,
		       cr_bit(x, insn_field(x->word, 21, 25)) ? x->base : x->b);
		return true;
	case PPC_SETBC:
		set_rt(x, cr_bit(x, x->ra));
		return true;
	case PPC_SETBCR:
		set_rt(x, !cr_bit(x, x->ra));
		return true;
	case PPC_SETNBC:
		set_rt(x, -(u64)cr_bit(x, x->ra));
		return true;
	case PPC_SETNBCR:
		set_rt(x, -(u64)!cr_bit(x, x->ra));
		return true;
	case PPC_MCRF:
		set_cr_field(x, insn_field(x->word, 6, 8),
			     x->regs->ccr >> (28 - 4 * (x->ra >> 2)) & 0xf);
		return true;
	default:
		return cr_logic(x);
	}
}

/* Special registers ----------------------------------------------------------
 */

/* The CR bits that an eight-bit field mask selects. */
static __noprobe u32 cr_mask(u32 fxm)
{
	u32 bits = 0;

	for (unsigned i = 0; i < 8; i++)
		if (fxm & 1u << i)
			bits |= 0xfu << 4 * i;
	return bits;
}

static __noprobe bool special(struct analysis *x)
{
	u32 bits = cr_mask(insn_field(x->word, 12, 19));
	struct insn_op *op = x->op;

	switch (x->insn->arch.op) {
	case PPC_MFLR:
		set_rt(x, x->regs->link);
		return true;
	case PPC_MFCTR:
		set_rt(x, x->regs->ctr);
		return true;
	case PPC_MFXER:
		set_rt(x, x->regs->xer);
		return true;
	case PPC_MTLR:
		op->set |= INSN_SET_LINK;
		op->link = x->s;
		return true;
	case PPC_MTCTR:
		op->set |= INSN_SET_CTR;
		op->ctr = x->s;
		return true;
	case PPC_MTXER:
		op->set |= INSN_SET_XER;
		op->xer = x->s;
		return true;
	case PPC_MFCR:
		set_rt(x, (u32)x->regs->ccr);
		return true;
	case PPC_MFOCRF: /* the other bits are undefined */
		set_rt(x, (u32)x->regs->ccr & bits);
		return true;
	case PPC_MTCRF:
	case PPC_MTOCRF:
		op->set |= INSN_SET_CCR;
		op->ccr = ((u32)x->regs->ccr & ~bits) | (x->s & bits);
		return true;
	default:
		return false;
	}
}

/* With L = 1 only EE and RI change (ISA 3.1 III 5.4.4). */
static __noprobe bool machine_state(struct analysis *x)
{
	const u64 bits = MSR_EE | MSR_RI;

	switch (x->insn->arch.op) {
	case PPC_MFMSR:
		set_rt(x, x->regs->msr);
		return true;
	case PPC_MTMSR_EE:
	case PPC_MTMSRD_EE:
		x->op->set |= INSN_SET_MSR;
		x->op->msr = (x->regs->msr & ~bits) | (x->s & bits);
		return true;
	default:
		return false;
	}
}

/* Memory ---------------------------------------------------------------------
 */

static __noprobe u64 access_address(const struct analysis *x)
{
	if (x->insn->flags & INSN_PREFIXED)
		return prefixed_address(x);
	switch (x->insn->arch.access & INSN_ACCESS_FORM) {
	case INSN_ACCESS_D:
		return x->base + (u64)x->simm;
	case INSN_ACCESS_DS:
		return x->base + (u64)(x->simm & ~3ll);
	default:
		return x->base + x->b;
	}
}

static __noprobe u64 reverse(u64 value, unsigned size)
{
	return __builtin_bswap64(value) >> (64 - 8 * size);
}

static __noprobe bool access(struct analysis *x)
{
	unsigned how = x->insn->arch.access;
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
static __noprobe int load(struct insn_op *op, unsigned size, u64 *value)
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

static __noprobe int store(struct insn_op *op, unsigned size)
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

static __noprobe int access_memory(struct insn_op *op)
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

static __noprobe bool analyse(struct analysis *x)
{
	const struct insn *insn = x->insn;

	if (!(x->regs->msr & MSR_SF) || insn->arch.op == 0)
		return false;
	if (insn->flags & INSN_PRIV && x->regs->msr & MSR_PR)
		return false;
	if (insn->arch.access)
		return access(x);
	return branch(x) || immediate(x) || immediate_logic(x) ||
	       arithmetic(x) || logic(x) || shift(x) || rotate(x) ||
	       condition(x) || special(x) || machine_state(x);
}

__noprobe enum insn_emu arch_insn_analyse(const struct insn *insn,
					  const struct pt_regs *regs,
					  struct insn_op *op)
{
	u32 word = insn->arch.word;
	struct analysis x = {
		.insn = insn,
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
	if (!analyse(&x))
		return INSN_EMU_NONE;
	return op->access ? INSN_EMU_NEEDS_MEMORY : INSN_EMU_DONE_IN_REGS;
}

__noprobe int arch_insn_apply(struct insn_op *op, struct pt_regs *regs)
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
