// SPDX-License-Identifier: MIT
/*
 * The x86_64 decoder: bytes -> struct insn, as arch/x86_64/insn.map says.
 *
 *	prefixes | REX | opcode 1..3 | ModRM | SIB | displacement | immediate
 *	prefixes | VEX, EVEX or XOP | opcode | ModRM | ...
 *
 * The caller's bytes are copied first, at most 15 and at most as many as there
 * are; everything else looks only at the copy, through next(), which counts
 * past the end without reading there. So nothing here can read beyond, and one
 * comparison at the end tells whether something was missing.
 *
 * Prefixes are a set of bits, not a list: any number in any order.
 *
 * Pure: any context. Never probed, since it runs in the traps of others.
 */
#include <arch/insn.h>
#include <lib/errno.h>

/* What an instruction form of the map allows. */
enum form_ext {
	X_MODRM = 1 << 0,
	X_LOCK = 1 << 1,
	X_D64 = 1 << 2,	   /* 64-bit operand by default */
	X_NOMEM = 1 << 3,  /* the memory operand is not accessed */
	X_NOVVVV = 1 << 4, /* VEX.vvvv is unused */
	X_K = 1 << 5,	   /* EVEX.aaa may name a mask */
	X_K_NEEDED = 1 << 6,
	X_Z = 1 << 7, /* EVEX.z */
	X_Z_REG = 1 << 8,
	X_B_MEM = 1 << 9,  /* EVEX.b with memory: broadcast */
	X_B_REG = 1 << 10, /* and with registers: rounding, no exceptions */
};

enum form_imm {
	IMM_NONE,
	IMM_IB,
	IMM_IW,
	IMM_IWB,
	IMM_IB2,
	IMM_ID,
	IMM_IZ,
	IMM_IV,
	IMM_MO,
	IMM_JB,
	IMM_JZ,
	IMM_JZW,
};

/* Limits on operands: check_operands(). */
enum form_check {
	CHECK_NONE,
	CHECK_CR,
	CHECK_DR,
	CHECK_SEG,
	CHECK_SEG_NOT_CS,
	CHECK_BND,
	CHECK_BND_BOTH,
	CHECK_BND_MIB,
	CHECK_NO_REX_B,
	CHECK_K_REG,
	CHECK_K_RM,
	CHECK_K_ALL,
	CHECK_TILE,
	CHECK_TILES,
	CHECK_GPR,
	CHECK_GATHER,
	CHECK_SCATTER,
	CHECK_APART,
};

struct insn_form {
	u32 mask;  /* the keys it accepts: tools/insn_gen/x86_64.py */
	u32 flags; /* enum insn_flag */
	u16 ext;   /* enum form_ext */
	u8 imm;	   /* enum form_imm */
	u8 check;  /* enum form_check */
	u8 emu;	   /* enum x86_emu */
	u8 deny;   /* enum insn_deny */
	u8 last;   /* of this opcode's forms */
};

#include <gen/insn_table.h>

/* Where the fields of a key begin. */
enum {
	KEY_PP = 0,
	KEY_W = 4,
	KEY_L = 6,
	KEY_MOD = 10,
	KEY_REG = 12,
	KEY_RM = 20
};

/* Mandatory prefixes, numbered as in VEX.pp. */
enum { PP_NONE, PP_66, PP_F3, PP_F2 };

/* #UD (SDM 2A 2.3.2 to 2.3.4). */
#define NOT_BEFORE_VEX \
	(X86_P_LOCK | X86_P_OPSIZE | X86_P_REPNE | X86_P_REP | X86_P_REX)

/* Bits of EVEX's third byte. */
enum { EVEX_AAA = 7, EVEX_B = 1 << 4, EVEX_Z = 1 << 7 };

/* An instruction being decoded. */
struct decoder {
	struct insn *insn;
	struct arch_insn *a;
	unsigned pos; /* of the next byte; beyond end if bytes were missing */
	unsigned end;
	u8 pp;
	u8 vl;	     /* VEX.L or EVEX.L'L */
	u8 vvvv;     /* 0..31: V' and vvvv, upright */
	bool r_high; /* EVEX.R', upright */
	u8 p2;	     /* EVEX: z L'L b V' aaa */
};

