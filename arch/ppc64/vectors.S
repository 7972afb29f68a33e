/* SPDX-License-Identifier: MIT */
/*
 * The first instruction, the interrupt vectors, and the way into trap() and back;
 * for program interrupts, into probe_hit_break().
 *
 *	0x0000	_start: firmware runs the lowest byte of the image
 *	0x0100	vectors with translation off: system reset, machine check, and
 *		whatever happens while IR or DR is 0
 *	0x4000	the same for AIL=3: translation stays on (LPCR[AIL])
 *
 * SPRG0 holds this CPU's struct cpu. A vector saves r13, r10 and r11 in a bank
 * of its own, so that one kind may interrupt another:
 *
 *	bank	r13	r10, r11	SRR0, SRR1	who
 *	0	SPRG1	scratch[0,1]	registers	everything else
 *	1	SPRG2	scratch[2,3]	registers	storage, translation on
 *	2	SPRG3	scratch[4,5]	scratch[6,7]	reset, machine check
 *
 * (scratch[6,7] also carry SRR0 and SRR1 from a low vector of bank 0 to where
 * translation is on.) While MSR[RI] is 0 the only thing that can go wrong is the
 * first store to the interrupted stack, if r1 points to a guard page or nowhere.
 * That is a storage interrupt, finds RI clear, and goes on, on the emergency
 * stack, with what bank 0 holds.
 *
 * Nothing here may be probed: SRR0 and SRR1 are live.
 */
#include <frame.h>
#include <asm/entry.h>
#include <asm/spr.h>
#include <kernel/percpu.h>

#define SCRATCH(n) (CPU_SCRATCH + 8 * (n))
#define REGS(off)  (FRAME_REGS + (off))
/* The same seen from the interrupted stack pointer. */
#define BELOW(off) (REGS(off) - FRAME_SIZE)

/* offset, kind (see LOW_*, HIGH_*, BODY_*) */
.macro VECTOR_TABLE do
	\do 0x100, reset	/* system reset */
	\do 0x200, mcheck	/* machine check */
	\do 0x300, storage	/* data storage */
	\do 0x380, storage	/* data segment */
	\do 0x400, plain	/* instruction storage */
	\do 0x480, plain	/* instruction segment */
	\do 0x500, plain	/* external */
	\do 0x600, plain	/* alignment */
	\do 0x700, plain	/* program */
	\do 0x800, plain	/* floating point unavailable */
	\do 0x900, plain	/* decrementer */
	\do 0xa00, plain	/* doorbell */
	\do 0xc00, plain	/* system call */
	\do 0xd00, plain	/* trace */
	\do 0xe00, plain	/* hypervisor data storage */
	\do 0xe20, plain	/* hypervisor instruction storage */
	\do 0xe40, plain	/* hypervisor emulation assistance */
	\do 0xe80, plain	/* hypervisor doorbell */
	\do 0xf00, plain	/* performance monitor */
	\do 0xf20, plain	/* vector unavailable */
	\do 0xf40, plain	/* VSX unavailable */
	\do 0xf60, plain	/* facility unavailable */
.endm

/* First four of the eight instructions that fit in the smallest vector. */
.macro BANK_SAVE sprg, slot
	mtsprg	\sprg, %r13
	mfsprg	%r13, 0
	std	%r10, SCRATCH(\slot)(%r13)
	std	%r11, SCRATCH(\slot + 1)(%r13)
.endm

	.section .head.text, "ax"
	.balign	0x10000

	.globl	_start
_start:
	ENTER_NATIVE
	b	boot_entry

/* Low vectors ---------------------------------------------------------------- */

.macro LOW_plain vec
	BANK_SAVE 1, 0
	b	low_\vec
.endm
.macro LOW_storage vec
	LOW_plain \vec
.endm
.macro LOW_reset vec
	BANK_SAVE 3, 4
	b	low_\vec
.endm
.macro LOW_mcheck vec
	LOW_reset \vec
.endm
.macro LOW vec, kind
	.org	\vec
	LOW_\kind \vec
.endm
	VECTOR_TABLE LOW

	.org	0x2000
.macro LOW_BODY vec, kind
low_\vec:
	li	%r10, virt_\vec - _start
	b	low_to_virtual
.endm
	VECTOR_TABLE LOW_BODY

/* r10: offset of where to go on with translation on; r10 and r11 are free. */
low_to_virtual:
	mfsrr0	%r11
	std	%r11, SCRATCH(6)(%r13)
	mfsrr1	%r11
	std	%r11, SCRATCH(7)(%r13)
	li	%r11, -1
	sldi	%r11, %r11, 62			/* the image's base */
	or	%r10, %r10, %r11
	mtsrr0	%r10
	sldi	%r11, %r11, 1			/* MSR[SF] */
	ori	%r11, %r11, MSR_VECTOR_LOW
	mtsrr1	%r11
	rfid

.macro VIRT_plain vec
	ld	%r10, SCRATCH(6)(%r13)
	ld	%r11, SCRATCH(7)(%r13)
	b	body_\vec
