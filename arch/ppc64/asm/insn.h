/* SPDX-License-Identifier: MIT */
/*
 * ppc64 part of <arch/insn.h>: what a decoded instruction and an analysed one
 * hold beyond the generic fields, and how instruction words lie in memory.
 *
 * Bit numbers follow the manual: bit 0 is the most significant of 32.
 */
#ifndef SONDE_ASM_INSN_H
#define SONDE_ASM_INSN_H

#include <lib/byteorder.h>

/* Words that the longest relocated form takes: a conditional call. */
#define ARCH_INSN_RELOC_MAX (11 * 4)

struct arch_insn {
	u32 word;   /* the instruction, or the suffix of a prefixed one */
	u32 prefix; /* 0 without one */
	u16 op;	    /* enum ppc_op of <gen/insn_table.h>, PPC_NONE = 0 */
	u8 emu;	    /* enum insn_emu_family */
	u8 access;  /* plain load or store: enum insn_access; else 0 */
};

/* Versions of the architecture: what a processor without it makes an illegal */
/* instruction of must not be emulated there. */
enum insn_isa { ISA_2_07, ISA_3_0, ISA_3_1 };

/* Which function of emulate.c knows it; insn.map says so. */
enum insn_emu_family {
	EMU_NONE,
	EMU_BRANCH,
	EMU_IMMEDIATE,
	EMU_ARITHMETIC,
	EMU_LOGIC,
	EMU_SHIFT,
	EMU_ROTATE,
	EMU_CONDITION,
	EMU_SPECIAL,
	EMU_ACCESS,
	EMU_FAMILIES
};

/* arch_insn.access: the low two bits are log2 of the size. */
enum insn_access {
	INSN_ACCESS_SIZE = 3,
	INSN_ACCESS_STORE = 4,
	INSN_ACCESS_SIGNED = 8,
	INSN_ACCESS_REVERSED = 16,
	INSN_ACCESS_UPDATE = 32,
	INSN_ACCESS_FORM = 3 << 6, /* which operand is the displacement */
	INSN_ACCESS_D = 1 << 6,
	INSN_ACCESS_DS = 2 << 6,
	INSN_ACCESS_X = 3 << 6,
};

/* Which members of struct insn_op apply() must store. nip always is. */
enum insn_op_set {
	INSN_SET_RT = 1u << 0, /* gpr[rt] = rt_value, or what was loaded */
	INSN_SET_RA = 1u << 1, /* gpr[ra] = ra_value, after memory went well */
	INSN_SET_LINK = 1u << 2,
	INSN_SET_CTR = 1u << 3,
	INSN_SET_XER = 1u << 4,
	INSN_SET_CCR = 1u << 5,
	INSN_SET_MSR = 1u << 6,
};

/* The whole effect of an instruction: nothing is looked up again to apply it */
struct insn_op {
	u32 set;   /* enum insn_op_set */
	u8 rt, ra; /* register numbers */
	u8 access; /* enum insn_access; 0: no memory */
	u64 nip;
	u64 rt_value; /* also what a store stores */
	u64 ra_value;
	u64 link, ctr, xer, ccr, msr;
	u64 ea;	      /* of the access */
	u64 fault_va; /* out, when apply says -EFAULT */
};

/* Bits @first..@last of @word, numbered as the manual does. */
static inline u32 insn_field(u32 word, unsigned first, unsigned last)
{
	return word >> (31 - last) & (0xffffffffu >> (31 - last + first));
}

/* The displacement of a prefixed instruction: 34 bits, d0 || d1. */
static inline s64 insn_displacement(u32 prefix, u32 word)
{
	u64 d = (u64)(prefix & 0x3ffff) << 16 | (word & 0xffff);

	return (s64)(d << 30) >> 30;
}

/*
 * The byte order of text. The kernel decodes its own; host tests choose, since
 * they check both. The same with the version.
 */
#ifdef __SONDE_HOST__
extern bool insn_text_little;
extern enum insn_isa insn_isa;
#else
static const bool insn_text_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
#endif

static inline u32 insn_word_get(const void *p)
{
	return insn_text_little ? load_le32(p) : load_be32(p);
}

static inline void insn_word_put(void *p, u32 word)
{
	if (insn_text_little)
		store_le32(p, word);
	else
		store_be32(p, word);
}

#endif
