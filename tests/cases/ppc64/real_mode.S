/* SPDX-License-Identifier: MIT */
/*
 * A trap with translation off: t_vectors.c. Interrupts are off throughout, and
 * MSR[RI] is where SRR0 and SRR1 are live; so it may not be probed.
 */
#include <frame.h>
#include <asm/entry.h>
#include <kernel/extable.h>

	.section .text.noprobe, "ax"

/* In real mode the upper bits of an address do not count (ISA 3.1 III 6.7.3). */
FUNC trap_in_real_mode
	mfmsr	%r3
	li	%r5, MSR_IR | MSR_DR
	andc	%r4, %r3, %r5
	rldicl	%r4, %r4, 48, 1			/* EE to the top, and off */
	rotldi	%r4, %r4, 16
	mflr	%r5
	bcl	20, 31, 1f
1:	mflr	%r6
	mtlr	%r5
	addi	%r7, %r6, 4f - 1b
	addi	%r6, %r6, 2f - 1b
	li	%r5, 0
	mtmsrd	%r5, 1				/* EE and RI off */
	mtsrr0	%r6
	mtsrr1	%r4
	rfid
2:	trap
3:	mtmsrd	%r5, 1
	mtsrr0	%r7
	mtsrr1	%r3
	rfid
4:	blr
	EXTABLE(2b, 3b)
END trap_in_real_mode
