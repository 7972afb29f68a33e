/* SPDX-License-Identifier: MIT */
/*
 * Numbers of the architecture that C and assembly share: selectors, bits of
 * flags and control registers, model-specific registers, and FUNC/END.
 */
#ifndef SONDE_ASM_X86_H
#define SONDE_ASM_X86_H

/* Where the image is linked less where it is loaded; linker/x86_64.ld. */
#define KERNEL_VMA 0xffffffff80000000

/* Selectors: the order that SYSCALL and SYSRET assume (SDM 2B SYSRET). */
#define SEL_KERNEL_CODE 0x08
#define SEL_KERNEL_DATA 0x10
#define SEL_USER_CODE32 0x1b
#define SEL_USER_DATA	0x23
#define SEL_USER_CODE	0x2b
#define SEL_TSS		0x30

/* RFLAGS (SDM 1 3.4.3). */
#define X86_FLAGS_FIXED	   0x00000002
#define X86_FLAGS_TF	   0x00000100
#define X86_FLAGS_IF	   0x00000200
#define X86_FLAGS_DF	   0x00000400
#define X86_FLAGS_RF	   0x00010000
#define X86_FLAGS_AC	   0x00040000

#define CR0_PE		   0x00000001
#define CR0_TS		   0x00000008
#define CR0_ET		   0x00000010
#define CR0_NE		   0x00000020
#define CR0_WP		   0x00010000
#define CR0_PG		   0x80000000

#define CR4_PAE		   0x00000020
#define CR4_OSFXSR	   0x00000200
#define CR4_OSXMMEXCPT	   0x00000400
#define CR4_UMIP	   0x00000800
#define CR4_SMEP	   0x00100000
#define CR4_SMAP	   0x00200000

#define MSR_APIC_BASE	   0x0000001b
#define MSR_EFER	   0xc0000080
#define MSR_GS_BASE	   0xc0000101
#define MSR_KERNEL_GS_BASE 0xc0000102

#define APIC_BASE_ENABLE   0x800

#define EFER_LME	   0x100
#define EFER_LMA	   0x400
#define EFER_NXE	   0x800

/* DR6, DR7 (SDM 3B 18.2). */
#define DR6_BS	  0x4000
#define DR6_CLEAR 0xffff0ff0

/* Interrupt vectors. Those from VEC_DEVICES on are never an `int n` of ours. */
#define VEC_DEVICES  0xe0
#define VEC_PIC	     0xe0 /* 16 of them, all masked; spurious ones arrive */
#define VEC_TIMER    0xf0
#define VEC_IPI	     0xf1
#define VEC_CONSOLE  0xf2
#define VEC_SPURIOUS 0xff

#ifdef __ASSEMBLY__
#define FUNC(name)             \
	.globl name;           \
	.type name, @function; \
	name:
#define END(name) .size name, .- name
#endif

#endif
