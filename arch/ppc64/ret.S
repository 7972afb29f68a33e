/* SPDX-License-Identifier: MIT */
/*
 * Where probed functions return to: <arch/ret.h>.
 */
#include <frame.h>
#include <asm/entry.h>
#include <kernel/percpu.h>
#include <probe/ret.h>

	.cfi_sections .debug_frame
	.section .text.noprobe, "ax"

#define PAD	  32 /* breakpoints before and behind */
#define RET_SIZE  (FRAME_REGS + PT_SIZE)
#define REGS(off) (FRAME_REGS + (off))

/* What a call preserves. */
.macro EACH_SAVED insn
	.irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, \
		30, 31
	\insn	%r\n, REGS(PT_GPR(\n))(%r1)
	.endr
.endm

/*
 * gdb finds the true address as ret_caller() does, by a DWARF expression (DWARF
 * 5 2.5). A frame that is not found ends in a bad address, behind the last.
 *
 *	the frame, = CFA
 *	ri = current->ret.top
 *	1: if (ri->sp == frame) goto 2
 *	   ri = ri->below; goto 1
 *	2: ri->ret_addr
 */
#ifdef __LITTLE_ENDIAN__
#define HALF(n) (n) & 0xff, (n) >> 8 & 0xff
#else
#define HALF(n) (n) >> 8 & 0xff, (n) & 0xff
#endif

.macro CFI_TRUE_ADDRESS column
	.cfi_escape 0x16, \column, 25	/* DW_CFA_val_expression, size */
	.cfi_escape 0x7d, CPU_CURRENT, 0x06 /* breg13, deref */
	.cfi_escape 0x23, THREAD_RET_TOP, 0x06 /* plus_uconst, deref */
	/* 1 */
	.cfi_escape 0x12, 0x23, RI_SP, 0x06 /* dup, plus_uconst, deref */
	.cfi_escape 0x15, 2, 0x29, 0x28, HALF(6) /* pick, eq, bra 2 */
	.cfi_escape 0x23, RI_BELOW, 0x06
	.cfi_escape 0x2f, HALF(-16)	/* skip 1 */
	/* 2 */
	.cfi_escape 0x23, RI_RET_ADDR, 0x06
.endm

	.globl	ret_landing, ret_pad_end
	.balign	16
	.cfi_startproc
	CFI_TRUE_ADDRESS 65		/* the return address is in this column */
	CFI_TRUE_ADDRESS 108		/* gdb 13 takes 65 for 108, but not here */
FUNC ret_trampoline
	.rept	PAD
	trap
	.endr
ret_landing:
	b	ret_body
	.rept	PAD
	trap
	.endr
ret_pad_end:
END ret_trampoline

/*
 * As after a return: only the return value and what a call preserves is alive.
 * Nothing is below the stack pointer, since who has just called has no red zone.
 * In between:
 *
 *	r25	the struct pt_regs
 *	r26	where the function returns to
 *	r27	how far the turns of this CPU have come
 *	r29	the frame: r1 as it is at a function's entry and after its return
 *	r30	the running thread
 */
FUNC ret_body
	stdu	%r1, -RET_SIZE(%r1)
	.cfi_def_cfa_offset RET_SIZE
	mfmsr	%r5
	li	%r0, MSR_RI
	mtmsrd	%r0, 1
	std	%r3, REGS(PT_GPR(3))(%r1)
	std	%r4, REGS(PT_GPR(4))(%r1)
	EACH_SAVED std
	.irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, \
		30, 31
	.cfi_rel_offset %r\n, REGS(PT_GPR(\n))
	.endr
	mfcr	%r7
	addi	%r29, %r1, RET_SIZE
	addi	%r25, %r1, FRAME_REGS
	std	%r2, REGS(PT_GPR(2))(%r1)
	std	%r29, REGS(PT_GPR(1))(%r1)
	std	%r5, REGS(PT_MSR)(%r1)
	std	%r7, REGS(PT_CCR)(%r1)

	ld	%r30, CPU_CURRENT(%r13)
	ld	%r3, THREAD_RET_TOP(%r30)
	ld	%r0, RI_SP(%r3)
	cmpd	%r0, %r29
	bne-	3f
	lwz	%r6, THREAD_PREEMPT(%r30)	/* a frame as of direct detours */
	ld	%r27, CPU_HIT_TURNS(%r13)
	ld	%r26, RI_RET_ADDR(%r3)
	std	%r6, REGS(PT_TRAP)(%r1)
	std	%r29, FRAME_TOC(%r1)
	std	%r26, REGS(PT_NIP)(%r1)
	.cfi_rel_offset %lr, REGS(PT_NIP)
	std	%r1, CPU_HIT_LEVELS(%r13)

1:	ld	%r6, RI_BELOW(%r3)		/* as ret_call_all() does */
	ld	%r7, RI_OWNER(%r3)
	addi	%r27, %r27, 1
	std	%r27, CPU_HIT_TURNS(%r13)
	std	%r3, THREAD_RET_TOP + 8(%r30)
	std	%r6, THREAD_RET_TOP(%r30)
	addi	%r8, %r7, OWNER_RETURNED
2:	ldarx	%r9, 0, %r8
	addi	%r9, %r9, 1
	stdcx.	%r9, 0, %r8
	bne-	2b
	ld	%r12, OWNER_CALL(%r7)
	mr	%r4, %r25
	mtctr	%r12
	bctrl
	ld	%r3, THREAD_RET_TOP(%r30)
	ld	%r0, RI_SP(%r3)
	cmpd	%r0, %r29
	beq-	5f
	li	%r0, 0
	std	%r0, CPU_HIT_LEVELS(%r13)

	mtlr	%r26
4:	ld	%r5, REGS(PT_MSR)(%r1)
	ld	%r3, REGS(PT_GPR(3))(%r1)
	ld	%r4, REGS(PT_GPR(4))(%r1)
	EACH_SAVED ld
	mtmsrd	%r5, 1
	addi	%r1, %r1, RET_SIZE
	.cfi_remember_state
	.cfi_def_cfa_offset 0
	.irp n, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, \
		30, 31
	.cfi_same_value %r\n
	.endr
	.cfi_same_value %lr
	blr
	.cfi_restore_state

5:	std	%r26, REGS(PT_NIP)(%r1)
	b	1b

3:	mr	%r3, %r25
	bl	ret_return
	nop
	ld	%r0, REGS(PT_NIP)(%r1)
	mtlr	%r0
	b	4b
	.globl	ret_body_end
ret_body_end:
	.cfi_endproc
END ret_body
