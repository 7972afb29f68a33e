/* SPDX-License-Identifier: MIT */
/*
 * Functions for t_region.c, one for each way to get between the instructions that
 * a region takes together. The one to be probed is at the label NAME_at, and has
 * one byte.
 */
#include <asm/x86.h>
#include <kernel/extable.h>

.macro AT name
	.globl	\name\()_at
\name\()_at:
.endm

	.text
/* Nothing is in the way: 1 + 2 + 3 bytes. */
FUNC(region_fine)
	xor	%eax, %eax
AT region_fine
	push	%rbx
	mov	%edi, %ebx
	lea	3(%rdi), %eax
	pop	%rbx
	ret
END(region_fine)

/* A loop back to the second instruction. */
FUNC(region_looped)
	mov	$3, %ecx
	xor	%eax, %eax
AT region_looped
	nop
1:	add	%edi, %eax
	dec	%ecx
	jnz	1b
	ret
END(region_looped)

/* The same from another function, as compilers do with cold parts. */
FUNC(region_entered)
	test	%edi, %edi
	js	region_elsewhere
AT region_entered
	nop
region_entered_inside:
	mov	%edi, %eax
	nop
	nop
	ret
END(region_entered)
FUNC(region_elsewhere)
	neg	%edi
	jmp	region_entered_inside
END(region_elsewhere)

/* From further away than a short jump leads. */
FUNC(region_reached)
	test	%edi, %edi
	js	region_far_away
AT region_reached
	nop
region_reached_inside:
	mov	%edi, %eax
	nop
	nop
	ret
END(region_reached)
	.skip	200, 0xcc
FUNC(region_far_away)
	neg	%edi
	jns	region_reached_inside
	xor	%eax, %eax
	ret
END(region_far_away)

/* By a table, near the end of the function. */
FUNC(region_switched)
AT region_switched
	nop
	nop
	nop
	and	$1, %edi
	jmp	*region_table(, %rdi, 8)
1:	mov	$1, %eax
	ret
2:	mov	$2, %eax
	ret
	.pushsection .rodata
	.balign	8
region_table:
	.quad	1b, 2b
	.popsection
END(region_switched)

/* Nothing here says so, but a pointer in data does. */
FUNC(region_pointed)
AT region_pointed
	nop
region_pointed_inside:
	mov	%edi, %eax
	nop
	nop
	ret
	.pushsection .data
	.balign	8
	.globl	region_pointer
region_pointer:
	.quad	region_pointed_inside
	.popsection
END(region_pointed)

/* An operand does. */
FUNC(region_loaded)
	lea	1f(%rip), %rax
AT region_loaded
	nop
1:	mov	%edi, %eax
	nop
	nop
	ret
END(region_loaded)

/* So does an operand that is not relative. */
FUNC(region_stored)
	movq	$1f, -8(%rsp)
AT region_stored
	nop
1:	mov	%edi, %eax
	nop
	nop
	ret
END(region_stored)

/* A call comes back to behind its second instruction. */
FUNC(region_called)
	push	%rbx
	mov	%rsi, %rax
AT region_called
	nop
	call	*%rax
	nop
	nop
	nop
	pop	%rbx
	ret
END(region_called)

/* A call is the last one: it comes back behind all of them. */
FUNC(region_calls_last)
	push	%rbx
	mov	%rdi, %rbx
AT region_calls_last
	nop
	call	region_fine
	add	%ebx, %eax
	pop	%rbx
	ret
END(region_calls_last)

/* A fault is expected, and goes on, inside. */
FUNC(region_faulting)
AT region_faulting
	nop
1:	mov	(%rdi), %eax
2:	nop
	nop
	nop
	ret
	EXTABLE(1b, 2b)
END(region_faulting)

/* The next function begins too early. */
FUNC(region_short)
	mov	%edi, %eax
AT region_short
	nop
	nop
	ret
END(region_short)

/*
 * Where a task can be found at each boundary inside: a string instruction of two
 * bytes, long enough to be interrupted in, at NAME_at + n. It writes to the port of
 * POST codes, which takes its time.
 */
.macro SLOW n
FUNC(region_slow\n)
	mov	%rsi, %rcx
	mov	%rdi, %rsi
	mov	$0x80, %edx
AT region_slow\n
	.rept	\n
	nop
	.endr
	rep outsb
	.rept	5 - \n
	nop
	.endr
	mov	$\n, %eax
	ret
END(region_slow\n)
.endm
	SLOW	1
	SLOW	2
	SLOW	3
	SLOW	4

/* Faults in its second instruction, where a handler gives it a bad address. */
FUNC(region_loads)
AT region_loads
	nop
	mov	(%rdi), %eax
	add	%esi, %eax
	ret
END(region_loads)

/* The last one is a call of somebody who sleeps. */
FUNC(region_sleeps)
	push	%rbx
	mov	%rsi, %rbx
AT region_sleeps
	nop
	nop
	nop
	call	*%rdi
	add	%rbx, %rax
	pop	%rbx
	ret
END(region_sleeps)

/* From the first instruction on. */
FUNC(region_whole)
AT region_whole
	push	%rbx
	mov	%edi, %ebx
	lea	(%rbx, %rsi), %eax
	pop	%rbx
	ret
END(region_whole)

/* Branches among them: out of the region, and to its first instruction. */
FUNC(region_branches)
	xor	%eax, %eax
AT region_branches
	inc	%eax
	dec	%edi
	jnz	region_branches_at
	add	%esi, %eax
	ret
END(region_branches)

/*
 * setjmp() is the last one, and returns behind all of them as often as it likes:
 * to a call of @b with what it says. One that returns to the first is called
 * before.
 */
.macro TWICE name
FUNC(\name)
	push	%rbx
	mov	%rsi, %rbx
.endm
.macro TWICE_END name
	mov	%eax, %edi
	call	*%rbx
	pop	%rbx
	ret
END(\name)
.endm
	TWICE	region_returns_behind
AT region_returns_behind
	nop
	call	setjmp
	TWICE_END region_returns_behind

	TWICE	region_returns_first
	call	setjmp
AT region_returns_first
	nop
	nop
	nop
	TWICE_END region_returns_first

	TWICE	region_returns_inside
	mov	$setjmp, %rax
AT region_returns_inside
	nop
	call	*%rax
	nop
	nop
	TWICE_END region_returns_inside
