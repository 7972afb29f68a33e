// SPDX-License-Identifier: MIT
/*
 * Bytes of text, written. x86 keeps instruction fetch coherent with stores: all
 * that other CPUs still need is arch_cpu_serialize() (SDM 3A 9.1.3).
 *
 * Stores are single bytes, in ascending order: one byte cannot be torn, and no
 * more than that is promised. The loop must not become a call of memcpy(), which
 * may itself be what is being patched; hence volatile.
 */
#include <arch/text.h>

#include <arch/regs.h>

const u8 arch_break_insn[ARCH_BREAK_SIZE] = { 0xcc };

__noprobe void arch_text_write(void *alias, const void *text, const void *bytes,
			       size_t len)
{
	volatile u8 *to = alias;
	const volatile u8 *from = bytes;
	size_t i;

	(void)text;
	/* Whole words by one store each: slots are long. */
	for (i = 0; i + 8 <= len; i += 8)
		*(volatile u64 *)(to + i) = *(const volatile u64 *)(from + i);
	for (; i < len; i++)
		to[i] = from[i];
	barrier();
}

/* One byte, by a locked read and write: nobody else's store is undone. */
__noprobe void arch_text_rewrite(void *alias, const void *text)
{
	(void)text;
	__asm__ volatile("lock orb $0, (%0)" : : "r"(alias) : "memory");
}

/* mov $value, %eax; ret */
void arch_text_site_code(u8 *buf, unsigned value)
{
	unsigned i;

	buf[0] = 0xb8;
	for (i = 0; i < 4; i++)
		buf[1 + i] = value >> 8 * i;
	buf[5] = 0xc3;
}

__noprobe void arch_text_site_resume(const u8 *code, struct pt_regs *regs)
{
	unsigned i;

	regs->ax = 0;
	for (i = 0; i < 4; i++)
		regs->ax |= (unsigned long)code[1 + i] << 8 * i;
	regs->ip += ARCH_TEXT_SITE_SIZE - 1;
}
