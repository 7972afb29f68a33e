// SPDX-License-Identifier: MIT
/*
 * jmp rel32 over an instruction (SDM 2A, JMP):
 *
 *	e9 d0 d1 d2 d3
 *	2e e9 d0 d1 d2 d3		a prefix that means nothing here
 *	2e 2e e9 d0 d1 d2 d3		makes other bytes of the text the
 *	2e 2e 2e e9 d0 d1 d2 d3		displacement
 *
 * Those displacement bytes that are the instruction's can be chosen, the others
 * are what stands there. The displacement is little-endian, so what can be chosen
 * is its low end, and the targets are a range. For example at the first of
 *
 *	pop %rbx	5b		e9
 *	pop %rbp	5d		5d	jmp to the next + 0x......c35d
 *	ret		c3		c3
 *
 * nothing is free, at an instruction of two bytes 256 targets in a row, at one of
 * three 64 KiB of them, of four 16 MiB.
 *
 * The prefix is the CS override: compilers and linkers put it in front of jumps
 * as padding, too.
 */
#include <arch/insn.h>
#include <arch/jump.h>
#include <lib/bitmap.h>
#include <lib/byteorder.h>

#define JMP_REL32 0xe9
#define PREFIX_CS 0x2e
#define DISP_SIZE 4

/*
 * The free bytes are read again: where the instruction in front becomes a pun,
 * one of them is the highest of its displacement. As such 00 and ff would lead
 * into the image, others to the near area or out of reach. So each of them is
 * one of these first; the lowest, from FRIENDLY_LOW on, any of so many.
 */
static const u8 friendly[] = { 0x10, 0x30, 0x50, 0x70 };
#define FRIENDLY_LOW   0x08
#define FRIENDLY_COUNT 0x70

/* How many choices there are for the bytes above the lowest. */
static unsigned friendly_forms(unsigned free)
{
	static const u8 forms[DISP_SIZE] = { 0, 1, ARRAY_SIZE(friendly),
					     ARRAY_SIZE(friendly) *
						     ARRAY_SIZE(friendly) };

	return free < DISP_SIZE ? forms[free] : 0;
}

static void form_friendly(struct jump_form *form, unsigned free, unsigned n)
{
	if (free > 1)
		form->first += friendly[n % ARRAY_SIZE(friendly)] << 8;
	if (free > 2)
		form->first += friendly[n / ARRAY_SIZE(friendly)] << 16;
	form->first += FRIENDLY_LOW;
	form->last = form->first + FRIENDLY_COUNT - 1;
}

/* With @head bytes in front of the displacement. */
static void form_whole(u64 pc, unsigned len, const u8 *text, unsigned head,
		       struct jump_form *form)
{
	u64 next = pc + head + DISP_SIZE;
	unsigned free = len - head;
	u32 fixed;

	form->head = head;
	if (free >= DISP_SIZE) {
		form->first = next - ARCH_JUMP_REACH;
		form->last = ~0ULL; /* text is in the last 2 GiB */
		return;
	}
	fixed = load_le32(text + head) & ~(u32)(BIT(8 * free) - 1);
	form->first = next + (u64)(s32)fixed;
	form->last = form->first + BIT(8 * free) - 1;
}

bool arch_jump_form(u64 pc, unsigned len, const u8 *text, unsigned n,
		    struct jump_form *form)
{
	unsigned nr_friendly = friendly_forms(len - 1), head = 1;

	form->friendly = n < nr_friendly;
	if (!form->friendly)
		head += n - nr_friendly;
	if (head > len || head + DISP_SIZE > ARCH_JUMP_TEXT)
		return false;
	form_whole(pc, len, text, head, form);
	if (form->friendly)
		form_friendly(form, len - head, n);
	return true;
}

unsigned arch_jump_spell(u64 pc, const struct jump_form *form, u64 target,
			 u8 *buf)
{
	unsigned head = form->head;

	for (unsigned i = 0; i + 1 < head; i++)
		buf[i] = PREFIX_CS;
	buf[head - 1] = JMP_REL32;
	store_le32(buf + head, (u32)(target - (pc + head + DISP_SIZE)));
	return head + DISP_SIZE;
}

/* Do the four bytes at @field count from behind them, if they are an operand? */
static bool is_relative(const u8 *field)
{
	u8 opcode = field[-2], last = field[-1];

	return (last & 0xfe) == 0xe8 ||			    /* call, jmp */
	       (opcode == 0x0f && (last & 0xf0) == 0x80) || /* jcc */
	       (opcode == 0xc7 && last == 0xf8) ||	    /* xbegin */
	       (opcode == 0x8d && (last & 0xc7) == 0x05);   /* lea (%rip) */
}

void arch_jump_note(const u8 *text, size_t n, unsigned long *named)
{
	for (size_t i = 2; i + 4 <= n; i++) {
		u64 value = (u64)(s64)(s32)load_le32(text + i);
		u64 absolute = value - (u64)text, relative = value + i + 4;

		if (absolute < n)
			bitmap_set(named, absolute);
		if (relative < n && is_relative(text + i))
			bitmap_set(named, relative);
	}
}
