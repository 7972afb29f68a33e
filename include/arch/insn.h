/* SPDX-License-Identifier: MIT */
/*
 * Instructions: decode, classify, relocate, emulate. Contract of
 * arch/<A>/insn.c, reloc.c and emulate.c.
 *
 * All of it is pure: no locks, no allocation, no global state, no printing; any
 * context, NMI included. The same files are compiled for host tests and there
 * checked against decoders that nobody here wrote. Tables come from
 * arch/<A>/insn.map through tools/insn-gen.
 *
 * decode	bytes -> struct insn. Never reads past the bytes it was given.
 * relocate	struct insn -> code with exactly the same effect elsewhere.
 * emulate	struct insn -> struct insn_op (analyse, pure), then applied to a
 *		struct pt_regs. Memory is only touched by fault-safe access.
 */
#ifndef SONDE_ARCH_INSN_H
#define SONDE_ARCH_INSN_H

#include <lib/compiler.h>

/* What a probe engine must know about an instruction; several may be set. */
enum insn_flag {
	/* Control transfer. */
	INSN_BRANCH_REL = 1u << 0, /* target is pc-relative (or ppc AA=1) */
	INSN_COND = 1u << 1,	   /* may fall through */
	INSN_CALL = 1u << 2,	   /* leaves a return address behind */
	INSN_RET = 1u << 3,	   /* ret / blr form */
	INSN_INDIRECT = 1u << 4,   /* target from a register or memory */
	INSN_FAR = 1u << 5,	   /* changes the code segment, iret included */
	INSN_LOOP = 1u << 6,	   /* counts down: loop*, bdnz */
	INSN_SYSCALL = 1u << 7,	   /* enters a more privileged level */
	INSN_SYSRET = 1u << 8,	   /* leaves it: sysret, iret, rfid, rfscv */
	INSN_SOFTINT = 1u << 9,	   /* int n */
	INSN_TRAP = 1u << 10,	   /* traps by design: int3 ud* tw td */
	/* Processor state that stepping disturbs. */
	INSN_FLAGS_PUSH = 1u << 11,  /* stores the flags register: pushf */
	INSN_FLAGS_POP = 1u << 12,   /* loads it: popf iret */
	INSN_IRQ_CHANGE = 1u << 13,  /* may change the interrupt enable */
	INSN_SHADOW = 1u << 14,	     /* delays interrupts by one insn */
	INSN_STATE_WRITE = 1u << 15, /* writes MSR, debug or control regs */
	INSN_RI_CLEAR = 1u << 16,    /* ppc: mtsrr0/1 and friends */
	/* The pc and the link register as operands. */
	INSN_PC_READ = 1u << 17, /* other than as branch base: lea rip, */
	/* addpcis, pla, bcl 20,31,$+4 */
	INSN_PC_MEM = 1u << 18, /* has a pc-relative memory operand */
	INSN_LR_READ = 1u << 19,
	INSN_LR_WRITE = 1u << 20,
	/* The rest. */
	INSN_REP_STRING = 1u << 21, /* string insn with rep: restarts itself */
	INSN_EXCL_LOAD = 1u << 22,  /* l*arx */
	INSN_EXCL_STORE = 1u << 23, /* st*cx. */
	INSN_PRIV = 1u << 24,	    /* privileged */
	INSN_IO = 1u << 25,	    /* port input and output */
	INSN_NOP = 1u << 26,	    /* architecturally nothing: nop, endbr */
	INSN_MEM = 1u << 27,	    /* explicit memory operand */
	INSN_FPVEC = 1u << 28,	    /* floating point or vector state */
	INSN_PREFIXED = 1u << 29,   /* ppc: 8 bytes, must not cross 64 bytes */
	INSN_HALT = 1u << 30, /* waits for an interrupt: hlt, wait, stop */
};

