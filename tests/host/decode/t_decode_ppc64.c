// SPDX-License-Identifier: MIT
/*
 * What ppc64 decoders have got wrong before, one case each, in both byte
 * orders.
 */
#include <string.h>
#include <sys/mman.h>
#include <arch/insn.h>
#include <lib/errno.h>
#include "../../test.h"

#define PC  0xc000000000104000ull

#define NOP 0x60000000u

static struct insn insn;

static int decode_words(const u32 *words, unsigned n)
{
	u8 bytes[16];

	for (unsigned i = 0; i < n; i++)
		insn_word_put(bytes + 4 * i, words[i]);
	return arch_insn_decode(&insn, bytes, 4 * n, PC);
}

/* In both byte orders; the results must be the same. */
static int decode(u32 word, u32 next)
{
	const u32 words[] = { word, next };
	struct insn big;
	int error;

	insn_text_little = false;
	error = decode_words(words, 2);
	big = insn;
	insn_text_little = true;
	EXPECT_EQ(decode_words(words, 2), error);
	EXPECT_EQ(insn.len, big.len);
	EXPECT_EQ(insn.flags, big.flags);
	EXPECT_EQ(insn.target, big.target);
	insn_text_little = false;
	return error;
}

static void expect_denied(unsigned deny, u32 word)
{
	EXPECT_EQ(decode(word, NOP), 0);
	EXPECT_EQ(insn.deny, deny);
	EXPECT_EQ(insn.len, 4);
}

static void expect_none(u32 word)
{
	EXPECT_EQ(decode(word, NOP), -EILSEQ);
	EXPECT_EQ(insn.deny, INSN_DENY_UNDECODABLE);
	EXPECT_EQ(insn.len, 4);
	EXPECT_EQ(insn.flags, 0);
}

static void expect_branch(u32 word, u32 flags, u64 target)
{
	EXPECT_EQ(decode(word, NOP), 0);
	EXPECT_EQ(insn.flags, flags);
	EXPECT_EQ(insn.target, target);
	EXPECT_EQ(insn.deny, INSN_OK);
}

/* Offsets of the words of @words at which a walk finds an instruction. */
static unsigned boundaries(const u32 *words, unsigned n)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n; i += insn.len / 4) {
		found |= 1u << i;
		if (decode_words(words + i, n - i) == -ENODATA)
			break;
	}
	return found;
}

TEST(decode, a_suffix_is_no_boundary)
{
	const u32 prefixed[] = { 0x06000000, 0x38600001, NOP }; /* pli r3,1 */
	const u32 only_data[] = { 0x04ff0000, 0x38600001, NOP };

	EXPECT_EQ(boundaries(prefixed, 3), 1u << 0 | 1u << 2);
	/* What only looks like a prefix does not hide the next word. */
	EXPECT_EQ(boundaries(only_data, 3), 1u << 0 | 1u << 1 | 1u << 2);
}

TEST(decode, a_prefixed_instruction_has_eight_bytes)
{
	EXPECT_EQ(decode(0x06000000, 0x38600001), 0);
	EXPECT_EQ(insn.len, 8);
	EXPECT_TRUE(insn.flags & INSN_PREFIXED);
	EXPECT_EQ(insn.deny, INSN_OK);
}

TEST(decode, half_a_prefixed_instruction_needs_more)
{
	const u32 prefix = 0x06000000, no_prefix = 0x04ff0000;

	EXPECT_EQ(decode_words(&prefix, 1), -ENODATA);
	EXPECT_EQ(decode_words(&no_prefix, 1), -EILSEQ);
	EXPECT_EQ(arch_insn_decode(&insn, "\x60\0\0", 3, PC), -ENODATA);
}

