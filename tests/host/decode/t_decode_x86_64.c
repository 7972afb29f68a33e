// SPDX-License-Identifier: MIT
/*
 * What x86_64 decoders have got wrong before, one case each.
 */
#include <string.h>
#include <sys/mman.h>
#include <arch/insn.h>
#include <lib/errno.h>
#include "../../test.h"

#define PC	   0xffffffff80100000ull

#define BYTES(...) (const u8[]){ __VA_ARGS__ }, sizeof((u8[]){ __VA_ARGS__ })

static struct insn insn;

static int decode(const u8 *bytes, size_t n)
{
	return arch_insn_decode(&insn, bytes, n, PC);
}

#define EXPECT_LENGTH(length, ...)                        \
	do {                                              \
		EXPECT_EQ(decode(BYTES(__VA_ARGS__)), 0); \
		EXPECT_EQ(insn.len, length);              \
	} while (0)

#define EXPECT_NO_INSN(...)                                     \
	do {                                                    \
		EXPECT_EQ(decode(BYTES(__VA_ARGS__)), -EILSEQ); \
		EXPECT_EQ(insn.deny, INSN_DENY_UNDECODABLE);    \
		EXPECT_GE(insn.len, 1);                         \
	} while (0)

#define EXPECT_DENIED(reason, ...)                        \
	do {                                              \
		EXPECT_EQ(decode(BYTES(__VA_ARGS__)), 0); \
		EXPECT_EQ(insn.deny, reason);             \
	} while (0)

/* Marks the boundaries that a walk from the first byte finds. */
static unsigned boundaries(const u8 *bytes, size_t n)
{
	unsigned found = 0;

	for (size_t at = 0; at < n; at += insn.len) {
		found |= 1u << at;
		if (decode(bytes + at, n - at))
			break;
	}
	return found;
}

TEST(decode, an_immediate_is_no_boundary)
{
	EXPECT_EQ(boundaries(BYTES(0x48, 0xb8, 0x88, 0x77, 0x66, 0x55, 0x44,
				   0x33, 0x22, 0x11, 0xc3)),
		  1u << 0 | 1u << 10);
	EXPECT_EQ(boundaries(BYTES(0x48, 0xb8, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
				   0xcc, 0xcc, 0xcc, 0xc3)),
		  1u << 0 | 1u << 10);
}

/* The walk is over original bytes: see site.c for who supplies them. */
TEST(decode, a_trap_byte_is_what_it_is)
{
	const u8 code[] = { 0x48, 0x8d, 0x05, 0x10, 0, 0, 0, 0x90, 0xc3 };

	EXPECT_EQ(boundaries(code, sizeof(code)), 0x181);
	EXPECT_DENIED(INSN_DENY_TRAP, 0xcc, 0x8d, 0x05, 0x10, 0, 0, 0);
	EXPECT_EQ(insn.len, 1);
}

TEST(decode, group_3_test_has_its_immediate)
{
	EXPECT_LENGTH(3, 0xf6, 0xc8, 0x01);
	EXPECT_LENGTH(6, 0xf7, 0xc8, 0x01, 0, 0, 0);
	EXPECT_LENGTH(7, 0xf6, 0x05, 0x10, 0, 0, 0, 0x01);
	EXPECT_LENGTH(5, 0x66, 0xf7, 0xc0, 0x34, 0x12);
	EXPECT_LENGTH(2, 0xf6, 0xd8);
	for (unsigned reg = 2; reg < 8; reg++) {
		EXPECT_LENGTH(2, 0xf6, 0xc0 | reg << 3);
		EXPECT_LENGTH(2, 0xf7, 0xc0 | reg << 3);
	}
}

TEST(decode, near_conditions_are_six_bytes)
{
	for (unsigned cc = 0; cc < 16; cc++) {
		EXPECT_LENGTH(6, 0x0f, 0x80 | cc, 0x10, 0, 0, 0);
		EXPECT_EQ(insn.target, PC + 0x16);
		EXPECT_EQ(insn.flags, INSN_BRANCH_REL | INSN_COND);
	}
	EXPECT_EQ(boundaries(BYTES(0x0f, 0x84, 0x10, 0, 0, 0, 0x90)), 0x41);
}