/* clang-format off */
static const u8 prefix_bits[256] = {
	[0x26] = X86_P_SEG, [0x2e] = X86_P_SEG, [0x36] = X86_P_SEG,
	[0x3e] = X86_P_SEG, [0x64] = X86_P_SEG, [0x65] = X86_P_SEG,
	[0x66] = X86_P_OPSIZE, [0x67] = X86_P_ADDRSIZE,
	[0xf0] = X86_P_LOCK, [0xf2] = X86_P_REPNE, [0xf3] = X86_P_REP,
	[0x40 ... 0x4f] = X86_P_REX,
};
/* clang-format on */

static bool is_evex(const struct arch_insn *a)
{
	return a->space > X86_EVEX && a->space <= X86_EVEX + 6;
}

static u8 peek(const struct decoder *d)
{
	return d->pos < d->end ? d->insn->bytes[d->pos] : 0;
}

static u8 next(struct decoder *d)
{
	u8 byte = peek(d);

	d->pos++;
	return byte;
}

/* The set of prefixes; a REX counts only directly before the opcode. */
static void read_prefixes(struct decoder *d)
{
	struct arch_insn *a = d->a;
	u8 byte, bit;

	while ((bit = prefix_bits[byte = peek(d)]) != 0) {
		a->prefixes = (a->prefixes & ~X86_P_REX) | bit;
		a->rex = bit == X86_P_REX ? byte & 15 : 0;
		if (bit == X86_P_SEG)
			a->segment = byte;
		else if (bit == X86_P_REP)
			d->pp = PP_F3;
		else if (bit == X86_P_REPNE)
			d->pp = PP_F2;
		d->pos++;
	}
	if (!d->pp && a->prefixes & X86_P_OPSIZE)
		d->pp = PP_66;
}

static void read_legacy_opcode(struct decoder *d, unsigned space)
{
	d->a->space = space;
	d->a->opcode_off = d->pos;
	d->a->opcode = next(d);
}

static void read_0f_opcode(struct decoder *d)
{
	d->pos++;
	switch (peek(d)) {
	case 0x0f:
		d->pos++;
		d->a->space = X86_3DNOW; /* its opcode comes last */
		break;
	case 0x38:
		d->pos++;
		read_legacy_opcode(d, X86_0F38);
		break;
	case 0x3a:
		d->pos++;
		read_legacy_opcode(d, X86_0F3A);
		break;
	default:
		read_legacy_opcode(d, X86_0F);
	}
}

/* The byte that VEX, EVEX and XOP have in common: W vvvv L pp. */
static void vex_payload(struct decoder *d, u8 byte)
{
	d->a->rex |= byte >> 7 << 3;
	d->vvvv = ~byte >> 3 & 15;
	d->vl = byte >> 2 & 1;
	d->pp = byte & 3;
}

/*
 *	c5	R vvvv L pp		(SDM 2A 2.3.5; R X B vvvv inverted)
 *	c4	R X B mmmmm	W vvvv L pp
 *	8f	the same, mmmmm >= 8	(APM 3 1.2.8)
 *	62	R X B R' 0 mmm	W vvvv 1 pp	z L'L b V' aaa	(SDM 2A 2.7.1)
 */
static int read_vex_opcode(struct decoder *d, u8 first)
{
	struct arch_insn *a = d->a;
	unsigned map = 1, base = X86_VEX, maps = 3;
	bool valid = !(a->prefixes & NOT_BEFORE_VEX);
	u8 byte;

	d->pos++;
	byte = next(d);
	a->rex = ~byte >> 5 & 7;
	if (first == 0xc5) {
		a->rex &= X86_REX_R;
		vex_payload(d, byte & 0x7f);
	} else {
		map = byte & 0x1f;
		vex_payload(d, next(d));
	}
	if (first == 0x8f) {
		base = X86_XOP;
		maps = 10;
	} else if (first == 0x62) {
		valid &= !(map & 8) && d->vl; /* two fixed bits */
		base = X86_EVEX;
		maps = 6;
		map &= 7;
		d->r_high = ~byte >> 4 & 1;
		d->p2 = next(d);
		d->vl = d->p2 >> 5 & 3;
		d->vvvv |= (~d->p2 & 8) << 1;
	}
	if (!map || map > maps)
		return -EILSEQ;
	read_legacy_opcode(d, base + map);
	return valid ? 0 : -EILSEQ;
}

