/* SPDX-License-Identifier: MIT */
/*
 * Functions for t_step.c, each with one instruction whose copy would go wrong
 * if it were stepped without repair. A function gets its argument in DI and
 * returns in AX something that depends on all that the instruction does.
 *
 * STEP name, argument, hits: label 9 is the instruction, run that often.
 */
#include <asm/x86.h>
#include <kernel/extable.h>

	.section .rodata
	.balign 8
return_address_pointer:
	.quad	return_address
step_constant:
	.quad	0x1122334455667788

/* struct step_case of t_step.c: nothing else goes to .rodata from here on. */
	.globl	step_cases, step_cases_end
step_cases:

.macro STEP name, arg=0, hits=1
	.section .rodata
	.pushsection .rodata.str, "aMS", @progbits, 1
8:	.asciz	"\name"
	.popsection
	.quad	8b, step_\name, 9f, \arg, \hits
	.text
	.type	step_\name, @function
step_\name:
.endm

/* Returns what is on the stack: its own return address. */
	.text
	.type	return_address, @function
return_address:
	mov	(%rsp), %rax
	ret
	.size	return_address, . - return_address

	.data
	.balign 8
step_variable:
	.quad	0

/* Flags as an operand ------------------------------------------------------- */

STEP pushf
9:	pushfq
	pop	%rax
	ret
END(step_pushf)

STEP pushfw
	xor	%eax, %eax
	push	%rax
9:	pushfw
	pop	%ax
	pop	%rcx
	ret
END(step_pushfw)

/* The image that an unprobed PUSHFQ made, with and without IF. */
STEP popf
	pushfq
	mov	(%rsp), %rcx
	xorl	$X86_FLAGS_IF, (%rsp)
9:	popfq
	pushfq
	pop	%rax
	push	%rcx
	popfq
	ret
END(step_popf)

STEP cli
	pushfq
	sti
9:	cli
	pushfq
	pop	%rax
	popfq
	ret
END(step_cli)

STEP sti
	pushfq
	cli
9:	sti
	pushfq
	pop	%rax
	popfq
	ret
END(step_sti)

STEP std
9:	std
	pushfq
	pop	%rax
	cld
	ret
END(step_std)

/* Calls and returns --------------------------------------------------------- */

STEP call_relative
9:	call	return_address
	ret
END(step_call_relative)

STEP call_register
	lea	return_address(%rip), %rax
9:	call	*%rax
	ret
END(step_call_register)

STEP call_pc_memory
9:	call	*return_address_pointer(%rip)
	ret
END(step_call_pc_memory)

/* The target is read before the return address is pushed. */
STEP call_stack_memory
	lea	return_address(%rip), %rax
	push	%rax
9:	call	*(%rsp)
	pop	%rcx
	ret
END(step_call_stack_memory)

STEP call_stack_memory_offset
	lea	return_address(%rip), %rax
	push	%rax
	push	%rax
9:	call	*8(%rsp)
	pop	%rcx
	pop	%rcx
	ret
END(step_call_stack_memory_offset)

STEP ret, 5
	mov	%rdi, %rax
9:	ret
END(step_ret)

STEP ret_and_pop, 7
	push	%rdi
	call	1f
	ret
1:	mov	8(%rsp), %rax
9:	ret	$8
END(step_ret_and_pop)

/* Jumps --------------------------------------------------------------------- */

STEP jump_short
9:	jmp	1f
	ud2
1:	mov	$1, %eax
	ret
END(step_jump_short)

STEP jump_near
9:	jmp.d32	1f
	ud2
1:	mov	$2, %eax
	ret
END(step_jump_near)

STEP jump_register
	lea	1f(%rip), %rax
9:	jmp	*%rax
	ud2
1:	mov	$3, %eax
	ret
END(step_jump_register)

STEP jump_backwards, 3, 3
	xor	%eax, %eax
1:	add	%rdi, %rax
	dec	%rdi
9:	jnz	1b
	ret
END(step_jump_backwards)

STEP jump_if_not, 1
	test	%rdi, %rdi
9:	jz	1f
	mov	$4, %eax
	ret
1:	ud2
END(step_jump_if_not)

STEP loop, 4, 4
	xor	%eax, %eax
	mov	%rdi, %rcx
1:	inc	%eax
9:	loop	1b
	ret
END(step_loop)

