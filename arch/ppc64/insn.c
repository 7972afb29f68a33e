// SPDX-License-Identifier: MIT
/*
 * The ppc64 decoder: one or two words against the tables made from insn.map.
 *
 * A word is an instruction if one line of the map matches it, reserved bits
 * included, and none of the invalid forms that masks cannot express applies
 * (valid_form). What a line says of all its words is copied; what depends on
 * operands (branches, privileged SPRs) is added by operand_flags().
 *
 * Pure; any context.
 */
#include <arch/insn.h>
#include <asm/spr.h>
#include <lib/errno.h>

/* Invalid forms (ISA 3.1 I 1.8), by the name used in the map. */
enum insn_check {
	CHECK_NONE,
	CHECK_BO,	 /* BO is a reserved combination */
	CHECK_BO_CTR,	 /* also: may not count down what it jumps to */
	CHECK_RA,	 /* update with RA = 0 */
	CHECK_RA_RT,	 /* also: load with RA = RT */
	CHECK_RA_NOT_RT, /* load of a pair over its own base */
	CHECK_LMW,	 /* base among the loaded registers */
	CHECK_LSWI,
	CHECK_LSWX,
	CHECK_LQARX,
	CHECK_PCREL,	/* R = 1 with RA != 0 */
	CHECK_PCREL_RT, /* also: load of a pair over its own base */
	CHECK_PNOP,	/* the suffix may not be a branch */
	CHECK_FXM,	/* exactly one field */
	CHECK_ACC,	/* operand inside the target accumulator */
	CHECK_ACC_PAIR, /* also: the first operand is an even pair */
	CHECK_DCBF,	/* reserved values of L, SC, WC and PL */
	CHECK_SYNC,
	CHECK_WAIT,
};

struct insn_row {
	u32 mask;
	u32 value;
	u32 flags; /* enum insn_flag */
	u8 deny;   /* enum insn_deny */
	u8 check;  /* enum insn_check */
	u8 emu;	   /* enum insn_emu_family */
	u8 isa;	   /* enum insn_isa: emulation only from there on */
	u8 access; /* enum insn_access */
};

struct insn_prefix {
	u32 mask;
	u32 value;
};

/* Where the candidates of one primary opcode are. */
struct insn_index {
	u8 shift;   /* word >> shift, */
	u8 bits;    /* so many bits of it, */
	u16 bucket; /* from here on: insn_buckets[] */
};

#define PPC_INSN_TABLES
#include <gen/insn_table.h>

#ifdef __SONDE_HOST__
bool insn_text_little;
enum insn_isa insn_isa = ISA_3_1;
#define isa_of_cpu() insn_isa
#else
/* What the processor version register says; whoever is younger knows 3.1. */
static enum insn_isa isa_of_cpu(void)
{
	switch (mfspr(SPR_PVR) >> 16) {
	case 0x004b: /* POWER8 in its three forms */
	case 0x004c:
	case 0x004d:
		return ISA_2_07;
	case 0x004e: /* POWER9 */
		return ISA_3_0;
	default:
		return ISA_3_1;
	}
}
#endif

#define FIELD_RT(word) insn_field(word, 6, 10)
#define FIELD_RA(word) insn_field(word, 11, 15)
#define FIELD_RB(word) insn_field(word, 16, 20)

static unsigned find_word(u32 word)
{
	const struct insn_index *index = &insn_index[word >> 26];
	u32 key = word >> index->shift & ((1u << index->bits) - 1);
	unsigned at = insn_buckets[index->bucket + key];
	unsigned end = insn_buckets[index->bucket + key + 1];

	for (; at < end; at++) {
		const struct insn_row *row = &insn_rows[insn_lists[at]];

		if ((word & row->mask) == row->value)
			return insn_lists[at];
	}
	return PPC_NONE;
}

/* Bit 21 of XO-form instructions: OV and SO are set. */
#define OE 0x400u

/* Branch always / count down, as bits of BO. */
#define BO_NO_CR  0x10
#define BO_NO_CTR 0x04

/* The hint "at" may not be 01; bits that the manual calls z are ignored. */
static bool bo_valid(u32 bo)
{
	switch (bo & (BO_NO_CR | BO_NO_CTR)) {
	case BO_NO_CTR: /* 0c1at */
		return (bo & 3) != 1;
	case BO_NO_CR: /* 1a0ct */
		return (bo & 9) != 1;
	default:
		return true;
	}
}

