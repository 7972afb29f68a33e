/* SPDX-License-Identifier: MIT */
/*
 * All 256 vectors. Each saves a struct pt_regs, calls trap() with interrupts
 * off and the stack aligned, and restores all of it.
 *
 *	stub		what differs: error code, vector
 *	vec_common	the rest of the frame, on the stack that was interrupted
 *	vec_breakpoint	the same, for probe_hit_break()
 *	vec_nmi		NMI: moves to a stack of its own, and nests
 *	vec_ist		double fault, machine check: an IST stack each
 *
 * The GS base is the CPU's struct cpu in the kernel and the program's in user
 * mode. Those that stay on a stack trust the saved CS for which it is; the others
 * may have hit between a mode change and its SWAPGS and look at the MSR instead.
 */
#include <frame.h>
#include <asm/x86.h>
#include <kernel/percpu.h>

	.section .text.noprobe, "ax"
	.globl	vec_start, vec_end
vec_start:

.macro SAVE
	PUSH_REGS
	push	%rbp
.endm

.macro RESTORE_AND_IRET
	pop	%rbp
	POP_REGS
	add	$16, %rsp		/* vector, orig_ax */
	iretq
.endm

/* What interrupted the program, whose GS and AC are set aside. */
.macro SAVE_AND_CALL fn
	SAVE
	cld
	testb	$3, FRAME_CS(%rsp)
	jnz	3f
2:	mov	%rsp, %rdi
	call	\fn
.endm
.macro FROM_USER
3:	swapgs
	pushfq				/* AC would switch SMAP off */
	andl	$~X86_FLAGS_AC, (%rsp)
	popfq
	jmp	2b
.endm

/* In: vector and error code are on the stack. */
FUNC(vec_common)
	SAVE_AND_CALL trap
	jmp	vec_return
	FROM_USER
END(vec_common)

/*
 * A breakpoint does not switch stacks, so its frame would lie right below the
 * stack pointer of the probed code, where an emulated push or call stores. The
 * frame is copied down and the original left as the gap (BREAK_GAP).
 */
FUNC(vec_breakpoint)
	pushq	$0			/* keeps the alignment */
	.rept	5
	pushq	40(%rsp)		/* ss sp flags cs ip */
	.endr
	pushq	$0
	pushq	$3
	SAVE_AND_CALL probe_hit_break
vec_return:
	testb	$3, FRAME_CS(%rsp)
	jnz	4f
1:	RESTORE_AND_IRET
4:	swapgs
	jmp	1b
	FROM_USER
END(vec_breakpoint)

/*
 * arch_trap_restart() and detours. DI: a frame, AX: what to call with it and SI
 * before going back to what it says. The frame of a detour need not be aligned.
 */
FUNC(vec_restart)
	mov	%rdi, %rbp
	mov	%rdi, %rsp
	and	$-16, %rsp
	call	*%rax
	.globl	vec_restart_return		/* the unwinder knows it */
vec_restart_return:
	mov	%rbp, %rsp
	jmp	vec_return
END(vec_restart)

/* EBX: GS was the program's and must be so again. Clobbers AX, CX, DX. */
.macro KERNEL_GS
	xor	%ebx, %ebx
	mov	$MSR_GS_BASE, %ecx
	rdmsr
	test	%edx, %edx		/* ours is in the upper half */
	js	1f
	swapgs
	inc	%ebx
1:
.endm

.macro RESTORE_GS
	test	%ebx, %ebx
	jz	1f
	swapgs
1:
.endm

/* In: as vec_common. Not left by way of another task, so EBX survives. */
FUNC(vec_ist)
	SAVE
	cld
	KERNEL_GS
	mov	%rsp, %rdi
	call	trap
	RESTORE_GS
	RESTORE_AND_IRET
END(vec_ist)

/*
 * NMIs stay blocked until the next IRET, and a breakpoint in an NMI handler ends
 * in one. So a second NMI may come while the first is handled, and the IST would
 * have it overwrite the first one's frame. Therefore the IST stack is only a
 * landing: the frame moves to the NMI stack before anything that can IRET, to
 * its top, or below what was interrupted if that was on the NMI stack already.
 *
 *	landing		ss sp flags cs ip ax cx dx bx
 *	NMI stack	struct pt_regs | struct pt_regs of a nested one ...
 */
FUNC(vec_nmi)
	push	%rax
	push	%rcx
	push	%rdx
	push	%rbx
	cld
	KERNEL_GS
	mov	%gs:CPU_NMI_SP, %rax
	testb	$3, 40(%rsp)
	jnz	2f
	mov	56(%rsp), %rcx
	cmp	%rax, %rcx
	ja	2f
	lea	-TRAP_STACK_SIZE(%rax), %rdx
	cmp	%rdx, %rcx
	jbe	2f
	mov	%rcx, %rax
	and	$~15, %rax
2:	mov	%rsp, %rdx
	mov	%rax, %rsp
	pushq	64(%rdx)		/* ss */
	pushq	56(%rdx)
	pushq	48(%rdx)
	pushq	40(%rdx)
	pushq	32(%rdx)		/* ip */
	pushq	%rbx			/* for a moment: is GS ours? */
	pushq	$2			/* vector */
	mov	24(%rdx), %rax
	mov	16(%rdx), %rcx
	mov	0(%rdx), %rbx
	mov	8(%rdx), %rdx
	SAVE
	xor	%ebx, %ebx
	xchg	%rbx, FRAME_ORIG_AX(%rsp)
	mov	%rsp, %rdi
	call	trap
	RESTORE_GS
	RESTORE_AND_IRET
END(vec_nmi)

/* The table ---------------------------------------------------------------- */

	.section .rodata
	.balign 8
	.globl	vec_table
vec_table:
	.section .text.noprobe

.macro POINT_TO stub
	.pushsection .rodata
	.quad	\stub
	.popsection
.endm

/* error=1: the CPU pushes an error code. to: where the stub goes on. */
.macro VEC nr, error=0, to=vec_common
777:	.if \error == 0
	pushq	$0
	.endif
	pushq	$\nr
	jmp	\to
	POINT_TO 777b
.endm

FUNC(vec_stubs)
	VEC	0			/* #DE divide error */
	VEC	1			/* #DB debug */
	POINT_TO vec_nmi
	POINT_TO vec_breakpoint
	VEC	4			/* #OF overflow */
	VEC	5			/* #BR bound */
	VEC	6			/* #UD invalid opcode */
	VEC	7			/* #NM device not available */
	VEC	8, error=1, to=vec_ist	/* #DF double fault */
	VEC	9
	VEC	10, error=1		/* #TS invalid TSS */
	VEC	11, error=1		/* #NP segment not present */
	VEC	12, error=1		/* #SS stack segment */
	VEC	13, error=1		/* #GP general protection */
	VEC	14, error=1		/* #PF page fault */
	VEC	15
	VEC	16			/* #MF x87 */
	VEC	17, error=1		/* #AC alignment */
	VEC	18, to=vec_ist		/* #MC machine check */
	VEC	19			/* #XM SIMD */
	VEC	20			/* #VE virtualisation */
	VEC	21, error=1		/* #CP control protection */
	VEC	22
	VEC	23
	VEC	24
	VEC	25
	VEC	26
	VEC	27
	VEC	28			/* #HV */
	VEC	29, error=1		/* #VC */
	VEC	30, error=1		/* #SX */
	VEC	31
	.set	nr, 32			/* interrupts and int n */
	.rept	224
	VEC	nr
	.set	nr, nr + 1
	.endr
END(vec_stubs)
vec_end:
