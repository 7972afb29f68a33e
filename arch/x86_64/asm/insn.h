/* SPDX-License-Identifier: MIT */
/*
 * x86_64 instructions: what the decoder finds beside the generic answer, and
 * the emulator's operation. Included by <arch/insn.h> alone.
 */
#ifndef SONDE_ASM_INSN_H
#define SONDE_ASM_INSN_H

#include <lib/types.h>

/* Longest instruction (SDM 2A 2.3.11). */
#define ARCH_INSN_MAX 15

/* Longest relocated form: an indirect call (see reloc.c). */
#define ARCH_INSN_RELOC_MAX 64

/*
 * The opcode spaces. The numbers of the VEX, EVEX and XOP spaces are base plus
 * the prefix's map field, so gaps stay empty.
 */
enum x86_space {
	X86_LEGACY,
	X86_0F,
	X86_0F38,
	X86_0F3A,
	X86_3DNOW,
	X86_VEX = 4,  /* + 1..3 */
	X86_EVEX = 8, /* + 1..6 */
	X86_XOP = 7,  /* + 8..10 */
	X86_SPACES = 18,
};

/* Legacy prefixes that were seen, anywhere and any number of times. */
enum x86_prefix_bit {
	X86_P_OPSIZE = 1 << 0,	 /* 66 */
	X86_P_ADDRSIZE = 1 << 1, /* 67 */
	X86_P_LOCK = 1 << 2,
	X86_P_REPNE = 1 << 3, /* f2; with f3 too, the last one counts */
	X86_P_REP = 1 << 4,   /* f3 */
	X86_P_SEG = 1 << 5,   /* any segment override */
	X86_P_REX = 1 << 6,   /* one that counts: spl..dil, not ah..bh */
};

/* Bits of arch_insn.rex, whichever of REX, VEX, EVEX, XOP they came in. */
enum x86_rex { X86_REX_B = 1, X86_REX_X = 2, X86_REX_R = 4, X86_REX_W = 8 };

/* How emulate.c treats an instruction; named in insn.map as emu=. */
enum x86_emu {
	X86_EMU_NONE,
	X86_EMU_NOP,
	X86_EMU_PUSH_REG,
	X86_EMU_POP_REG,
	X86_EMU_PUSH_IMM,
	X86_EMU_PUSH_RM,
	X86_EMU_POP_RM,
	X86_EMU_PUSHF,
	X86_EMU_POPF,
	X86_EMU_CLI,
	X86_EMU_STI,
	X86_EMU_FLAG,
	X86_EMU_CALL_REL,
	X86_EMU_CALL_RM,
	X86_EMU_JMP_REL,
	X86_EMU_JMP_RM,
	X86_EMU_JCC,
	X86_EMU_LOOP,
	X86_EMU_RET,
	X86_EMU_LEAVE,
	X86_EMU_LEA,
	X86_EMU_MOV_TO_RM,
	X86_EMU_MOV_TO_REG,
	X86_EMU_MOV_IMM_REG,
	X86_EMU_MOV_IMM_RM,
};

struct arch_insn {
	u8 space; /* enum x86_space */
	u8 opcode;
	u8 prefixes;   /* enum x86_prefix_bit */
	u8 segment;    /* the last override's byte, 0 if none */
	u8 rex;	       /* enum x86_rex */
	u8 emu;	       /* enum x86_emu */
	u8 opsize;     /* of a general operand: 2, 4 or 8 bytes */
	u8 opcode_off; /* offsets are from the first byte */
	u8 modrm_off;  /* 0: no ModRM */
	u8 modrm;
	u8 sib;	      /* valid if X86_HAS_SIB() */
	u8 disp_off;  /* 0: no displacement */
	u8 disp_size; /* 0, 1 or 4 */
	u8 imm_off;   /* 0: no immediate; branch displacements live here too */
	u8 imm_size;  /* 0..8; all immediates together */
};

#define X86_MOD(a)     ((a)->modrm >> 6)
#define X86_REG(a)     ((a)->modrm >> 3 & 7)
#define X86_RM(a)      ((a)->modrm & 7)
#define X86_HAS_MEM(a) ((a)->modrm_off && X86_MOD(a) != 3)
#define X86_HAS_SIB(a) (X86_HAS_MEM(a) && X86_RM(a) == 4)
#define X86_RIP_REL(a) ((a)->modrm_off && X86_MOD(a) == 0 && X86_RM(a) == 5)

/* Where the value of an operation goes. */
enum x86_dest { X86_TO_NONE, X86_TO_REG, X86_TO_PC, X86_TO_FLAGS };

/*
 * What emulation does, in this order: load, store, new sp, flags and pc, then
 * the destination. @value is overwritten by the load if there is one.
 */
struct insn_op {
	u64 fault_va; /* after -EFAULT: where */
	u64 load_va;
	u64 store_va;
	u64 store_value;
	u64 value;
	u64 pc, sp, flags;	  /* values afterwards */
	u8 load_size, store_size; /* 0: none */
	u8 store_loaded;	  /* what is stored is what was loaded */
	u8 dest;		  /* enum x86_dest */
	u8 dest_reg;		  /* 0..15, 4 is sp; + 16 is ah ch dh bh */
	u8 dest_size;		  /* 1, 2, 4 (clears the upper half) or 8 */
};

#endif