/* Counts in ECX alone, and clears the rest of RCX. */
STEP loop_ecx, 0x100000002, 2
	xor	%eax, %eax
	mov	%rdi, %rcx
1:	inc	%eax
9:	addr32 loop 1b
	shl	$8, %rcx
	or	%rcx, %rax
	ret
END(step_loop_ecx)

STEP loop_while_equal, 4, 1
	mov	%rdi, %rcx
	test	%rdi, %rdi
9:	loope	9b
	mov	%rcx, %rax
	ret
END(step_loop_while_equal)

STEP jump_rcx_zero, 0x100000000
	mov	%rdi, %rcx
9:	jrcxz	1f
	mov	$5, %eax
	ret
1:	mov	$6, %eax
	ret
END(step_jump_rcx_zero)

STEP jump_ecx_zero, 0x100000000
	mov	%rdi, %rcx
9:	jecxz	1f
	mov	$5, %eax
	ret
1:	mov	$6, %eax
	ret
END(step_jump_ecx_zero)

/* Operands relative to the pc ----------------------------------------------- */

STEP load_address
9:	lea	step_constant(%rip), %rax
	ret
END(step_load_address)

STEP load
9:	mov	step_constant(%rip), %rax
	ret
END(step_load)

/* The displacement is not the last thing in the instruction. */
STEP store_immediate
9:	movl	$0x01020304, step_variable(%rip)
	mov	step_variable(%rip), %rax
	movl	$0, step_variable(%rip)
	ret
END(step_store_immediate)

STEP compare_immediate
	xor	%eax, %eax
9:	cmpb	$0x88, step_constant(%rip)
	sete	%al
	ret
END(step_compare_immediate)

STEP locked_add, 9
9:	lock xadd %rdi, step_variable(%rip)
	xor	%eax, %eax
	xchg	%rax, step_variable(%rip)
	ret
END(step_locked_add)

/* The stack pointer as an operand: results relative to it ------------------- */

STEP push, 8
9:	push	%rdi
	pop	%rax
	ret
END(step_push)

STEP push_sp
9:	push	%rsp
	pop	%rax
	sub	%rsp, %rax
	ret
END(step_push_sp)

STEP pop_sp
	mov	%rsp, %rax
	push	%rax
9:	pop	%rsp
	sub	%rsp, %rax
	ret
END(step_pop_sp)

STEP push_stack_memory, 10
	push	%rdi
	push	$0
9:	push	8(%rsp)
	pop	%rax
	pop	%rcx
	pop	%rcx
	ret
END(step_push_stack_memory)

STEP pop_stack_memory, 11
	push	$0
	push	%rdi
9:	pop	(%rsp)
	pop	%rax
	ret
END(step_pop_stack_memory)

STEP leave, 12
	push	%rbp
	mov	%rsp, %rbp
	push	%rdi
	mov	%rdi, %rax
9:	leave
	ret
END(step_leave)

/* String instructions ------------------------------------------------------- */

STEP store_string, 0x5a
	push	%rdi
	push	%rdi
	mov	%edi, %eax
	mov	%rsp, %rdi
	mov	$16, %ecx
9:	rep stosb
	pop	%rax
	pop	%rdx
	add	%rdx, %rax
	add	%rcx, %rax
	ret
END(step_store_string)

STEP store_string_of_nothing, 13
	mov	%rdi, %rax
	xor	%ecx, %ecx
9:	rep stosb
	ret
END(step_store_string_of_nothing)

STEP scan_string, 0x66
	mov	%edi, %eax
	lea	step_constant(%rip), %rdi
	mov	$8, %ecx
9:	repne scasb
	mov	%rcx, %rax
	ret
END(step_scan_string)

/* Faults -------------------------------------------------------------------- */

/* The fix-up is the original's, and is found for the copy, too. */
STEP fault
	mov	$1, %eax
9:	mov	(%rdi), %rax
	ud2
1:	inc	%eax
	ret
	EXTABLE(9b, 1b)
END(step_fault)

STEP divide_fault
	mov	$1, %eax
	xor	%edx, %edx
9:	div	%rdi
	ud2
1:	inc	%eax
	ret
	EXTABLE(9b, 1b)
END(step_divide_fault)

	.section .rodata
step_cases_end:

	.text
	.globl	step_pushf_popf_second
FUNC(step_pushf_popf)
	pushfq
step_pushf_popf_second:
	popfq
	ret
END(step_pushf_popf)
