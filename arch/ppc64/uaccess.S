/* SPDX-License-Identifier: MIT */
/*
 * Instructions that may trap, each with its entry in the exception table: copying
 * from and to memory that may not be there, and samples of every trap.
 *
 * A fix-up is entered with all registers as the trap found them.
 */
#include <frame.h>
#include <asm/entry.h>
#include <kernel/extable.h>

#define EFAULT 14 /* <lib/errno.h> */

	.section .text.noprobe, "ax"

/*
 * size_t arch_copy_safe(void *dst, const void *src, size_t n): how many bytes
 * were not copied. Doublewords while both ends are aligned, then bytes; after a
 * fault bytes as far as they go.
 */
FUNC arch_copy_safe
	or	%r0, %r3, %r4
	andi.	%r0, %r0, 7
	bne	2f
	srdi.	%r0, %r5, 3
	beq	2f
	mtctr	%r0
1:	ld	%r6, 0(%r4)
10:	std	%r6, 0(%r3)
	addi	%r4, %r4, 8
	addi	%r3, %r3, 8
	addi	%r5, %r5, -8
	bdnz	1b
2:	cmpdi	%r5, 0
	beq	4f
	mtctr	%r5
3:	lbz	%r6, 0(%r4)
30:	stb	%r6, 0(%r3)
	addi	%r4, %r4, 1
	addi	%r3, %r3, 1
	addi	%r5, %r5, -1
	bdnz	3b
4:	mr	%r3, %r5
	blr
END arch_copy_safe
	EXTABLE(1b, 2b)
	EXTABLE(10b, 2b)
	EXTABLE(3b, 4b)
	EXTABLE(30b, 4b)

/* int arch_peek(const volatile void *src, u64 *value, unsigned size) */
FUNC arch_peek
	cmplwi	%r5, 8
	beq	8f
	cmplwi	%r5, 4
	beq	4f
	cmplwi	%r5, 2
	beq	2f
1:	lbz	%r6, 0(%r3)
	b	9f
2:	lhz	%r6, 0(%r3)
	b	9f
4:	lwz	%r6, 0(%r3)
	b	9f
8:	ld	%r6, 0(%r3)
9:	std	%r6, 0(%r4)
	li	%r3, 0
	blr
99:	li	%r3, -EFAULT
	blr
END arch_peek
	EXTABLE(1b, 99b)
	EXTABLE(2b, 99b)
	EXTABLE(4b, 99b)
	EXTABLE(8b, 99b)

/* int arch_poke(volatile void *dst, u64 value, unsigned size) */
FUNC arch_poke
	cmplwi	%r5, 8
	beq	8f
	cmplwi	%r5, 4
	beq	4f
	cmplwi	%r5, 2
	beq	2f
1:	stb	%r4, 0(%r3)
	b	9f
2:	sth	%r4, 0(%r3)
	b	9f
4:	stw	%r4, 0(%r3)
	b	9f
8:	std	%r4, 0(%r3)
9:	li	%r3, 0
	blr
99:	li	%r3, -EFAULT
	blr
END arch_poke
	EXTABLE(1b, 99b)
	EXTABLE(2b, 99b)
	EXTABLE(4b, 99b)
	EXTABLE(8b, 99b)

/* Samples -------------------------------------------------------------------- */

	.text

.macro SAMPLE name, insn:vararg
FUNC sample_\name
5:	\insn
6:	blr
END sample_\name
	EXTABLE(5b, 6b)
.endm

	SAMPLE tw, tweq %r3, %r3
	SAMPLE td, tdeq %r3, %r3
	SAMPLE break, trap
	SAMPLE illegal, .long 0
	SAMPLE float, .long 0xfc000890			/* fmr 0, 1 */
	SAMPLE vector, .long 0x100004c4			/* vxor 0, 0, 0 */
	SAMPLE vsx, .long 0xf00004d0			/* xxlxor 0, 0, 0 */

/* 0xb...: in no quadrant's range (0x380). 16: not mapped (0x300). */
FUNC sample_load
	li	%r3, 16
5:	ld	%r4, 0(%r3)
6:	blr
END sample_load
	EXTABLE(5b, 6b)

FUNC sample_store
	li	%r3, 16
5:	std	%r4, 0(%r3)
6:	blr
END sample_store
	EXTABLE(5b, 6b)

FUNC sample_store_text
	li	%r3, -1
	sldi	%r3, %r3, 62
5:	std	%r4, 0(%r3)
6:	blr
END sample_store_text
	EXTABLE(5b, 6b)

FUNC sample_segment
	li	%r3, -1
	sldi	%r3, %r3, 60
5:	ld	%r4, 0(%r3)
6:	blr
END sample_segment
	EXTABLE(5b, 6b)

FUNC sample_alignment
	addi	%r3, %r1, -7
5:	ldarx	%r4, 0, %r3
6:	blr
END sample_alignment
	EXTABLE(5b, 6b)

/* The pc that traps is outside text: a word of its own in .data. */
FUNC sample_fetch
	addis	%r3, %r2, sample_data@toc@ha
	addi	%r3, %r3, sample_data@toc@l
	mflr	%r5
	mtctr	%r3
	bctr
6:	mtlr	%r5
	blr
END sample_fetch
	.pushsection .data
	.balign	4
sample_data:
	.long	0
	.popsection
	EXTABLE(sample_data, 6b)

/*
 * mtmsrd that sets SE is not traced, the nop behind it is, and so is the mtmsrd
 * that clears SE. Each trap goes on where it is.
 */
FUNC sample_step
	mfmsr	%r3
	ori	%r4, %r3, MSR_SE
	mtmsrd	%r4
	nop
5:	mtmsrd	%r3
6:	blr
END sample_step
	EXTABLE(5b, 5b)
	EXTABLE(6b, 6b)
