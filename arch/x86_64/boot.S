/* SPDX-License-Identifier: MIT */
/*
 * From the firmware's 32-bit protected mode, and from real mode on the other
 * CPUs, to C in long mode.
 *
 * There are two ways in, which differ only in how they tell their data:
 *
 *	PVH		EBX = hvm_start_info			(the Xen note)
 *	Multiboot2	EAX = magic, EBX = boot information	(the header)
 *
 * The boot page tables are constants, so nothing has to be built in 32-bit
 * code. The first 4 GiB are mapped three times, all of it writable and
 * executable; kernel_pt, which vm.c builds, has neither the first nor any page
 * that is both.
 *
 *	0			until paging is on; the firmware parsers
 *	DIRECT_BASE		phys_to_virt()
 *	KERNEL_VMA		the image: 1 GiB only
 */
#include <asm/setup.h>
#include <asm/x86.h>
#include <kernel/percpu.h>

#define PHYS(sym) (sym - KERNEL_VMA)

#define MB2_MAGIC      0xe85250d6
#define PVH_MAGIC      0x336ec578 /* of hvm_start_info, too */
#define PVH_NOTE_ENTRY 18	  /* XEN_ELFNOTE_PHYS32_ENTRY */

#define BOOT_STACK_SIZE 16384

/* Headers ------------------------------------------------------------------ */

	.section .multiboot, "a"
	.balign 8
mb2_header:
	.long	MB2_MAGIC
	.long	0			/* i386 */
	.long	mb2_end - mb2_header
	.long	0x100000000 - (MB2_MAGIC + (mb2_end - mb2_header))
	.short	3, 0			/* entry address */
	.long	12
	.long	PHYS(_start)
	.balign 8
	.short	0, 0			/* end */
	.long	8
mb2_end:

	.section .note.Xen, "a", @note
	.balign 4
	.long	4, 8, PVH_NOTE_ENTRY
	.asciz	"Xen"
	.quad	PHYS(pvh_start)

/* The boot CPU ------------------------------------------------------------- */

	.section .boot, "ax"
	.code32
pvh_start:
	mov	$PVH_MAGIC, %eax
	.globl	_start
_start:
	cli
	cld
	mov	$PHYS(boot_stack_top), %esp
	mov	%eax, %edi		/* arguments of boot_main() */
	mov	%ebx, %esi

	mov	$0x80000000, %eax
	cpuid
	cmp	$0x80000001, %eax
	jb	no_long_mode
	mov	$0x80000001, %eax
	cpuid
	bt	$29, %edx
	jnc	no_long_mode

	lgdtl	PHYS(boot_gdtr)
	mov	%cr4, %eax
	or	$CR4_PAE, %eax
	mov	%eax, %cr4
	mov	$PHYS(boot_pml4), %eax
	mov	%eax, %cr3
	mov	$MSR_EFER, %ecx
	rdmsr
	or	$EFER_LME, %eax
	wrmsr
	mov	$(CR0_PG | CR0_WP | CR0_NE | CR0_ET | CR0_PE), %eax
	mov	%eax, %cr0
	ljmpl	$SEL_KERNEL_CODE, $PHYS(boot_64)

/* Says so on COM1, as the firmware left it, and gives up (see poweroff.c). */
no_long_mode:
	mov	$PHYS(no_long_mode_text), %esi
1:	lodsb
	test	%al, %al
	jz	2f
	mov	$0x3f8, %dx
	outb	%al, %dx
	jmp	1b
2:	mov	$0x11, %al
	mov	$0xf4, %dx
	outb	%al, %dx
3:	hlt
	jmp	3b

	.code64
boot_64:
	mov	$SEL_KERNEL_DATA, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	mov	$1f, %rax		/* to the image's own addresses */
	jmp	*%rax
1:	xor	%eax, %eax
	mov	%eax, %fs
	mov	%eax, %gs
	mov	$boot_stack_top, %rsp
	xor	%ebp, %ebp		/* backtraces end here */
	mov	%edi, %edi
	mov	%esi, %esi
	call	boot_main
	ud2

/* The other CPUs ----------------------------------------------------------- */