/* Is @reg among the @count registers from @first on, r31 before r0? */
static bool in_registers(u32 reg, u32 first, u32 count)
{
	return ((reg - first) & 31) < count;
}

static bool acc_valid(u32 word)
{
	u32 acc = insn_field(word, 6, 8);
	bool a_high = word & 4, b_high = word & 2;

	return (a_high || FIELD_RA(word) >> 2 != acc) &&
	       (b_high || FIELD_RB(word) >> 2 != acc);
}

/* (ISA 3.1 II 4.6.3): L and SC of sync. */
static bool sync_valid(u32 l, u32 sc)
{
	switch (sc) {
	case 0:
		return BIT(l) & 0x37; /* hw lw pte - phw plw */
	case 1:
		return l == 1; /* stncisync */
	default:
		return l == 0; /* stcisync, stsync */
	}
}

/* A branch or a change of context may not hide there (ISA 3.1 I 3.3). */
static bool pnop_suffix_valid(u32 word)
{
	unsigned op = find_word(word);
	unsigned deny = insn_rows[op].deny;

	if (op >= PPC_B && op <= PPC_BCTAR)
		return false;
	return deny != INSN_DENY_RETURN && deny != INSN_DENY_SYSCALL &&
	       deny != INSN_DENY_STATE;
}

/* R (bit 11), which only the types 8LS and MLS of prefixes have. */
static bool is_pcrel(u32 prefix)
{
	return prefix & BIT(20) && !(prefix & BIT(24));
}

static bool valid_form(unsigned check, u32 word, u32 prefix)
{
	u32 rt = FIELD_RT(word), ra = FIELD_RA(word), rb = FIELD_RB(word);
	bool pcrel = is_pcrel(prefix);

	switch (check) {
	case CHECK_BO:
		return bo_valid(rt);
	case CHECK_BO_CTR:
		return bo_valid(rt) && (rt & BO_NO_CTR);
	case CHECK_RA:
		return ra != 0;
	case CHECK_RA_RT:
		return ra != 0 && ra != rt;
	case CHECK_RA_NOT_RT:
		return ra != rt;
	case CHECK_LMW:
		return ra < rt && !(ra == 0 && rt == 0);
	case CHECK_LSWI:
		return !in_registers(ra, rt, ((rb ? rb : 32) + 3) / 4);
	case CHECK_LSWX:
		return rt != ra && rt != rb;
	case CHECK_LQARX:
		return rt != ra && rt != rb;
	case CHECK_PCREL:
		return !pcrel || ra == 0;
	case CHECK_PCREL_RT:
		return (!pcrel || ra == 0) && ra != rt;
	case CHECK_PNOP:
		return pnop_suffix_valid(word);
	case CHECK_FXM: {
		u32 fxm = insn_field(word, 12, 19);

		return fxm && !(fxm & (fxm - 1));
	}
	case CHECK_ACC:
		return acc_valid(word);
	case CHECK_ACC_PAIR:
		return acc_valid(word) && !(ra & 1);
	case CHECK_DCBF: /* L 0, 1, 3, 4, 6 */
		return BIT(insn_field(word, 8, 10)) & 0x5b;
	case CHECK_SYNC:
		return sync_valid(insn_field(word, 8, 10),
				  insn_field(word, 14, 15));
	case CHECK_WAIT: /* WC 0, 1, 2, PL 0 */
		return insn_field(word, 9, 10) < 3 && !insn_field(word, 14, 15);
	default:
		return true;
	}
}

static u32 branch_flags(struct insn *insn)
{
	u32 word = insn->arch.word;
	u32 bo = FIELD_RT(word);
	bool link = word & 1;
	u32 flags = link ? INSN_CALL | INSN_LR_WRITE : 0;

	switch (insn->arch.op) {
	case PPC_B:
		return flags;
	case PPC_BCLR:
		flags |= link ? INSN_INDIRECT : INSN_RET;
		break;
	default:
		break;
	}
	if (!(bo & BO_NO_CTR))
		flags |= INSN_LOOP;
	if ((bo & (BO_NO_CR | BO_NO_CTR)) != (BO_NO_CR | BO_NO_CTR))
		flags |= INSN_COND;
	return flags;
}