.endm
.macro VIRT_storage vec
	VIRT_plain \vec
.endm
.macro VIRT_reset vec
	li	%r10, \vec
	ld	%r11, CPU_NMI_SP(%r13)
	b	own_stack
.endm
.macro VIRT_mcheck vec
	li	%r10, \vec
	ld	%r11, CPU_MCE_SP(%r13)
	b	own_stack
.endm
.macro VIRT vec, kind
virt_\vec:
	VIRT_\kind \vec
.endm
	VECTOR_TABLE VIRT

/* High vectors --------------------------------------------------------------- */

.macro HIGH_plain vec
	BANK_SAVE 1, 0
	mfsrr0	%r10
	mfsrr1	%r11
	b	body_\vec
.endm
.macro HIGH_storage vec
	BANK_SAVE 2, 2
	b	high_\vec
.endm
.macro HIGH_reset vec			/* always taken low (LPCR[AIL]) */
	trap
.endm
.macro HIGH_mcheck vec
	trap
.endm
.macro HIGH vec, kind
	.org	0x4000 + \vec
	HIGH_\kind \vec
.endm
	VECTOR_TABLE HIGH

	.org	0x5000

/* Storage: a fault of ours, or one to be moved from bank 1 to bank 0? */
.macro HIGH_BODY vec, kind
.ifc \kind, storage
high_\vec:
	mfcr	%r10
	mfsrr1	%r11
	andi.	%r11, %r11, MSR_RI
	beq-	no_stack
	mtcrf	0xff, %r10
	ld	%r10, SCRATCH(2)(%r13)
	ld	%r11, SCRATCH(3)(%r13)
	std	%r10, SCRATCH(0)(%r13)
	std	%r11, SCRATCH(1)(%r13)
	mfsprg	%r10, 2
	mtsprg	1, %r10
	mfsrr0	%r10
	mfsrr1	%r11
	b	body_\vec
.endif
.endm
	VECTOR_TABLE HIGH_BODY

/*
 * Bank 0, translation on, RI off. r10, r11: SRR0, SRR1. The first store is the
 * one that may fault; nothing of bank 0 is lost then.
 */
.macro BODY_START
	std	%r10, BELOW(PT_NIP)(%r1)
	std	%r11, BELOW(PT_MSR)(%r1)
.endm
.macro BODY vec, kind
.if \vec != 0x700
body_\vec:
	BODY_START
	li	%r10, \vec
	b	same_stack
.endif
.endm
	VECTOR_TABLE BODY

/* The rest of bank 0, and a frame. r10: the vector. */
.macro SAVE_BANK
	std	%r10, BELOW(PT_TRAP)(%r1)
	ld	%r10, SCRATCH(0)(%r13)
	ld	%r11, SCRATCH(1)(%r13)
	std	%r10, BELOW(PT_GPR(10))(%r1)
	std	%r11, BELOW(PT_GPR(11))(%r1)
	mfsprg	%r10, 1
	std	%r10, BELOW(PT_GPR(13))(%r1)
	std	%r1, BELOW(PT_GPR(1))(%r1)
	stdu	%r1, -FRAME_SIZE(%r1)
.endm

/*
 * The frame holds nip, msr, trap, r1, r10, r11, r13, dar, dsisr; everything else
 * is live. From the end on we can be interrupted. r3: the struct pt_regs.
 */
.macro SAVE_REST
	std	%r0, REGS(PT_GPR(0))(%r1)
	.irp n, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 16, 17, 18, 19, 20, 21, 22, \
		23, 24, 25, 26, 27, 28, 29, 30, 31
	std	%r\n, REGS(PT_GPR(\n))(%r1)
	.endr
	mflr	%r3
	mfctr	%r4
	mfxer	%r5
	mfcr	%r6
	std	%r3, REGS(PT_LINK)(%r1)
	std	%r4, REGS(PT_CTR)(%r1)
	std	%r5, REGS(PT_XER)(%r1)
	std	%r6, REGS(PT_CCR)(%r1)
	ld	%r2, CPU_TOC(%r13)		/* it may have been half set up */
	addi	%r3, %r1, FRAME_REGS
	li	%r0, MSR_RI
	mtmsrd	%r0, 1
.endm

same_stack:
	SAVE_BANK
save_rest:
	mfdar	%r10
	mfdsisr	%r11
	std	%r10, REGS(PT_DAR)(%r1)
	std	%r11, REGS(PT_DSISR)(%r1)
	SAVE_REST
	addis	%r12, %r2, trap@toc@ha
	addi	%r12, %r12, trap@toc@l
	/* arch_trap_restart() comes here too, with a frame at r1. */
	.globl	vec_restart
vec_restart:
	mtctr	%r12
	bctrl
	.globl	vec_trap_return
vec_trap_return:				/* the unwinder knows it */
	b	vec_restore

/*
 * Program interrupts: most are breakpoints of probes, and the path of those is
 * straight. No address goes with them.
 */
