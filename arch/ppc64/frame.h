/* SPDX-License-Identifier: MIT */
/*
 * What a trap leaves on the stack, for C and for assembly.
 *
 *	r1 before	+------------------------+
 *			| 288 bytes, may be used | red zone (ELFv2 2.2.2.4)
 *			+------------------------+
 *			| struct pt_regs	 |
 *			+------------------------+ r1 + FRAME_REGS
 *			| toc, lr, cr, backchain | header every callee expects
 *	r1 after	+------------------------+
 *
 * The back chain names the stack pointer before, also where vectors.S changed
 * to another stack.
 */
#ifndef SONDE_PPC64_FRAME_H
#define SONDE_PPC64_FRAME_H

/* Offsets in struct pt_regs. */
#define PT_GPR(n)      (8 * (n))
#define PT_NIP	       256
#define PT_MSR	       264
#define PT_CTR	       272
#define PT_LINK	       280
#define PT_XER	       288
#define PT_CCR	       296
#define PT_TRAP	       304
#define PT_DAR	       312
#define PT_DSISR       320
#define PT_PAD	       328
#define PT_SIZE	       336

#define FRAME_RED_ZONE 288
#define FRAME_REGS     32 /* size of the header below */
#define FRAME_SIZE     (FRAME_RED_ZONE + PT_SIZE + FRAME_REGS)

/* Offsets in the header of any stack frame (ELFv2 2.2.2). */
#define FRAME_BACK_CHAIN 0
#define FRAME_CR	 8
#define FRAME_LR	 16
#define FRAME_TOC	 24

/*
 * regs->trap is the vector's offset. This bit is added where the interrupted
 * stack could not take the frame.
 */
#define PT_TRAP_NO_STACK 1

/* Machine state register (ISA 3.1 III 4.2.1). */
#define MSR_SF	(1 << 63)
#define MSR_VEC (1 << 25)
#define MSR_VSX (1 << 23)
#define MSR_EE	0x8000
#define MSR_PR	0x4000
#define MSR_FP	0x2000
#define MSR_ME	0x1000
#define MSR_SE	0x0400
#define MSR_BE	0x0200
#define MSR_IR	0x0020
#define MSR_DR	0x0010
#define MSR_RI	0x0002
#define MSR_LE	0x0001

#ifdef __LITTLE_ENDIAN__
#define MSR_ENDIAN MSR_LE
#else
#define MSR_ENDIAN 0
#endif

/* Low half of the MSR that vectors run with until the frame is complete. */
#define MSR_VECTOR_LOW (MSR_ME | MSR_IR | MSR_DR | MSR_ENDIAN)

#ifndef __ASSEMBLY__
#include <lib/compiler.h>

#undef MSR_SF
#define MSR_SF (1UL << 63)

struct pt_regs {
	unsigned long gpr[32];
	unsigned long nip;
	unsigned long msr;
	unsigned long ctr;
	unsigned long link;
	unsigned long xer;
	unsigned long ccr;
	unsigned long trap; /* vector, PT_TRAP_NO_STACK */
	unsigned long dar;  /* of the last storage or alignment interrupt */
	unsigned long dsisr;
	unsigned long pad; /* keeps frames 16-byte aligned; <asm/detour.h> */
};

STATIC_ASSERT(offsetof(struct pt_regs, gpr[31]) == PT_GPR(31));
STATIC_ASSERT(offsetof(struct pt_regs, nip) == PT_NIP);
STATIC_ASSERT(offsetof(struct pt_regs, msr) == PT_MSR);
STATIC_ASSERT(offsetof(struct pt_regs, ctr) == PT_CTR);
STATIC_ASSERT(offsetof(struct pt_regs, link) == PT_LINK);
STATIC_ASSERT(offsetof(struct pt_regs, xer) == PT_XER);
STATIC_ASSERT(offsetof(struct pt_regs, ccr) == PT_CCR);
STATIC_ASSERT(offsetof(struct pt_regs, trap) == PT_TRAP);
STATIC_ASSERT(offsetof(struct pt_regs, dar) == PT_DAR);
STATIC_ASSERT(offsetof(struct pt_regs, dsisr) == PT_DSISR);
STATIC_ASSERT(offsetof(struct pt_regs, pad) == PT_PAD);
STATIC_ASSERT(sizeof(struct pt_regs) == PT_SIZE);
STATIC_ASSERT(FRAME_SIZE % 16 == 0);
#endif
#endif
