/* SPDX-License-Identifier: MIT */
/*
 * What vectors.S saves, as C and as assembly see it.
 *
 *	high	ss sp flags cs ip	pushed by the CPU
 *		orig_ax			error code; 0 where the CPU has none
 *		vector			0..255
 *	low	di ... r15, bp		pushed by vectors.S
 *
 * The size is a multiple of 16, and the CPU aligns the stack before it pushes,
 * so that C is called with the alignment the ABI wants.
 */
#ifndef SONDE_FRAME_H
#define SONDE_FRAME_H

#define FRAME_BP      0
#define FRAME_R15     8
#define FRAME_R14     16
#define FRAME_R13     24
#define FRAME_R12     32
#define FRAME_BX      40
#define FRAME_R11     48
#define FRAME_R10     56
#define FRAME_R9      64
#define FRAME_R8      72
#define FRAME_AX      80
#define FRAME_CX      88
#define FRAME_DX      96
#define FRAME_SI      104
#define FRAME_DI      112
#define FRAME_VECTOR  120
#define FRAME_ORIG_AX 128
#define FRAME_IP      136
#define FRAME_CS      144
#define FRAME_FLAGS   152
#define FRAME_SP      160
#define FRAME_SS      168
#define FRAME_SIZE    176

/* Bytes below a breakpoint's regs->sp that may be stored to; vectors.S. */
#define BREAK_GAP 48

#ifdef __ASSEMBLY__
/* clang-format off */
/* Below the vector: all but BP, which is at the frame's low end. */
.macro PUSH_REGS
	push	%rdi
	push	%rsi
	push	%rdx
	push	%rcx
	push	%rax
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
.endm
.macro POP_REGS
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rax
	pop	%rcx
	pop	%rdx
	pop	%rsi
	pop	%rdi
.endm
/* clang-format on */
#else
#include <lib/compiler.h>

struct pt_regs {
	unsigned long bp, r15, r14, r13, r12, bx;
	unsigned long r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long vector;
	unsigned long orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};

STATIC_ASSERT(offsetof(struct pt_regs, vector) == FRAME_VECTOR);
STATIC_ASSERT(offsetof(struct pt_regs, r15) == FRAME_R15);
STATIC_ASSERT(offsetof(struct pt_regs, bp) == FRAME_BP);
STATIC_ASSERT(offsetof(struct pt_regs, bx) == FRAME_BX);
STATIC_ASSERT(offsetof(struct pt_regs, r8) == FRAME_R8);
STATIC_ASSERT(offsetof(struct pt_regs, ax) == FRAME_AX);
STATIC_ASSERT(offsetof(struct pt_regs, di) == FRAME_DI);
STATIC_ASSERT(offsetof(struct pt_regs, orig_ax) == FRAME_ORIG_AX);
STATIC_ASSERT(offsetof(struct pt_regs, ip) == FRAME_IP);
STATIC_ASSERT(offsetof(struct pt_regs, flags) == FRAME_FLAGS);
STATIC_ASSERT(offsetof(struct pt_regs, ss) == FRAME_SS);
STATIC_ASSERT(sizeof(struct pt_regs) == FRAME_SIZE && FRAME_SIZE % 16 == 0);
#endif

#endif
