/* SPDX-License-Identifier: MIT */
/*
 * From firmware to C, twice: where firmware put the image, to ask it all we want
 * to know, and then at physical 0, which the vectors need and where firmware is.
 * Position independent until boot_main() runs at the linked address; real mode
 * ignores the top four address bits, so that is the same place with translation
 * off and on. Also where other CPUs start.
 */
#include <frame.h>
#include <asm/entry.h>
#include <kernel/percpu.h>

#define BOOT_STACK_SIZE 16384
#define FIRMWARE_FRAME	(FRAME_REGS + 8 * 20)

	.text

/*
 * From _start. r3, r4: initrd and its size, which the device tree has too; r5:
 * the firmware's client interface.
 */
FUNC boot_entry
	clrldi	%r31, %r5, 32
	LOAD_TOC
	LOAD_REL %r3, __bss_start
	LOAD_REL %r4, __bss_end
	li	%r0, 0
1:	std	%r0, 0(%r3)
	addi	%r3, %r3, 8
	cmpld	%r3, %r4
	blt	1b

	LOAD_REL %r1, boot_stack_top
	stdu	%r0, -FRAME_REGS(%r1)
	mr	%r3, %r31
	bl	boot_firmware
	nop

	/* The image to 0, upwards: linker/ppc64.ld keeps it below 4 MiB. */
	LOAD_REL %r30, _start
	LOAD_REL %r4, __image_end
	subf	%r4, %r30, %r4
	srdi	%r4, %r4, 3
	mtctr	%r4
	addi	%r3, %r30, -8
	li	%r4, -8
1:	ldu	%r0, 8(%r3)
	stdu	%r0, 8(%r4)
	bdnz	1b

	/* Nobody has fetched from there yet, but firmware has. (ISA 3.1 II 1.8) */
	LOAD_REL %r4, __text_end
	subf	%r4, %r30, %r4
	li	%r3, 0
1:	dcbst	0, %r3
	sync
	icbi	0, %r3
	addi	%r3, %r3, 32
	cmpld	%r3, %r4
	blt	1b
	sync
	isync

	li	%r29, -1
	sldi	%r29, %r29, 62			/* linked minus running address */
	subf	%r29, %r30, %r29
	add	%r1, %r1, %r29
	add	%r2, %r2, %r29
	LOAD_REL %r12, boot_linked
	mtctr	%r12
	bctr
boot_linked:
	bl	boot_main
	nop
END boot_entry

/*
 * u32 firmware_enter(u32 args, u32 entry): calls firmware in its own mode. It
 * may change every register but r1, and r2 and r13 to r31 in their upper halves.
 */
FUNC firmware_enter
	mflr	%r0
	std	%r0, FRAME_LR(%r1)
	mfcr	%r0
	std	%r0, FRAME_CR(%r1)
	stdu	%r1, -FIRMWARE_FRAME(%r1)
	std	%r2, FRAME_TOC(%r1)
	.irp n, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, \
		29, 30, 31
	std	%r\n, FRAME_REGS + 8 * (\n - 13)(%r1)
	.endr
	bcl	20, 31, 1f
1:	mflr	%r5
	addi	%r5, %r5, firmware_return - 1b
	mtlr	%r5
	mtsrr0	%r4
	li	%r5, MSR_ME
	mtsrr1	%r5
	rfid
firmware_return:
	ENTER_NATIVE
	clrldi	%r1, %r1, 32
	ld	%r2, FRAME_TOC(%r1)
	.irp n, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, \
		29, 30, 31
	ld	%r\n, FRAME_REGS + 8 * (\n - 13)(%r1)
	.endr
	addi	%r1, %r1, FIRMWARE_FRAME
	ld	%r0, FRAME_CR(%r1)
	mtcrf	0xff, %r0
	ld	%r0, FRAME_LR(%r1)
	mtlr	%r0
	blr
END firmware_enter

/*
 * Where RTAS start-cpu lets another CPU begin: physical address, translation
 * off, r3: physical address of its struct cpu. The stack is only there with
 * translation on.
 */
FUNC secondary_entry
	ENTER_NATIVE
	li	%r31, -1
	sldi	%r31, %r31, 62
	or	%r13, %r3, %r31
	mtsprg	0, %r13
	LOAD_TOC
	or	%r2, %r2, %r31
	LOAD_REL %r4, secondary_linked
	mtsrr0	%r4
	sldi	%r4, %r31, 1			/* MSR[SF] */
	ori	%r4, %r4, MSR_VECTOR_LOW | MSR_RI
	mtsrr1	%r4
	rfid
secondary_linked:
	ld	%r1, CPU_BOOT_STACK(%r13)
	li	%r0, 0
	stdu	%r0, -FRAME_REGS(%r1)
	mr	%r3, %r13
	bl	secondary_main
	nop
END secondary_entry

	.bss
	.balign	16
	.skip	BOOT_STACK_SIZE
	.globl	boot_stack_top
boot_stack_top:
