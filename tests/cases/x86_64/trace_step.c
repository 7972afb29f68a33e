// SPDX-License-Identifier: MIT
/* POPF takes TF from the stack. */
#include <arch/regs.h>
#include <tests/cases/trace_step.h>

#define POPF 0x9d

void trace_step_begin(void)
{
	__asm__ volatile("pushfq; orq %0, (%%rsp); popfq"
			 :
			 : "i"(X86_FLAGS_TF)
			 : "memory", "cc");
}

bool trace_step_on(struct pt_regs *regs)
{
	regs->flags |= X86_FLAGS_TF;
	if (*(const u8 *)regs->ip == POPF)
		*(unsigned long *)regs->sp |= X86_FLAGS_TF;
	return true;
}

void trace_step_off(struct pt_regs *regs)
{
	regs->flags &= ~(unsigned long)X86_FLAGS_TF;
}