TEST(decode, prefixes_repeat_up_to_fifteen_bytes)
{
	struct {
		u64 before;
		struct insn insn;
		u64 after;
	} guarded = { .before = 0x1234, .after = 0x5678 };
	u8 code[16];

	memset(code, 0x66, sizeof(code));
	code[14] = 0x90;
	EXPECT_EQ(arch_insn_decode(&guarded.insn, code, 16, PC), 0);
	EXPECT_EQ(guarded.insn.len, 15);
	code[14] = 0x66;
	code[15] = 0x90;
	EXPECT_EQ(arch_insn_decode(&guarded.insn, code, 16, PC), -EILSEQ);
	EXPECT_EQ(guarded.insn.deny, INSN_DENY_UNDECODABLE);
	EXPECT_EQ(guarded.before, 0x1234);
	EXPECT_EQ(guarded.after, 0x5678);
	/* Lock on a register: faults if run, so it is none. */
	EXPECT_NO_INSN(0xf2, 0xf3, 0x66, 0x67, 0x2e, 0xf0, 0x48, 0x89, 0xc0);
}

TEST(decode, only_a_rex_before_the_opcode_counts)
{
	EXPECT_LENGTH(11, 0x66, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8);
	EXPECT_LENGTH(5, 0x48, 0x66, 0xb8, 1, 2);
	EXPECT_LENGTH(4, 0x48, 0x48, 0x89, 0xc0);
}

