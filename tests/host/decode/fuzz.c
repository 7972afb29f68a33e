// SPDX-License-Identifier: MIT
/*
 * libFuzzer's target: whatever the bytes are, decoder, relocator and emulator
 * do not crash, read or write beyond what they were given, or contradict
 * themselves. Input: two signed bytes and a word that place code and copy, a
 * byte for the size of the buffer, then the instruction.
 */
#include <stdlib.h>
#include <string.h>
#include <arch/insn.h>
#include <arch/uaccess.h>
#include <frame.h>
#include <lib/errno.h>

#define CHECK(condition)          \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

/* There is no memory: every access faults. */
size_t arch_copy_safe(void *dst, const void *src, size_t n)
{
	(void)dst;
	(void)src;
	return n;
}

int arch_peek(const volatile void *src, u64 *value, unsigned size)
{
	(void)src;
	(void)value;
	(void)size;
	return -EFAULT;
}

int arch_poke(volatile void *dst, u64 value, unsigned size)
{
	(void)dst;
	(void)value;
	(void)size;
	return -EFAULT;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void check_decoded(const struct insn *insn, int error, size_t avail)
{
	if (error == -ENODATA)
		return;
	CHECK(insn->len >= 1 && insn->len <= INSN_MAX_BYTES);
	if (error) {
		CHECK(error == -EILSEQ);
		CHECK(insn->deny == INSN_DENY_UNDECODABLE);
		return;
	}
	CHECK(insn->len <= avail);
	CHECK(insn->deny < INSN_DENY_COUNT);
	CHECK(insn->deny != INSN_DENY_UNDECODABLE);
	CHECK(insn_deny_reason(insn->deny));
}

/* Every byte up to the first jump that is always taken is an instruction. */
static void check_code(const u8 *code, size_t size, u64 at)
{
	struct insn insn;

	for (size_t pos = 0; pos < size; pos += insn.len) {
		CHECK(!arch_insn_decode(&insn, code + pos, size - pos,
					at + pos));
		if (insn.flags & (INSN_BRANCH_REL | INSN_INDIRECT) &&
		    !(insn.flags & (INSN_COND | INSN_CALL)))
			return;
	}
}

static void check_relocated(const struct insn *insn, u64 at, size_t size)
{
	u8 *code = malloc(size);
	int n = arch_insn_relocate(insn, at, code, size);

	if (n < 0) {
		CHECK(n == -ERANGE || n == -EOPNOTSUPP || n == -ENOSPC);
		CHECK(n != -ENOSPC || size < INSN_RELOC_MAX);
	} else {
		CHECK((size_t)n <= size && n <= INSN_RELOC_MAX);
		if (!(insn->flags & INSN_PREFIXED))
			check_code(code, n, at);
	}
	free(code);
}

static void check_emulated(const struct insn *insn, const u8 *data, size_t n)
{
	struct pt_regs regs, before;
	enum insn_emu offer;
	struct insn_op op;
	int error;

	memset(&regs, 0, sizeof(regs));
	memcpy(&regs, data, min(n, sizeof(regs)));
	before = regs;
	offer = arch_insn_analyse(insn, &regs, &op);
	CHECK(!memcmp(&regs, &before, sizeof(regs)));
	if (offer == INSN_EMU_NONE)
		return;
	error = arch_insn_apply(&op, &regs);
	CHECK(!error || error == -EFAULT);
	if (error)
		CHECK(!memcmp(&regs, &before, sizeof(regs)));
	if (offer == INSN_EMU_NEEDS_MEMORY)
		CHECK(error);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct insn insn;
	u8 *exact;
	u32 low;
	u64 pc, at;
	int error;

	if (size < 7)
		return 0;
	memcpy(&low, data + 2, 4);
	low &= ~3u;
	pc = ((u64)(s64)(s8)data[0] << 30) + low;
	at = ((u64)(s64)(s8)data[1] << 28) + (low & ~63u);
	exact = malloc(size - 7);
	memcpy(exact, data + 7, size - 7);
	error = arch_insn_decode(&insn, exact, size - 7, pc);
	check_decoded(&insn, error, size - 7);
	if (!error) {
		check_relocated(&insn, at, data[6] % (2 * INSN_RELOC_MAX));
		check_emulated(&insn, data, size);
	}
	free(exact);
	return 0;
}