/* The address a branch goes to or a pc-relative operand names. */
static u64 operand_target(const struct insn *insn)
{
	u32 word = insn->arch.word, prefix = insn->arch.prefix;
	u64 base = word & 2 ? 0 : insn->pc; /* AA */
	s64 disp;

	switch (insn->arch.op) {
	case PPC_B:
		return base + (s64)((s32)(word << 6) >> 6 & ~3);
	case PPC_BC:
		return base + (s16)(word & 0xfffc);
	case PPC_BCL_HERE:
		return insn->pc + 4;
	case PPC_ADDPCIS: /* d0 || d1 || d2 */
		disp = (s16)(insn_field(word, 16, 25) << 6 |
			     insn_field(word, 11, 15) << 1 | (word & 1));
		return insn->pc + 4 + (u64)disp * 0x10000;
	default:
		return insn->pc + (u64)insn_displacement(prefix, word);
	}
}

/* What the map's line cannot say, since it depends on operands. */
static void operand_flags(struct insn *insn)
{
	u32 word = insn->arch.word;

	switch (insn->arch.op) {
	case PPC_B:
	case PPC_BC:
	case PPC_BCLR:
	case PPC_BCCTR:
	case PPC_BCTAR:
		insn->flags |= branch_flags(insn);
		break;
	case PPC_MFSPR:
	case PPC_MTSPR: /* SPRs with bit 0x10 are privileged (III 5.4.4) */
		if (insn_field(word, 11, 11))
			insn->flags |= INSN_PRIV;
		break;
	default:
		/* No emulation of the forms that set OV. */
		if (insn->arch.emu == EMU_ARITHMETIC && word & OE)
			insn->arch.emu = EMU_NONE;
		if (is_pcrel(insn->arch.prefix))
			insn->flags |= insn->flags & INSN_MEM ? INSN_PC_MEM
							      : INSN_PC_READ;
	}
	if (insn->flags & (INSN_BRANCH_REL | INSN_PC_READ | INSN_PC_MEM))
		insn->target = operand_target(insn);
}

/* With @suffix NULL: could @prefix be one at all? */
static unsigned find_prefixed(u32 prefix, const u32 *suffix)
{
	for (unsigned op = PPC_PREFIXED; op < PPC_OP_COUNT; op++) {
		const struct insn_prefix *p = &insn_prefixes[op - PPC_PREFIXED];
		const struct insn_row *row = &insn_rows[op];

		if ((prefix & p->mask) == p->value &&
		    (!suffix || (*suffix & row->mask) == row->value))
			return op;
	}
	return PPC_NONE;
}

static int undecodable(struct insn *insn)
{
	insn->deny = INSN_DENY_UNDECODABLE;
	insn->flags = 0;
	insn->arch.op = PPC_NONE;
	insn->arch.emu = EMU_NONE;
	insn->arch.access = 0;
	insn->len = 4;
	return -EILSEQ;
}

#define PO_PREFIX 1

int arch_insn_decode(struct insn *insn, const void *buf, size_t avail, u64 pc)
{
	const u8 *bytes = buf;
	const struct insn_row *row;
	u32 word, prefix = 0;
	unsigned op;

	if (avail < 4)
		return -ENODATA;
	*insn = (struct insn){ .pc = pc, .len = 4 };
	word = insn_word_get(bytes);
	if (word >> 26 == PO_PREFIX) {
		prefix = word;
		if (!find_prefixed(prefix, NULL))
			return undecodable(insn);
		if (avail < 8)
			return -ENODATA;
		word = insn_word_get(bytes + 4);
		op = find_prefixed(prefix, &word);
		insn->len = 8;
	} else {
		op = find_word(word);
	}
	row = &insn_rows[op];
	for (unsigned i = 0; i < insn->len; i++)
		insn->bytes[i] = bytes[i];
	insn->arch.word = word;
	insn->arch.prefix = prefix;
	if (!op || !valid_form(row->check, word, prefix))
		return undecodable(insn);
	insn->arch.op = op;
	if (row->isa <= isa_of_cpu())
		insn->arch.emu = row->emu;
	insn->arch.access = row->access;
	insn->flags = row->flags;
	insn->deny = row->deny;
	operand_flags(insn);
	return 0;
}