TEST(decode, nothing_is_read_behind_the_last_mapped_byte)
{
	u8 *page = mmap(NULL, 12288, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	u8 *first = page + 4096, *last = page + 8188;

	ASSERT_EQ(mprotect(first, 4096, PROT_READ | PROT_WRITE), 0);
	insn_word_put(first, NOP);
	insn_word_put(last, 0x4e800020); /* blr */
	EXPECT_EQ(arch_insn_decode(&insn, first, 4, PC), 0);
	EXPECT_EQ(arch_insn_decode(&insn, last, 4, PC), 0);
	insn_word_put(last, 0x06000000);
	EXPECT_EQ(arch_insn_decode(&insn, last, 4, PC), -ENODATA);
	munmap(page, 12288);
}

TEST(decode, reserved_opcodes_are_refused)
{
	expect_none(0x00000000);
	expect_none(0x00000200); /* attn */
	expect_none(0x14000000); /* opcodes 5 and 22 without a prefix */
	expect_none(0x58000000);
	expect_none(0x7c0007fe);
	expect_none(0x7fffffff);
	expect_none(0x7c00051d); /* tbegin.: gone in 3.1 */
	EXPECT_EQ(decode(0x04800000, 0xe4600000), -EILSEQ);
}

TEST(decode, reserved_bits_are_refused)
{
	expect_denied(INSN_OK, 0x2c030000); /* cmpwi r3,0 */
	expect_none(0x2c430000);
	expect_denied(INSN_OK, 0x7c0006ac); /* eieio */
	expect_none(0x7c0006ad);
	expect_none(0x7c632217); /* lwzx with Rc */
}

TEST(decode, update_forms_with_a_bad_base_are_invalid)
{
	expect_none(0x84840004);	    /* lwzu r4,4(r4) */
	expect_none(0x84800004);	    /* lwzu r4,4(0) */
	expect_none(0xf8000001);	    /* stdu r0,0(0) */
	expect_none(0x7c84286e);	    /* lwzux r4,r4,r5 */
	expect_none(0xcc200008);	    /* lfdu f1,8(0) */
	expect_denied(INSN_OK, 0x94840004); /* stwu r4,4(r4) */
	expect_denied(INSN_OK, 0xcc210008); /* lfdu f1,8(r1) */
}

TEST(decode, other_invalid_forms)
{
	expect_none(0xe0630000); /* lq r3 */
	expect_none(0xb8630000); /* lmw r3,0(r3) */
	expect_none(0x7cc704aa); /* lswi r6,r7,32: r6 to r13 */
	expect_none(0x4c000420); /* bcctr that counts CTR */
	expect_none(0x7c7ff026); /* mfocrf with all fields */
	EXPECT_EQ(decode(0x04130000, 0xe4630000), -EILSEQ); /* R=1, RA=3 */
}

TEST(decode, traps_are_refused)
{
	expect_denied(INSN_DENY_TRAP, 0x7fe00008); /* trap */
	expect_denied(INSN_DENY_TRAP, 0x0be30000); /* tdi 31,r3,0 */
	expect_denied(INSN_DENY_TRAP, 0x0fe00000); /* twui r0,0 */
	expect_denied(INSN_DENY_TRAP, 0x7d832008); /* twge r3,r4 */
	EXPECT_TRUE(insn.flags & INSN_TRAP);
	expect_denied(INSN_DENY_TRAP, 0x7fe32de5); /* hashchk r5,-8(r3) */
}

TEST(decode, msr_writers_and_level_changes_are_refused)
{
	expect_denied(INSN_DENY_STATE, 0x7c600124);   /* mtmsr r3 */
	expect_denied(INSN_DENY_STATE, 0x7c600164);   /* mtmsrd r3 */
	expect_denied(INSN_DENY_RETURN, 0x4c000024);  /* rfid */
	expect_denied(INSN_DENY_RETURN, 0x4c000224);  /* hrfid */
	expect_denied(INSN_DENY_RETURN, 0x4c0000a4);  /* rfscv */
	expect_denied(INSN_DENY_SYSCALL, 0x44000002); /* sc */
	expect_denied(INSN_DENY_SYSCALL, 0x44000022); /* sc 1 */
	expect_denied(INSN_DENY_SYSCALL, 0x44000001); /* scv 0 */
	expect_denied(INSN_OK, 0x7c610164);	      /* mtmsrd r3,1 */
	EXPECT_EQ(insn.flags, INSN_PRIV | INSN_STATE_WRITE | INSN_IRQ_CHANGE);
}

TEST(decode, live_interrupt_registers_are_refused)
{
	expect_denied(INSN_DENY_RI, 0x7c7a03a6); /* mtsrr0 r3 */
	EXPECT_TRUE(insn.flags & INSN_RI_CLEAR);
	expect_denied(INSN_DENY_RI, 0x7c7b03a6); /* mtsrr1 r3 */
	expect_denied(INSN_DENY_RI, 0x7c7a4ba6); /* mthsrr0 r3 */
	expect_denied(INSN_DENY_RI, 0x7c7a02a6); /* mfsrr0 r3 */
	expect_denied(INSN_OK, 0x7c7043a6);	 /* mtsprg0 r3 */
	EXPECT_EQ(insn.flags, INSN_PRIV);
	expect_denied(INSN_OK, 0x7c6902a6); /* mfctr r3 */
	EXPECT_EQ(insn.flags, 0);
}

TEST(decode, the_end_of_load_and_reserve_is_refused)
{
	expect_denied(INSN_OK, 0x7c602028); /* lwarx r3,0,r4 */
	EXPECT_EQ(insn.flags, INSN_MEM | INSN_EXCL_LOAD);
	expect_denied(INSN_OK, 0x7c6020a9); /* ldarx, EH */
	EXPECT_EQ(insn.flags, INSN_MEM | INSN_EXCL_LOAD);
	expect_denied(INSN_DENY_EXCLUSIVE, 0x7c60212d); /* stwcx. r3,0,r4 */
	EXPECT_EQ(insn.flags, INSN_MEM | INSN_EXCL_STORE);
	expect_none(0x7c60212c); /* stwcx without the dot */
}

TEST(decode, branches_and_their_targets)
{
	const u32 call = INSN_CALL | INSN_LR_WRITE;

	expect_branch(0x48000010, INSN_BRANCH_REL, PC + 16);
	expect_branch(0x4bfffff0, INSN_BRANCH_REL, PC - 16);
	expect_branch(0x48000012, INSN_BRANCH_REL, 16);
	expect_branch(0x4bfffffe, INSN_BRANCH_REL, -4ull);
	expect_branch(0x49fffffd, INSN_BRANCH_REL | call, PC + 0x1fffffc);
	expect_branch(0x4182fff0, INSN_BRANCH_REL | INSN_COND, PC - 16);
	expect_branch(0x42000010, INSN_BRANCH_REL | INSN_COND | INSN_LOOP,
		      PC + 16);
	expect_branch(0x42800010, INSN_BRANCH_REL, PC + 16);
	expect_branch(0x4082fffd, INSN_BRANCH_REL | INSN_COND | call, PC - 4);
	expect_branch(0x4e800020, INSN_RET | INSN_LR_READ, 0);
	expect_branch(0x4d820020, INSN_RET | INSN_LR_READ | INSN_COND, 0);
	expect_branch(0x4e800021, INSN_INDIRECT | INSN_LR_READ | call, 0);
	expect_branch(0x4e800420, INSN_INDIRECT, 0);
	expect_branch(0x4e800421, INSN_INDIRECT | call, 0);
}

TEST(decode, readers_of_the_pc)
{
	expect_branch(0x429f0005, INSN_PC_READ | INSN_LR_WRITE, PC + 4);
	/* addpcis r3,-1: from the next instruction on */
	expect_branch(0x4c7fffc5, INSN_PC_READ, PC + 4 - 0x10000);
	EXPECT_EQ(decode(0x06100001, 0x38608000), 0); /* pla r3,0x18000 */
	EXPECT_EQ(insn.flags, INSN_PREFIXED | INSN_PC_READ);
	EXPECT_EQ(insn.target, PC + 0x18000);
	EXPECT_EQ(decode(0x0413ffff, 0xe460fff8), 0); /* pld r3,-8 */
	EXPECT_EQ(insn.flags, INSN_PREFIXED | INSN_MEM | INSN_PC_MEM);
	EXPECT_EQ(insn.target, PC - 8);
	/* Bit 11 says so only where the prefix has an R: not pmxvf32ger. */
	EXPECT_EQ(decode(0x07900018, 0xed1818dc), 0);
	EXPECT_EQ(insn.flags, INSN_PREFIXED | INSN_FPVEC);
}

TEST(decode, a_branch_may_not_hide_behind_pnop)
{
	EXPECT_EQ(decode(0x07000000, 0), 0);
	EXPECT_EQ(insn.flags, INSN_PREFIXED | INSN_NOP);
	EXPECT_EQ(decode(0x07000000, 0x48000000), -EILSEQ);
	EXPECT_EQ(decode(0x07000000, 0x4e800020), -EILSEQ);
	EXPECT_EQ(decode(0x07000000, 0x4c000024), -EILSEQ);
}

TEST(decode, both_words_of_the_global_entry_are_plain)
{
	expect_denied(INSN_OK, 0x3c4c0012); /* addis r2,r12,18 */
	EXPECT_EQ(insn.flags, 0);
	expect_denied(INSN_OK, 0x38428000); /* addi r2,r2,-32768 */
	EXPECT_EQ(insn.flags, 0);
}

TEST(decode, units_that_may_be_off)
{
	static const u32 words[] = {
		0xc8230000, /* lfd f1,0(r3) */
		0xfc20102a, /* fadd f1,f0,f2 */
		0x10221840, /* vadduhm v1,v2,v3 */
		0x7c001f98, /* stxvd2x vs0,0,r3 */
		0xf4030001, /* lxv vs0,0(r3) */
		0xf0221d07, /* xxlnor */
		0x7c6300ce, /* lvx v3,r3,r0 */
		0xfc20048e, /* mffs f1 */
		0xec221004, /* dadd f1,f2,f2 */
		0x7c030162, /* xxsetaccz a0 */
	};

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		EXPECT_EQ(decode(words[i], NOP), 0);
		EXPECT_TRUE(insn.flags & INSN_FPVEC);
	}
}

TEST(decode, the_bytes_are_kept)
{
	EXPECT_EQ(decode(0x06000000, 0x38600001), 0);
	insn_text_little = true;
	decode(0x06000000, 0x38600001);
	EXPECT_EQ(insn.arch.prefix, 0x06000000);
	EXPECT_EQ(insn.arch.word, 0x38600001);
	insn_text_little = false;
	EXPECT_EQ(insn.pc, PC);
	EXPECT_MEMEQ(insn.bytes, "\0\0\0\x06\x01\0\x60\x38", 8);
}