static int read_opcode(struct decoder *d)
{
	u8 first = peek(d);

	switch (first) {
	case 0x0f:
		read_0f_opcode(d);
		return 0;
	case 0x8f:
		/* XOP where pop's ModRM.reg would not be 0. */
		if (d->pos + 1 < d->end &&
		    (d->insn->bytes[d->pos + 1] & 0x1f) < 8)
			break;
		/* fall through */
	case 0x62:
	case 0xc4:
	case 0xc5:
		return read_vex_opcode(d, first);
	}
	read_legacy_opcode(d, X86_LEGACY);
	return 0;
}

static void read_modrm(struct decoder *d)
{
	d->a->modrm_off = d->pos;
	d->a->modrm = next(d);
}

/* SIB and displacement (SDM 2A 2.1.5, tables 2-2 and 2-3). */
static void read_address(struct decoder *d)
{
	struct arch_insn *a = d->a;
	unsigned mod = X86_MOD(a), base = X86_RM(a);

	if (mod == 3)
		return;
	if (base == 4) {
		a->sib = next(d);
		base = a->sib & 7;
	}
	if (mod == 1)
		a->disp_size = 1;
	else if (mod == 2 || base == 5)
		a->disp_size = 4;
	if (a->disp_size)
		a->disp_off = d->pos;
	d->pos += a->disp_size;
}

static const struct insn_form *find_form(const struct decoder *d)
{
	const struct arch_insn *a = d->a;
	const struct insn_form *form = &forms[form_index[a->space][a->opcode]];
	u32 key = 1u << (KEY_PP + d->pp);

	key |= 1u << (KEY_W + !!(a->rex & X86_REX_W));
	if (a->space > X86_3DNOW) {
		bool rounding = d->p2 & EVEX_B && X86_MOD(a) == 3;

		key |= 1u << (KEY_L + (rounding ? 2 : d->vl));
	}
	if (a->modrm_off) {
		key |= 1u << (KEY_MOD + (X86_MOD(a) == 3));
		key |= 1u << (KEY_REG + X86_REG(a));
		key |= 1u << (KEY_RM + X86_RM(a));
	}
	while ((form->mask & key) != key) {
		if (form->last)
			return NULL;
		form++;
	}
	return form;
}

static unsigned operand_size(const struct arch_insn *a, unsigned ext)
{
	if (a->rex & X86_REX_W)
		return 8;
	if (a->prefixes & X86_P_OPSIZE)
		return 2;
	return ext & X_D64 ? 8 : 4;
}

static void read_immediate(struct decoder *d, enum form_imm imm)
{
	static const u8 sizes[] = {
		[IMM_IB] = 1, [IMM_IW] = 2,  [IMM_IWB] = 3, [IMM_IB2] = 2,
		[IMM_ID] = 4, [IMM_IZ] = 4,  [IMM_MO] = 8,  [IMM_JB] = 1,
		[IMM_JZ] = 4, [IMM_JZW] = 4,
	};
	struct arch_insn *a = d->a;

	switch (imm) {
	case IMM_NONE:
		return;
	case IMM_IV:
		a->imm_size = a->opsize;
		break;
	case IMM_IZ:
	case IMM_JZW:
		a->imm_size = min(a->opsize, sizes[imm]);
		break;
	case IMM_MO:
		a->imm_size = a->prefixes & X86_P_ADDRSIZE ? 4 : 8;
		break;
	default:
		a->imm_size = sizes[imm];
	}
	a->imm_off = d->pos;
	d->pos += a->imm_size;
}

static bool all_differ(unsigned a, unsigned b, unsigned c)
{
	return a != b && b != c && a != c;
}

