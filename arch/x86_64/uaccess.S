/* SPDX-License-Identifier: MIT */
/*
 * Instructions that may fault, each with its fix-up: first the fault-safe
 * accesses, then the samples that tests raise on purpose.
 */
#include <frame.h>
#include <asm/x86.h>
#include <kernel/extable.h>
#include <lib/errno.h>

	.section .text.noprobe, "ax"

/*
 * DI: dst, SI: src, DX: n. AX: bytes not copied. A fault within eight bytes is
 * tried again byte by byte, so that the count is exact.
 */
FUNC(arch_copy_safe)
	mov	%rdx, %rax
1:	cmp	$8, %rax
	jb	4f
2:	mov	(%rsi), %rcx
3:	mov	%rcx, (%rdi)
	add	$8, %rsi
	add	$8, %rdi
	sub	$8, %rax
	jmp	1b
4:	test	%rax, %rax
	jz	7f
5:	mov	(%rsi), %cl
6:	mov	%cl, (%rdi)
	inc	%rsi
	inc	%rdi
	dec	%rax
	jmp	4b
7:	ret
	EXTABLE(2b, 4b)
	EXTABLE(3b, 4b)
	EXTABLE(5b, 7b)
	EXTABLE(6b, 7b)
END(arch_copy_safe)

/* DI: src, SI: u64 *value, EDX: size. */
FUNC(arch_peek)
	cmp	$8, %edx
	je	4f
	cmp	$4, %edx
	je	3f
	cmp	$2, %edx
	je	2f
	cmp	$1, %edx
	jne	6f
1:	movzbl	(%rdi), %eax
	jmp	5f
2:	movzwl	(%rdi), %eax
	jmp	5f
3:	movl	(%rdi), %eax
	jmp	5f
4:	movq	(%rdi), %rax
5:	mov	%rax, (%rsi)
	xor	%eax, %eax
	ret
6:	mov	$-EFAULT, %eax
	ret
	EXTABLE(1b, 6b)
	EXTABLE(2b, 6b)
	EXTABLE(3b, 6b)
	EXTABLE(4b, 6b)
END(arch_peek)

/* DI: dst, SI: value, EDX: size. */
FUNC(arch_poke)
	cmp	$8, %edx
	je	4f
	cmp	$4, %edx
	je	3f
	cmp	$2, %edx
	je	2f
	cmp	$1, %edx
	jne	6f
1:	movb	%sil, (%rdi)
	jmp	5f
2:	movw	%si, (%rdi)
	jmp	5f
3:	movl	%esi, (%rdi)
	jmp	5f
4:	movq	%rsi, (%rdi)
5:	xor	%eax, %eax
	ret
6:	mov	$-EFAULT, %eax
	ret
	EXTABLE(1b, 6b)
	EXTABLE(2b, 6b)
	EXTABLE(3b, 6b)
	EXTABLE(4b, 6b)
END(arch_poke)

/* Trap samples -------------------------------------------------------------- */

/*
 * arch_trap_samples (trap.c) names them. FAULT: the trap's pc is the faulting
 * instruction. TRAPPED: it is the one behind, where the sample goes on.
 */
#define FAULT(fixup)   EXTABLE(1b, fixup)
#define TRAPPED	       EXTABLE(2f, 2f); 2:

	.text

FUNC(sample_divide)
	xor	%ecx, %ecx
1:	div	%ecx
2:	ret
	FAULT(2b)
END(sample_divide)

FUNC(sample_overflow)
	int	$4
	TRAPPED
	ret
END(sample_overflow)

FUNC(sample_illegal)
1:	ud2
2:	ret
	FAULT(2b)
END(sample_illegal)

FUNC(sample_breakpoint)
1:	int3
	ret
	EXTABLE(1b, 1b + 1)
END(sample_breakpoint)

FUNC(sample_int_n)
	int	$0x80
	TRAPPED
	ret
END(sample_int_n)

/* A load from a non-canonical address is a #GP, not a page fault. */
FUNC(sample_protection)
	movabs	$0x8000000000000000, %rcx
1:	mov	(%rcx), %rcx
2:	ret
	FAULT(2b)
END(sample_protection)

/* Data segments may not be loaded with a selector beyond the GDT. */
FUNC(sample_selector)
	mov	$0xfff8, %ecx
1:	mov	%ecx, %es
2:	ret
	FAULT(2b)
END(sample_selector)

FUNC(sample_read)
	xor	%ecx, %ecx
1:	mov	(%rcx), %rcx
2:	ret
	FAULT(2b)
END(sample_read)

FUNC(sample_write)
	xor	%ecx, %ecx
1:	mov	%rcx, (%rcx)
2:	ret
	FAULT(2b)
END(sample_write)

/* Text is not writable, not even for the kernel (CR0.WP). */
FUNC(sample_write_text)
	lea	2f(%rip), %rcx
1:	movb	$0xc3, (%rcx)
2:	ret
	FAULT(2b)
END(sample_write_text)

/* The fault's pc is where the jump went. */
FUNC(sample_execute)
	mov	$sample_not_text, %rcx
	jmp	*%rcx
2:	ret
	EXTABLE(sample_not_text, 2b)
END(sample_execute)

	.pushsection .data
sample_not_text:
	ret
	.popsection

/*
 * The second POPF runs with TF set and traps behind itself, with TF already
 * clear (SDM 3B 18.3.1.4).
 */
FUNC(sample_step)
	pushfq
	pushfq
	orl	$X86_FLAGS_TF, (%rsp)
	popfq
	popfq
	TRAPPED
	ret
END(sample_step)

	.pushsection .bss
	.balign 8
sample_watched:
	.quad	0
	.popsection

/* DR0 watches eight bytes for writes: RW0 = 1, LEN0 = 2, G0. */
FUNC(sample_watch)
	pushfq
	cli
	mov	$sample_watched, %rcx
	mov	%rcx, %dr0
	mov	$0x00090402, %ecx
	mov	%rcx, %dr7
	movq	$1, (sample_watched)
	TRAPPED
	mov	$0x00000400, %ecx
	mov	%rcx, %dr7
	popfq
	ret
END(sample_watch)

/* The x87 unit is switched off, used, and switched on again. */
FUNC(sample_float)
	pushfq
	cli
	mov	%cr0, %rcx
	or	$CR0_TS, %rcx
	mov	%rcx, %cr0
1:	fnop
2:	clts
	popfq
	ret
	FAULT(2b)
END(sample_float)