/*
 * ap_trampoline is copied to a page below 1 MiB, where the start-up IPI makes
 * the CPU begin in real mode: CS = page >> 4, IP = 0. It needs nothing that is
 * relative to where it stands. Data, since it is no 64-bit code.
 */
	.section .rodata
	.globl	ap_trampoline, ap_trampoline_end
	.code16
ap_trampoline:
	cli
	cld
	mov	%cs, %ax
	mov	%ax, %ds
	lgdtl	ap_gdtr - ap_trampoline
	mov	%cr4, %eax
	or	$CR4_PAE, %eax
	mov	%eax, %cr4
	mov	$PHYS(boot_pml4), %eax
	mov	%eax, %cr3
	mov	$MSR_EFER, %ecx
	rdmsr
	or	$EFER_LME, %eax
	wrmsr
	mov	$(CR0_PG | CR0_WP | CR0_NE | CR0_ET | CR0_PE), %eax
	mov	%eax, %cr0
	ljmpl	$SEL_KERNEL_CODE, $PHYS(ap_64)
	.balign 4
ap_gdtr:
	.short	boot_gdt_end - boot_gdt - 1
	.long	PHYS(boot_gdt)
ap_trampoline_end:

/*
 * ap_boot_cpu (smp.c) says who this CPU is. The exchange takes that away: a CPU
 * that comes too late finds nothing and stops. The stack may be one that only
 * kernel_pt maps.
 */
	.section .boot, "ax"
	.code64
ap_64:
	mov	$SEL_KERNEL_DATA, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	mov	$1f, %rax
	jmp	*%rax
1:	xor	%ebp, %ebp
	mov	%ebp, %fs
	mov	%ebp, %gs
	xor	%edi, %edi
	xchg	%rdi, ap_boot_cpu
	test	%rdi, %rdi
	jz	2f
	mov	$MSR_EFER, %ecx
	rdmsr
	or	ap_boot_efer, %eax	/* the tables may use NX */
	wrmsr
	mov	kernel_pt, %rax
	mov	%rax, %cr3
	mov	CPU_BOOT_STACK(%rdi), %rsp
	call	ap_main
2:	cli
	hlt
	jmp	2b

/* Data --------------------------------------------------------------------- */

	.section .rodata
no_long_mode_text:
	.asciz	"sonde: cannot boot: this CPU has no 64-bit mode\r\n"

	.balign 8
boot_gdt:
	.quad	0
	.quad	0x00af9a000000ffff	/* SEL_KERNEL_CODE */
	.quad	0x00cf92000000ffff	/* SEL_KERNEL_DATA */
boot_gdt_end:
boot_gdtr:
	.short	boot_gdt_end - boot_gdt - 1
	.long	PHYS(boot_gdt)

#define TABLE 3		/* present, writable */
#define LEAF  0x83	/* and 2 MiB */

	.data
	.balign 4096
	.globl	boot_pdpt
boot_pml4:
	.quad	PHYS(boot_pdpt) + TABLE
	.fill	272, 8, 0
	.quad	PHYS(boot_pdpt) + TABLE		/* 273: DIRECT_BASE */
	.fill	237, 8, 0
	.quad	PHYS(boot_pdpt_image) + TABLE	/* 511 */
boot_pdpt:					/* boot.c adds to it */
	.quad	PHYS(boot_pd) + TABLE
	.quad	PHYS(boot_pd) + 0x1000 + TABLE
	.quad	PHYS(boot_pd) + 0x2000 + TABLE
	.quad	PHYS(boot_pd) + 0x3000 + TABLE
	.fill	508, 8, 0
boot_pdpt_image:
	.fill	510, 8, 0
	.quad	PHYS(boot_pd) + TABLE		/* 510: KERNEL_VMA */
	.quad	0
boot_pd:
	.set	pa, 0
	.rept	2048
	.quad	pa + LEAF
	.set	pa, pa + 0x200000
	.endr

	.bss
	.balign 16
	.globl	boot_stack, boot_stack_top
boot_stack:
	.fill	BOOT_STACK_SIZE
boot_stack_top:
