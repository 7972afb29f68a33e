/* SPDX-License-Identifier: MIT */
/*
 * For code that firmware enters: big-endian, translation off and, at the first
 * instruction, 32-bit, whatever the kernel was built for.
 */
#ifndef SONDE_PPC64_ASM_ENTRY_H
#define SONDE_PPC64_ASM_ENTRY_H

#include <frame.h>

#ifdef __ASSEMBLY__
/* clang-format off */
/* A big-endian instruction word in either build. */
.macro be_insn w
	.byte	((\w) >> 24) & 0xff, ((\w) >> 16) & 0xff
	.byte	((\w) >> 8) & 0xff, (\w) & 0xff
.endm

/*
 * 64-bit mode and our own byte order from the next instruction on. Changes r10,
 * r11, LR, SRR0, SRR1.
 */
.macro ENTER_NATIVE
	be_insn	0x3960ffff			/* li r11, -1 */
	be_insn	0x796bf806			/* sldi r11, r11, 63 */
	be_insn	(0x616b0000|MSR_ME|MSR_ENDIAN)	/* ori r11, r11, ... */
	be_insn	0x429f0005			/* bcl 20, 31, .+4 */
	be_insn	0x7d4802a6			/* mflr r10 */
	be_insn	0x394a0014			/* addi r10, r10, 20 */
	be_insn	0x7d7b03a6			/* mtsrr1 r11 */
	be_insn	0x7d5a03a6			/* mtsrr0 r10 */
	be_insn	0x4c000024			/* rfid */
.endm

/* Address of @sym where we are now, from r2. */
.macro LOAD_REL reg, sym
	addis	\reg, %r2, \sym@toc@ha
	addi	\reg, \reg, \sym@toc@l
.endm

/* r2 from where we are now. Changes LR and r12. */
.macro LOAD_TOC
	bcl	20, 31, 9876f
9876:	mflr	%r12
	addis	%r2, %r12, (.TOC. - 9876b)@ha
	addi	%r2, %r2, (.TOC. - 9876b)@l
.endm

.macro FUNC name
	.globl	\name
	.type	\name, @function
	.balign	16
\name:
.endm

.macro END name
	.size	\name, . - \name
.endm

/* clang-format on */
#endif /* __ASSEMBLY__ */
#endif