/* Are the registers that the operands name, fit for it? */
static bool check_operands(const struct decoder *d, enum form_check check)
{
	const struct arch_insn *a = d->a;
	unsigned reg = X86_REG(a) | (a->rex & X86_REX_R) << 1;
	unsigned rm = X86_RM(a) | (a->rex & X86_REX_B) << 3;
	unsigned index = (a->sib >> 3 & 7) | (a->rex & X86_REX_X) << 2;
	bool evex = is_evex(a);

	if (d->r_high)
		reg += 16;
	if (X86_MOD(a) == 3 && a->rex & X86_REX_X && evex)
		rm += 16;
	switch (check) {
	case CHECK_NONE:
	case CHECK_NO_REX_B:
	case CHECK_K_RM:
	case CHECK_SCATTER:
		return true;
	case CHECK_CR: /* cr0 cr2 cr3 cr4 cr8 (SDM 2B MOV) */
		return reg <= 8 && 0x11d >> reg & 1;
	case CHECK_SEG:
		return X86_REG(a) < 6;
	case CHECK_SEG_NOT_CS:
		return X86_REG(a) < 6 && X86_REG(a) != 1;
	case CHECK_BND:
		return reg < 4;
	case CHECK_BND_BOTH:
		return reg < 4 && rm < 4;
	case CHECK_BND_MIB:
		return reg < 4 && !X86_RIP_REL(a);
	case CHECK_DR:
	case CHECK_K_REG:
	case CHECK_TILE:
		return reg < 8;
	case CHECK_GPR:
		return reg < 16;
	case CHECK_K_ALL:
		return reg < 8 && d->vvvv < 8;
	case CHECK_TILES:
		return reg < 8 && rm < 8 && d->vvvv < 8 &&
		       all_differ(reg, rm, d->vvvv);
	case CHECK_GATHER: /* SDM 2C VGATHERDPS, VPGATHERDD */
		if (evex)
			return reg != index + (d->vvvv & 16);
		return all_differ(reg, index, d->vvvv);
	case CHECK_APART:
		return reg != d->vvvv && (X86_MOD(a) != 3 || reg != rm);
	}
	return false;
}

/* EVEX.aaa, z and b (SDM 2A 2.7.3 to 2.7.9). */
static bool check_evex(const struct decoder *d, unsigned ext)
{
	bool mem = X86_MOD(d->a) != 3;
	unsigned mask = d->p2 & EVEX_AAA;

	if (d->p2 & EVEX_B && !(ext & (mem ? X_B_MEM : X_B_REG)))
		return false;
	if (d->p2 & EVEX_Z && !(mask && ext & (mem ? X_Z : X_Z | X_Z_REG)))
		return false;
	return mask ? ext & (X_K | X_K_NEEDED) : !(ext & X_K_NEEDED);
}

/* What the opcode tables cannot say: 0 or -EILSEQ. */
static int check_form(const struct decoder *d, const struct insn_form *form)
{
	const struct arch_insn *a = d->a;
	bool vsib = form->check == CHECK_GATHER || form->check == CHECK_SCATTER;
	unsigned unused = vsib && is_evex(a) ? 15 : 31;

	if (a->prefixes & X86_P_LOCK && !(form->ext & X_LOCK && X86_HAS_MEM(a)))
		return -EILSEQ;
	if ((form->ext & X_NOVVVV || (vsib && is_evex(a))) && d->vvvv & unused)
		return -EILSEQ;
	if (is_evex(a) && !check_evex(d, form->ext))
		return -EILSEQ;
	return check_operands(d, form->check) ? 0 : -EILSEQ;
}

static s64 signed_field(const struct insn *insn, unsigned off, unsigned size)
{
	const u8 *at = insn->bytes + off;

	if (size == 1)
		return (s8)at[0];
	if (size == 2)
		return (s16)(at[0] | at[1] << 8);
	return (s32)(at[0] | at[1] << 8 | at[2] << 16 | (u32)at[3] << 24);
}

/*
 * Makers disagree about 66 before a near branch: ignored, or a 16-bit pc and
 * displacement (SDM 2A JMP, APM 3 JMP near). And 67 means nothing to the bound
 * instructions where they are not nops (SDM 2A BNDCL).
 */
static bool is_ambiguous(const struct insn *insn, const struct insn_form *form)
{
	const struct arch_insn *a = &insn->arch;

	if (form->check >= CHECK_BND && form->check <= CHECK_BND_MIB)
		return a->prefixes & X86_P_ADDRSIZE;
	return a->prefixes & X86_P_OPSIZE && !(a->rex & X86_REX_W) &&
	       form->imm != IMM_JZW && !(insn->flags & INSN_FAR) &&
	       insn->flags & (INSN_BRANCH_REL | INSN_INDIRECT);
}

static void classify(struct insn *insn, const struct insn_form *form)
{
	struct arch_insn *a = &insn->arch;

	a->emu = form->emu;
	insn->flags = form->flags;
	insn->deny = form->deny;
	if (!(a->prefixes & (X86_P_REP | X86_P_REPNE)))
		insn->flags &= ~INSN_REP_STRING;
	if (form->check == CHECK_NO_REX_B && a->rex & X86_REX_B) {
		insn->flags &= ~INSN_NOP;
		a->emu = X86_EMU_NONE;
	}
	if (form->imm == IMM_MO || (X86_HAS_MEM(a) && !(form->ext & X_NOMEM)))
		insn->flags |= INSN_MEM;
	if (insn->flags & INSN_BRANCH_REL) {
		insn->target = insn->pc + insn->len +
			       signed_field(insn, a->imm_off, a->imm_size);
	} else if (X86_RIP_REL(a) && !(insn->flags & INSN_NOP)) {
		insn->flags |= form->ext & X_NOMEM ? INSN_PC_READ : INSN_PC_MEM;
		insn->target = insn->pc + insn->len +
			       signed_field(insn, a->disp_off, 4);
		if (a->prefixes & X86_P_ADDRSIZE)
			insn->target = (u32)insn->target;
	}
	if (insn->deny == INSN_OK && is_ambiguous(insn, form))
		insn->deny = INSN_DENY_AMBIGUOUS;
}