/* Why an instruction may not be probed. INSN_OK is 0. */
enum insn_deny {
	INSN_OK,
	INSN_DENY_UNDECODABLE, /* no instruction that the map knows */
	INSN_DENY_TRAP,	       /* traps by design: its table goes by address */
	INSN_DENY_SHADOW,      /* exception-masking: the step ends one late */
	INSN_DENY_EXCLUSIVE,   /* inside a load-and-reserve sequence */
	INSN_DENY_RETURN,      /* leaves to another level: iret, rfid */
	INSN_DENY_SYSCALL,     /* enters another level */
	INSN_DENY_STATE,       /* replaces MSR or debug state the step uses */
	INSN_DENY_RI,	       /* SRR0/1 are live: a trap here loses them */
	INSN_DENY_VIRT,	       /* hypervisor emulate prefix */
	INSN_DENY_AMBIGUOUS,   /* length depends on the maker of the CPU */
	INSN_DENY_FAR,	       /* far transfer */
	INSN_DENY_COUNT
};

#define INSN_MAX_BYTES 16

/*
 * One decoded instruction. @arch holds what only the machine's own files and
 * its tests look at.
 */
#include <asm/insn.h> /* struct arch_insn, ARCH_INSN_* */

struct insn {
	u64 pc;	    /* where the bytes live, for targets */
	u64 target; /* INSN_BRANCH_REL: destination; INSN_PC_MEM and */
		    /* INSN_PC_READ: the address the operand names */
	u32 flags;  /* enum insn_flag */
	u8 deny;    /* enum insn_deny: may it be probed at all */
	u8 len;	    /* bytes: 1..15 on x86_64, 4 or 8 on ppc64 */
	u8 bytes[INSN_MAX_BYTES]; /* in memory order */
	struct arch_insn arch;
};

/*
 * Decodes the instruction at @buf, of which @avail bytes may be read, as it
 * would run at @pc. Returns 0; -EILSEQ if the bytes are no instruction in
 * 64-bit mode (insn->deny is INSN_DENY_UNDECODABLE and len what was consumed,
 * at least 1 / 4); -ENODATA if more than @avail bytes would be needed.
 */
int __must_check arch_insn_decode(struct insn *insn, const void *buf,
				  size_t avail, u64 pc);

/*
 * What kind of instruction it is, for people, a word or two at a time: *@at
 * begins as 0 and is only for this function. NULL when all was said.
 */
const char *insn_class_name(const struct insn *insn, unsigned *at);

/* A sentence without full stop for people: "traps by design". Never NULL. */
const char *insn_deny_reason(unsigned deny);

/* The same about -EOPNOTSUPP of arch_insn_relocate(). */
const char *insn_reloc_reason(const struct insn *insn);

/*
 * Writes to @buf (at most @size bytes) code that, run at @at, has exactly the
 * effect that @insn has at insn->pc, and then continues behind it: falling out
 * of the end of the written code means insn->pc + insn->len; transfers go to
 * their native destinations. Returns the number of bytes, or: -ERANGE (a target
 * or operand is out of reach from @at), -EOPNOTSUPP (has no relocated form:
 * insn->deny says why), -ENOSPC (@size too small). Writes nothing on error.
 */
int __must_check arch_insn_relocate(const struct insn *insn, u64 at, void *buf,
				    size_t size);

/* Longest sequence arch_insn_relocate() ever writes. */
#define INSN_RELOC_MAX ARCH_INSN_RELOC_MAX

struct pt_regs;

/*
 * What emulating an instruction would do, found without touching any state but
 * @regs being read. INSN_EMU_NONE: not offered for this instruction.
 */
enum insn_emu { INSN_EMU_NONE, INSN_EMU_DONE_IN_REGS, INSN_EMU_NEEDS_MEMORY };

enum insn_emu arch_insn_analyse(const struct insn *insn,
				const struct pt_regs *regs, struct insn_op *op);

/*
 * Applies @op to @regs, pc included. Returns 0, or -EFAULT with the faulting
 * address in op->fault_va and neither @regs nor memory changed.
 */
int __must_check arch_insn_apply(struct insn_op *op, struct pt_regs *regs);

#endif