body_0x700:
	BODY_START
	li	%r10, 0
	std	%r10, BELOW(PT_DAR)(%r1)
	std	%r10, BELOW(PT_DSISR)(%r1)
	li	%r10, 0x700
	SAVE_BANK
	SAVE_REST
	bl	probe_hit_break
	.globl	vec_break_return
vec_break_return:				/* ... and this */

/*
 * Back to what the frame at r1 says. r13 is not restored: the thread may have
 * been moved to another CPU in trap().
 */
vec_restore:
	ld	%r5, REGS(PT_MSR)(%r1)
	andi.	%r0, %r5, MSR_RI
	beq-	lost
restore_found:
	ld	%r3, REGS(PT_LINK)(%r1)
	ld	%r4, REGS(PT_CTR)(%r1)
	ld	%r5, REGS(PT_XER)(%r1)
	ld	%r6, REGS(PT_CCR)(%r1)
	mtlr	%r3
	mtctr	%r4
	mtxer	%r5
	mtcrf	0xff, %r6
	.irp n, 0, 2, 3, 4, 5, 6, 7, 8, 9, 12, 14, 15, 16, 17, 18, 19, 20, 21, 22, \
		23, 24, 25, 26, 27, 28, 29, 30, 31
	ld	%r\n, REGS(PT_GPR(\n))(%r1)
	.endr
	li	%r10, 0
	/*
	 * A reset that comes from here on finds RI off. As long as r1 is the
	 * frame all can be done once more: arch_trap_recover().
	 */
	.globl	vec_window_start, vec_window_end
vec_window_start:
	mtmsrd	%r10, 1
	ld	%r10, REGS(PT_NIP)(%r1)
	ld	%r11, REGS(PT_MSR)(%r1)
	mtsrr0	%r10
	mtsrr1	%r11
	ld	%r10, REGS(PT_GPR(10))(%r1)
	ld	%r11, REGS(PT_GPR(11))(%r1)
	ld	%r1, REGS(PT_GPR(1))(%r1)
vec_window_end:
	rfid

/* The interrupted code had live SRR0 and SRR1; they are gone. */
lost:
	addi	%r3, %r1, FRAME_REGS
	bl	arch_trap_recover		/* does not return if it cannot */
	nop
	b	restore_found

/* Other stacks --------------------------------------------------------------- */

/*
 * Bank 2, translation on. r10: vector; r11: top of the stack to use, unless we
 * are on it already.
 */
own_stack:
	std	%r10, SCRATCH(2)(%r13)
	mfcr	%r10
	std	%r10, SCRATCH(3)(%r13)
	subf	%r10, %r1, %r11
	cmpldi	%r10, TRAP_STACK_SIZE
	bge	1f
	mr	%r11, %r1
1:	ld	%r10, SCRATCH(3)(%r13)
	mtcrf	0xff, %r10
	std	%r1, BELOW(PT_GPR(1))(%r11)
	std	%r1, -FRAME_SIZE(%r11)
	addi	%r1, %r11, -FRAME_SIZE
	ld	%r10, SCRATCH(2)(%r13)
	std	%r10, REGS(PT_TRAP)(%r1)
	ld	%r10, SCRATCH(4)(%r13)
	ld	%r11, SCRATCH(5)(%r13)
	std	%r10, REGS(PT_GPR(10))(%r1)
	std	%r11, REGS(PT_GPR(11))(%r1)
	mfsprg	%r10, 3
	std	%r10, REGS(PT_GPR(13))(%r1)
	ld	%r10, SCRATCH(6)(%r13)
	ld	%r11, SCRATCH(7)(%r13)
	std	%r10, REGS(PT_NIP)(%r1)
	std	%r11, REGS(PT_MSR)(%r1)
	b	save_rest

/*
 * Bank 1: body_* could not store. r10: CR; scratch[2,3]: SRR0 and SRR1 of what
 * was to be reported, the rest of it in bank 0.
 */
no_stack:
	mtcrf	0xff, %r10
	ld	%r11, CPU_TRAP_SP(%r13)
	std	%r1, BELOW(PT_GPR(1))(%r11)
	std	%r1, -FRAME_SIZE(%r11)
	addi	%r1, %r11, -FRAME_SIZE
	ld	%r10, SCRATCH(2)(%r13)
	ld	%r11, SCRATCH(3)(%r13)
	std	%r10, REGS(PT_NIP)(%r1)
	std	%r11, REGS(PT_MSR)(%r1)
	ld	%r10, SCRATCH(0)(%r13)
	ld	%r11, SCRATCH(1)(%r13)
	std	%r10, REGS(PT_GPR(10))(%r1)
	std	%r11, REGS(PT_GPR(11))(%r1)
	mfsprg	%r10, 1
	std	%r10, REGS(PT_GPR(13))(%r1)
	li	%r10, 0x300 + PT_TRAP_NO_STACK
	std	%r10, REGS(PT_TRAP)(%r1)
	b	save_rest