static int decode(struct decoder *d)
{
	struct arch_insn *a = d->a;
	const struct insn_form *form;
	int error;

	read_prefixes(d);
	error = read_opcode(d);
	if (error)
		return error;
	if (a->space == X86_3DNOW) {
		read_modrm(d);
		read_address(d);
		read_legacy_opcode(d, X86_3DNOW);
		form = find_form(d);
		if (!form)
			return -EILSEQ;
	} else {
		if (forms[form_index[a->space][a->opcode]].ext & X_MODRM)
			read_modrm(d);
		form = find_form(d);
		if (!form)
			return -EILSEQ;
		if (form->check == CHECK_CR || form->check == CHECK_DR)
			a->modrm |= 0xc0;
		if (a->modrm_off)
			read_address(d);
	}
	error = check_form(d, form);
	if (error)
		return error;
	a->opsize = operand_size(a, form->ext);
	read_immediate(d, form->imm);
	d->insn->len = d->pos;
	if (d->pos <= d->end)
		classify(d->insn, form);
	return 0;
}

/* Decodes without looking at what follows. */
static int decode_alone(struct insn *insn, const u8 *from, size_t avail, u64 pc)
{
	struct decoder d = { .insn = insn, .a = &insn->arch };
	int error;

	*insn = (struct insn){ .pc = pc };
	d.end = min(avail, (size_t)ARCH_INSN_MAX);
	if (likely(d.end == ARCH_INSN_MAX))
		__builtin_memcpy(insn->bytes, from, ARCH_INSN_MAX);
	else
		for (unsigned i = 0; i < d.end; i++)
			insn->bytes[i] = from[i];
	error = decode(&d);
	if (d.pos > d.end)
		error = d.end < ARCH_INSN_MAX ? -ENODATA : -EILSEQ;
	if (error) {
		insn->deny = INSN_DENY_UNDECODABLE;
		insn->len = max(min(d.pos, d.end), 1u);
	}
	return error;
}

/*
 * ud2 and three letters: the next instruction is for the hypervisor, and all
 * of it is one.
 */
static int join_virt_prefix(struct insn *insn, const u8 *from, size_t avail)
{
	static const u8 xen[3] = "xen", kvm[3] = "kvm";
	struct insn next;
	int error;

	if (insn->arch.space != X86_0F || insn->arch.opcode != 0x0b ||
	    insn->len != 2 || avail < 5)
		return 0;
	if (__builtin_memcmp(from + 2, xen, 3) &&
	    __builtin_memcmp(from + 2, kvm, 3))
		return 0;
	error = decode_alone(&next, from + 5, avail - 5, insn->pc + 5);
	insn->len = 5 + next.len;
	if (insn->len > ARCH_INSN_MAX) {
		insn->len = 5;
		error = -EILSEQ;
	}
	insn->deny = error ? INSN_DENY_UNDECODABLE : INSN_DENY_VIRT;
	return error;
}

/*
 * Nothing may come between sti and hlt: the interrupt that hlt waits for would
 * be taken before it (SDM 2B STI).
 */
static void check_shadow(struct insn *insn, const u8 *from, size_t avail)
{
	struct insn next;

	if (!decode_alone(&next, from + insn->len, avail - insn->len, 0) &&
	    next.flags & INSN_HALT)
		insn->deny = INSN_DENY_SHADOW;
}

int arch_insn_decode(struct insn *insn, const void *buf, size_t avail, u64 pc)
{
	int error = decode_alone(insn, buf, avail, pc);

	if (error)
		return error;
	if (insn->flags & INSN_TRAP)
		return join_virt_prefix(insn, buf, avail);
	if (insn->flags & INSN_SHADOW)
		check_shadow(insn, buf, avail);
	return 0;
}