/* Every instruction at the very end of readable memory. */
TEST(decode, nothing_is_read_beyond_what_there_is)
{
	u8 *pages = mmap(NULL, 3 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	u8 *page = pages + 4096, *end = page + 4096;
	static const u8 samples[][8] = {
		{ 1, 0xc3 },
		{ 1, 0x90 },
		{ 2, 0x0f, 0x05 },
		{ 4, 0xf3, 0x0f, 0x1e, 0xfa },
		{ 5, 0xe8, 0, 0, 0, 0 },
		{ 2, 0x0f, 0x0b },
		{ 7, 0x48, 0x8d, 0x05, 0x10, 0, 0, 0 },
		{ 5, 0xc4, 0xe2, 0x79, 0x18, 0x00 },
	};

	mprotect(page, 4096, PROT_READ | PROT_WRITE);
	for (unsigned i = 0; i < ARRAY_SIZE(samples); i++) {
		unsigned n = samples[i][0];

		memcpy(end - n, samples[i] + 1, n);
		EXPECT_EQ(arch_insn_decode(&insn, end - n, n, PC), 0);
		EXPECT_EQ(insn.len, n);
		for (unsigned less = 0; less < n; less++) {
			memcpy(end - less, samples[i] + 1, less);
			EXPECT_EQ(arch_insn_decode(&insn, end - less, less, PC),
				  -ENODATA);
		}
	}
	page[0] = 0x90;
	EXPECT_EQ(arch_insn_decode(&insn, page, 4096, PC), 0);
	munmap(pages, 3 * 4096);
}

TEST(decode, a_hypervisor_prefix_is_one_with_its_instruction)
{
	const u8 xen[] = { 0x0f, 0x0b, 0x78, 0x65, 0x6e, 0x0f, 0xa2 };
	const u8 kvm[] = { 0x0f, 0x0b, 0x6b, 0x76, 0x6d, 0x0f, 0xa2 };

	EXPECT_EQ(boundaries(xen, sizeof(xen)), 1);
	EXPECT_EQ(insn.len, 7);
	EXPECT_EQ(insn.deny, INSN_DENY_VIRT);
	EXPECT_EQ(boundaries(kvm, sizeof(kvm)), 1);
	EXPECT_EQ(insn.deny, INSN_DENY_VIRT);
	EXPECT_EQ(insn.pc, PC);
	EXPECT_NO_INSN(0x0f, 0x0b, 0x78, 0x65, 0x6e, 0x06);
}

TEST(decode, designed_traps_are_refused)
{
	EXPECT_DENIED(INSN_DENY_TRAP, 0x0f, 0x0b);
	EXPECT_DENIED(INSN_DENY_TRAP, 0x0f, 0xb9, 0xc0);
	EXPECT_DENIED(INSN_DENY_TRAP, 0x0f, 0xff, 0xc0);
	EXPECT_DENIED(INSN_DENY_TRAP, 0xcc);
	EXPECT_DENIED(INSN_DENY_TRAP, 0xf1);
	EXPECT_TRUE(insn.flags & INSN_TRAP);
}

TEST(decode, prefixes_do_not_hide_the_class)
{
	EXPECT_LENGTH(3, 0x2e, 0x75, 0x02);
	EXPECT_EQ(insn.flags, INSN_BRANCH_REL | INSN_COND);
	EXPECT_EQ(insn.target, PC + 5);
	EXPECT_LENGTH(2, 0x66, 0x9d);
	EXPECT_EQ(insn.flags, INSN_FLAGS_POP | INSN_IRQ_CHANGE);
	EXPECT_LENGTH(2, 0xf3, 0xa4);
	EXPECT_EQ(insn.flags, INSN_REP_STRING);
	EXPECT_LENGTH(1, 0xa4);
	EXPECT_EQ(insn.flags, 0);
	EXPECT_LENGTH(5, 0xf0, 0x48, 0x0f, 0xb1, 0x0a);
	EXPECT_EQ(insn.flags, INSN_MEM);
	EXPECT_LENGTH(2, 0x36, 0xc3);
	EXPECT_EQ(insn.flags, INSN_RET | INSN_INDIRECT);
}

TEST(decode, what_makers_disagree_about_is_refused)
{
	EXPECT_DENIED(INSN_DENY_AMBIGUOUS, 0x66, 0xe8, 0, 0, 0, 0);
	EXPECT_DENIED(INSN_DENY_AMBIGUOUS, 0x66, 0xe9, 0, 0, 0, 0);
	EXPECT_DENIED(INSN_DENY_AMBIGUOUS, 0x66, 0x0f, 0x84, 0, 0, 0, 0);
	EXPECT_DENIED(INSN_DENY_AMBIGUOUS, 0x66, 0xc3);
	EXPECT_DENIED(INSN_DENY_AMBIGUOUS, 0x66, 0xff, 0xd0);
	EXPECT_DENIED(INSN_DENY_AMBIGUOUS, 0x66, 0xeb, 0);
	/* Nobody disagrees here: what the linker makes of TLS calls. */
	EXPECT_DENIED(INSN_OK, 0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0);
	EXPECT_EQ(insn.len, 8);
}

TEST(decode, landing_pads_are_nops)
{
	EXPECT_DENIED(INSN_OK, 0xf3, 0x0f, 0x1e, 0xfa);
	EXPECT_EQ(insn.len, 4);
	EXPECT_EQ(insn.flags, INSN_NOP);
	EXPECT_DENIED(INSN_OK, 0xf3, 0x0f, 0x1e, 0xfb);
	EXPECT_EQ(insn.flags, INSN_NOP);
	EXPECT_DENIED(INSN_OK, 0xf3, 0x48, 0x0f, 0x1e, 0xc8); /* rdsspq */
	EXPECT_EQ(insn.flags, 0);
}

TEST(decode, reserved_opcodes_are_none)
{
	EXPECT_NO_INSN(0x0f, 0x04);
	EXPECT_NO_INSN(0xd6);
	EXPECT_NO_INSN(0x0f, 0x3a, 0xff, 0xc0, 0);
	EXPECT_NO_INSN(0x0f, 0x38, 0xff, 0xc0);
	EXPECT_NO_INSN(0x0f, 0x0f, 0xc0, 0x00);
	EXPECT_NO_INSN(0xff, 0xf8);
	EXPECT_NO_INSN(0xc4, 0xe0, 0x78, 0x77);
	EXPECT_NO_INSN(0x62, 0xf4, 0x7c, 0x48, 0x10, 0xc0);
}

TEST(decode, what_64_bit_mode_lacks_is_none)
{
	static const u8 gone[] = { 0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f,
				   0x27, 0x2f, 0x37, 0x3f, 0x60, 0x61, 0x82,
				   0x9a, 0xce, 0xd4, 0xd5, 0xd6, 0xea };

	for (unsigned i = 0; i < sizeof(gone); i++)
		EXPECT_NO_INSN(gone[i], 0xc0, 0, 0, 0, 0, 0, 0);
}

TEST(decode, mov_ss_is_refused_and_mov_ds_is_not)
{
	EXPECT_DENIED(INSN_DENY_SHADOW, 0x8e, 0xd0);
	EXPECT_TRUE(insn.flags & INSN_SHADOW);
	EXPECT_DENIED(INSN_DENY_SHADOW, 0x48, 0x8e, 0x10);
	EXPECT_DENIED(INSN_OK, 0x8e, 0xd8);
	EXPECT_NO_INSN(0x8e, 0xc8); /* mov cs */
}

TEST(decode, sti_hlt_is_not_torn_apart)
{
	EXPECT_DENIED(INSN_OK, 0xfb, 0x90);
	EXPECT_DENIED(INSN_OK, 0xfb);
	EXPECT_DENIED(INSN_DENY_SHADOW, 0xfb, 0xf4);
	EXPECT_DENIED(INSN_DENY_SHADOW, 0xfb, 0x0f, 0x01, 0xc9);
	EXPECT_DENIED(INSN_DENY_SHADOW, 0xf4);
	EXPECT_DENIED(INSN_DENY_SHADOW, 0x0f, 0x01, 0xc9);
	EXPECT_TRUE(insn.flags & INSN_HALT);
}

TEST(decode, debug_and_model_state_is_refused)
{
	EXPECT_DENIED(INSN_DENY_STATE, 0x0f, 0x23, 0xf8);
	EXPECT_DENIED(INSN_DENY_STATE, 0x0f, 0x30);
	EXPECT_DENIED(INSN_DENY_STATE, 0x0f, 0x01, 0xf8);
	EXPECT_DENIED(INSN_OK, 0x0f, 0x21, 0xf8);
}

/* ModRM of mov to and from cr and dr always names registers. */
TEST(decode, mov_cr_ignores_mod)
{
	EXPECT_LENGTH(3, 0x0f, 0x22, 0x1d, 0, 0, 0, 0);
	EXPECT_LENGTH(3, 0x0f, 0x20, 0x44, 0, 0);
	EXPECT_FALSE(insn.flags & (INSN_MEM | INSN_PC_MEM));
	EXPECT_NO_INSN(0x0f, 0x22, 0xc8); /* cr1 */
}

TEST(decode, level_changes_are_refused)
{
	EXPECT_DENIED(INSN_DENY_SYSCALL, 0x0f, 0x05);
	EXPECT_DENIED(INSN_DENY_SYSCALL, 0xcd, 0x80);
	EXPECT_DENIED(INSN_DENY_RETURN, 0x48, 0xcf);
	EXPECT_DENIED(INSN_DENY_RETURN, 0x48, 0x0f, 0x07);
	EXPECT_DENIED(INSN_DENY_FAR, 0x48, 0xcb);
	EXPECT_DENIED(INSN_DENY_FAR, 0xff, 0x18);
}

TEST(decode, a_pc_relative_operand_counts_its_immediate)
{
	/* movl $1, 0x10(%rip) */
	EXPECT_LENGTH(10, 0xc7, 0x05, 0x10, 0, 0, 0, 1, 0, 0, 0);
	EXPECT_EQ(insn.target, PC + 0x1a);
	EXPECT_EQ(insn.flags, INSN_MEM | INSN_PC_MEM);
	EXPECT_EQ(insn.arch.disp_off, 2);
	EXPECT_EQ(insn.arch.imm_off, 6);
	/* lea -8(%eip), %eax */
	EXPECT_LENGTH(7, 0x67, 0x8d, 0x05, 0xf8, 0xff, 0xff, 0xff);
	EXPECT_EQ(insn.target, (u32)(PC - 1));
	EXPECT_EQ(insn.flags, INSN_PC_READ);
	/* A nop's operand is no operand. */
	EXPECT_LENGTH(7, 0x0f, 0x1f, 0x05, 0, 0, 0, 0);
	EXPECT_EQ(insn.flags, INSN_NOP);
}

TEST(decode, every_refusal_has_a_reason)
{
	for (unsigned deny = 0; deny < INSN_DENY_COUNT; deny++)
		EXPECT_TRUE(insn_deny_reason(deny)[0]);
	EXPECT_STREQ(insn_deny_reason(INSN_DENY_COUNT), "unknown reason");
}
