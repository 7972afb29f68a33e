// SPDX-License-Identifier: MIT
/*
 * The only stores to text. Instruction and data caches are apart: a store is
 * written back (dcbst) and its old copy thrown out of the instruction cache
 * (icbi) before anybody fetches again (ISA 3.1 II 1.8). Both work on blocks, and
 * the text address names the block that is fetched.
 */
#include <arch/text.h>
#include <arch/regs.h>
#include <lib/string.h>

#ifdef __LITTLE_ENDIAN__
const u8 arch_break_insn[ARCH_BREAK_SIZE] = { 0x08, 0x00, 0xe0, 0x7f };
#else
const u8 arch_break_insn[ARCH_BREAK_SIZE] = { 0x7f, 0xe0, 0x00, 0x08 };
#endif

/* Blocks are larger on every CPU we run on; more steps do no harm. */
#define CACHE_BLOCK 32

static __noprobe void flush(const void *text, size_t len)
{
	unsigned long start = ALIGN_DOWN((unsigned long)text, CACHE_BLOCK);
	unsigned long end = (unsigned long)text + len;

	for (unsigned long va = start; va < end; va += CACHE_BLOCK)
		__asm__ volatile("dcbst 0,%0" : : "r"(va) : "memory");
	__asm__ volatile("sync" : : : "memory");
	for (unsigned long va = start; va < end; va += CACHE_BLOCK)
		__asm__ volatile("icbi 0,%0" : : "r"(va) : "memory");
	__asm__ volatile("sync; isync" : : : "memory");
}

__noprobe void arch_text_write(void *alias, const void *text, const void *bytes,
			       size_t len)
{
	const u8 *src = bytes;
	u8 *dst = alias;
	size_t i = 0;

	/* Whole words by one store each, so that a fetch sees old or new. */
	for (; i + 4 <= len && IS_ALIGNED((unsigned long)dst, 4); i += 4) {
		u32 word;

		__builtin_memcpy(&word, src + i, sizeof(word));
		WRITE_ONCE(*(u32 *)(dst + i), word);
	}
	for (; i < len; i++)
		WRITE_ONCE(dst[i], src[i]);
	flush(text, len);
}

/* By a reservation, so that a store of another CPU is seen or comes later. */
__noprobe void arch_text_rewrite(void *alias, const void *text)
{
	__atomic_fetch_or((u32 *)alias, 0, __ATOMIC_RELAXED);
	flush(text, ARCH_TEXT_ATOM);
}

/* Any @value up to 32767 is returned as it is; larger ones lose upper bits. */
void arch_text_site_code(u8 *buf, unsigned value)
{
	u32 code[] = { 0x38600000 | (value & 0x7fff), /* li r3, value */
		       0x4e800020 /* blr */ };

	STATIC_ASSERT(sizeof(code) == ARCH_TEXT_SITE_SIZE);
	memcpy(buf, code, sizeof(code));
}

__noprobe void arch_text_site_resume(const u8 *code, struct pt_regs *regs)
{
	u32 word;

	__builtin_memcpy(&word, code, sizeof(word));
	regs->gpr[3] = word & 0x7fff;
	regs->nip += ARCH_TEXT_ATOM;
}
