// SPDX-License-Identifier: MIT
/*
 * Emulation and relocation of ppc64 instructions. Relocated code is run by the
 * decoder and the emulator, instruction by instruction, and must do what the
 * emulation of the original does; native_ppc64.c asks a processor instead.
 */
#include <string.h>
#include <arch/insn.h>
#include <arch/uaccess.h>
#include <frame.h>
#include <lib/errno.h>
#include "../../test.h"

#define PC   0xc000000000104000ull
#define SLOT 0xc000000001804000ull
#define TOP  ((u64)ram + 4096)

/* All the memory there is, for emulated code. */
static u8 ram[8192] __aligned(16);
static unsigned accesses;

static bool in_ram(const volatile void *p, size_t n)
{
	return (u64)p - (u64)ram <= sizeof(ram) - n;
}

/* One of the two is a variable of emulate.c. */
size_t arch_copy_safe(void *dst, const void *src, size_t n)
{
	accesses++;
	if (!in_ram(dst, n) && !in_ram(src, n))
		return n;
	memcpy(dst, src, n);
	return 0;
}

int arch_peek(const volatile void *src, u64 *value, unsigned size)
{
	u8 bytes[8];

	if (!in_ram(src, size))
		return -EFAULT;
	memcpy(bytes, (const void *)src, size);
	*value = 0;
	for (unsigned i = 0; i < size; i++)
		*value |= (u64)bytes[i]
			  << 8 * (insn_text_little ? i : size - 1 - i);
	return 0;
}

int arch_poke(volatile void *dst, u64 value, unsigned size)
{
	if (!in_ram(dst, size))
		return -EFAULT;
	for (unsigned i = 0; i < size; i++)
		((volatile u8 *)dst)[i] =
			value >> 8 * (insn_text_little ? i : size - 1 - i);
	return 0;
}

static u64 random64(void)
{
	static u64 state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static struct pt_regs regs;
static struct insn insn;
static struct insn_op op;

static void reset(void)
{
	insn_text_little = false;
	for (unsigned i = 0; i < 32; i++)
		regs.gpr[i] = 0x1000 * i;
	regs.gpr[1] = TOP;
	regs.nip = PC;
	regs.msr = MSR_SF | MSR_EE | MSR_ME | MSR_IR | MSR_DR | MSR_RI;
	regs.ctr = 7;
	regs.link = 0xc000000000001234;
	regs.xer = 0;
	regs.ccr = 0;
}

static void load_words(u32 word, u32 next)
{
	u8 bytes[8];

	insn_word_put(bytes, word);
	insn_word_put(bytes + 4, next);
	EXPECT_EQ(arch_insn_decode(&insn, bytes, 8, regs.nip), 0);
}

static int emulate(u32 word)
{
	load_words(word, 0);
	if (arch_insn_analyse(&insn, &regs, &op) == INSN_EMU_NONE)
		return -EOPNOTSUPP;
	return arch_insn_apply(&op, &regs);
}

static void expect_declined(u32 word)
{
	struct pt_regs before = regs;

	EXPECT_EQ(emulate(word), -EOPNOTSUPP);
	EXPECT_MEMEQ(&regs, &before, sizeof(regs));
}

/* Branches ------------------------------------------------------------------ */

static void expect_branch(u32 word, u64 nip, u64 link)
{
	u64 ccr = regs.ccr;

	regs.nip = PC;
	EXPECT_EQ(emulate(word), 0);
	EXPECT_EQ(regs.nip, nip);
	EXPECT_EQ(regs.link, link);
	EXPECT_EQ(regs.ccr, ccr);
}

TEST(emulate, a_call_leaves_the_address_behind_it)
{
	reset();
	expect_branch(0x48000101, PC + 0x100, PC + 4); /* bl */
	expect_branch(0x48000103, 0x100, PC + 4);      /* bla */
	regs.ctr = 0xc000000000200003;
	expect_branch(0x4e800421, 0xc000000000200000, PC + 4); /* bctrl */
	regs.link = 0xc000000000300001;
	expect_branch(0x4e800021, 0xc000000000300000, PC + 4); /* blrl */
	expect_branch(0x429f0005, PC + 4, PC + 4); /* bcl 20,31,$+4 */
	/* Not taken, but a call: beql */
	regs.link = 0;
	expect_branch(0x41820101, PC + 4, PC + 4);
}

TEST(emulate, a_return_goes_where_lr_says)
{
	reset();
	regs.link = 0xc000000000300003;
	expect_branch(0x4e800020, 0xc000000000300000, regs.link); /* blr */
	expect_branch(0x4d820020, PC + 4, regs.link);		  /* beqlr */
	regs.ccr = 0x20000000;
	expect_branch(0x4d820020, 0xc000000000300000, regs.link);
	expect_branch(0x4c820020, PC + 4, regs.link); /* bnelr */
}

TEST(emulate, loops_count_all_of_ctr)
{
	static const struct {
		u64 ctr;
		bool dnz, dz;
	} cases[] = {
		{ 0, true, false },	      { 1, false, true },
		{ 2, true, false },	      { 0x100000000, true, false },
		{ 0x100000001, true, false },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		reset();
		regs.ctr = cases[i].ctr;
		expect_branch(0x42000100, PC + (cases[i].dnz ? 0x100 : 4),
			      regs.link);
		EXPECT_EQ(regs.ctr, cases[i].ctr - 1);
		regs.ctr = cases[i].ctr;
		expect_branch(0x42400100, PC + (cases[i].dz ? 0x100 : 4),
			      regs.link);
	}
	/* bdnzt needs both, counts in any case. */
	reset();
	expect_branch(0x41000100, PC + 4, regs.link);
	EXPECT_EQ(regs.ctr, 6);
	regs.ccr = 0x80000000;
	expect_branch(0x41000100, PC + 0x100, regs.link);
	EXPECT_EQ(regs.ctr, 5);
}

/* Memory -------------------------------------------------------------------- */

TEST(emulate, stdu_stores_before_r1_moves)
{
	reset();
	memset(ram, 0, sizeof(ram));
	EXPECT_EQ(emulate(0xf821ff91), 0); /* stdu r1,-112(r1) */
	EXPECT_EQ(regs.gpr[1], TOP - 112);
	EXPECT_EQ(load_be64((void *)(TOP - 112)), TOP);
	reset();
	EXPECT_EQ(emulate(0x9421fff0), 0); /* stwu r1,-16(r1) */
	EXPECT_EQ(regs.gpr[1], TOP - 16);
	EXPECT_EQ(load_be32((void *)(TOP - 16)), (u32)TOP);
}

TEST(emulate, the_trap_frame_is_not_overwritten)
{
	reset();
	expect_declined(0xf821f001); /* stdu r1,-4096(r1) */
	expect_declined(0xf801feb8); /* std r0,-328(r1) */
	regs.gpr[4] = -300;
	expect_declined(0x7c21216a); /* stdux r1,r1,r4 */
	/* The lowest word of the red zone is the program's. */
	EXPECT_EQ(emulate(0xf801fee0), 0); /* std r0,-288(r1) */
}

TEST(emulate, a_faulting_access_changes_nothing)
{
	struct pt_regs before;

	reset();
	regs.gpr[5] = 0x10;
	before = regs;
	EXPECT_EQ(emulate(0xe8850001 | 8), -EFAULT); /* ldu r4,8(r5) */
	EXPECT_EQ(op.fault_va, 0x18);
	EXPECT_MEMEQ(&regs, &before, sizeof(regs));
	EXPECT_EQ(emulate(0xf8850009), -EFAULT); /* stdu r4,8(r5) */
	EXPECT_EQ(op.fault_va, 0x18);
	EXPECT_MEMEQ(&regs, &before, sizeof(regs));
}

TEST(emulate, loads_extend_and_reverse)
{
	static const struct {
		u32 word;
		u64 value;
	} cases[] = {
		{ 0x88850008, 0x81 },		    /* lbz r4,8(r5) */
		{ 0xa0850008, 0x8182 },		    /* lhz */
		{ 0xa8850008, 0xffffffffffff8182 }, /* lha */
		{ 0x80850008, 0x81828384 },	    /* lwz */
		{ 0xe885000a, 0xffffffff81828384 }, /* lwa */
		{ 0xe8850008, 0x8182838485868788 }, /* ld */
		{ 0x7c853428, 0x8887868584838281 }, /* ldbrx r4,r5,r6 */
		{ 0x7c85342c, 0x84838281 },	    /* lwbrx r4,r5,r6 */
		{ 0x7c85362c, 0x8281 },		    /* lhbrx */
		{ 0xe8850009, 0x8182838485868788 }, /* ldu */
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		reset();
		memcpy(ram + 16, "\x81\x82\x83\x84\x85\x86\x87\x88", 8);
		regs.gpr[5] = (u64)ram + 8;
		regs.gpr[6] = 8;
		EXPECT_EQ(emulate(cases[i].word), 0);
		EXPECT_EQ(regs.gpr[4], cases[i].value);
	}
	EXPECT_EQ(regs.gpr[5], (u64)ram + 16);
}

TEST(emulate, text_order_is_data_order)
{
	reset();
	insn_text_little = true;
	memcpy(ram + 4096 + 15, "\x80\x81\x82\x83\x84\x85\x86\x87\x88", 9);
	regs.gpr[5] = TOP;
	EXPECT_EQ(emulate(0xe8850010), 0);
	EXPECT_EQ(regs.gpr[4], 0x8887868584838281);
	EXPECT_EQ(emulate(0x8085000f), 0); /* not aligned */
	EXPECT_EQ(regs.gpr[4], 0x83828180);
	EXPECT_EQ(emulate(0x9085001d), 0);
	EXPECT_MEMEQ(ram + 4096 + 0x1d, "\x80\x81\x82\x83", 4);
	reset();
}

TEST(emulate, an_aligned_access_is_a_single_one)
{
	reset();
	regs.gpr[5] = TOP;
	accesses = 0;
	EXPECT_EQ(emulate(0xe8850010), 0);
	EXPECT_EQ(emulate(0xf8850018), 0);
	EXPECT_EQ(accesses, 0);
	EXPECT_EQ(emulate(0x80850011), 0);
	EXPECT_EQ(accesses, 1);
}

/* What is not offered ------------------------------------------------------- */

TEST(emulate, invalid_update_forms_are_declined)
{
	static const u32 words[] = { 0x84840004, 0x84800004 };

	reset();
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		/* The decoder refuses them: make one of a valid one. */
		load_words(0x84850004, 0); /* lwzu r4,4(r5) */
		insn.arch.word = words[i];
		EXPECT_EQ(arch_insn_analyse(&insn, &regs, &op), INSN_EMU_NONE);
	}
}

TEST(emulate, undefined_and_unknown_results_are_declined)
{
	reset();
	expect_declined(0x7c642e14); /* addo r3,r4,r5 */
	expect_declined(0x7c642bd6); /* divw */
	expect_declined(0x7c6005e6); /* darn r3,0 */
	expect_declined(0x7c7f42a6); /* mfpvr */
	expect_declined(0x7c0004ac); /* sync */
	expect_declined(0x44000002); /* sc */
	expect_declined(0x7fe00008); /* trap */
	expect_declined(0x7c602028); /* lwarx */
	expect_declined(0x4c000024); /* rfid */
	expect_declined(0x7c600164); /* mtmsrd r3 */
}

TEST(emulate, what_the_processor_does_not_have_is_declined)
{
	static const u32 words[] = {
		0x7c600300, /* setbc r3,lt */
		0x4c7fffc5, /* addpcis r3,-1 */
		0x7c640434, /* cnttzw r4,r3 */
	};

	reset();
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		insn_isa = ISA_2_07;
		expect_declined(words[i]);
		insn_isa = ISA_3_1;
		EXPECT_EQ(emulate(words[i]), 0);
		regs.nip = PC;
	}
	insn_isa = ISA_3_0;
	expect_declined(words[0]);
	EXPECT_EQ(emulate(words[1]), 0);
	insn_isa = ISA_3_1;
}

TEST(emulate, floating_point_and_vectors_are_declined)
{
	static const u32 words[] = {
		0xc8230000, /* lfd f1,0(r3) */
		0xd8230000, /* stfd */
		0x7c001f98, /* stxvd2x vs0,0,r3 */
		0xf4030001, /* lxv vs0,0(r3) */
		0x7c0018ce, /* lvx v0,0,r3 */
		0xfc20102a, /* fadd */
	};

	reset();
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		insn_text_little = i & 1;
		expect_declined(words[i]);
	}
	reset();
}

TEST(emulate, user_code_gets_no_kernel_access)
{
	reset();
	regs.gpr[5] = (u64)ram;
	regs.msr |= MSR_PR;
	expect_declined(0xe8850010); /* ld */
	expect_declined(0x7c6000a6); /* mfmsr */
	EXPECT_EQ(emulate(0x4e800020), 0);
	reset();
	regs.msr &= ~(unsigned long)MSR_DR;
	regs.gpr[5] = (u64)ram;
	expect_declined(0xe8850010);
	reset();
	regs.msr &= ~MSR_SF;
	expect_declined(0x38840001);
}

TEST(emulate, only_ee_and_ri_change_with_l)
{
	u64 msr;

	reset();
	msr = regs.msr;
	regs.gpr[3] = 0;
	EXPECT_EQ(emulate(0x7c610164), 0); /* mtmsrd r3,1 */
	EXPECT_EQ(regs.msr, msr & ~(u64)(MSR_EE | MSR_RI));
	regs.gpr[3] = ~0ul;
	EXPECT_EQ(emulate(0x7c610164), 0);
	EXPECT_EQ(regs.msr, msr);
	EXPECT_EQ(emulate(0x7c8000a6), 0); /* mfmsr r4 */
	EXPECT_EQ(regs.gpr[4], msr);
}

/* Relocation ---------------------------------------------------------------- */

static u8 slot[INSN_RELOC_MAX + 4];

static int relocate(u32 word, u32 next, u64 at)
{
	load_words(word, next);
	return arch_insn_relocate(&insn, at, slot, INSN_RELOC_MAX);
}

/*
 * Runs the code in slot[], as if it were at @at, until control leaves it; true
 * if all of it could be emulated.
 */
static bool run_slot(u64 at, int size)
{
	u64 end = at + (u64)size;

	for (regs.nip = at; regs.nip >= at && regs.nip < end;) {
		u64 offset = regs.nip - at;

		if (arch_insn_decode(&insn, slot + offset, end - regs.nip,
				     regs.nip))
			return false;
		if (arch_insn_analyse(&insn, &regs, &op) == INSN_EMU_NONE ||
		    arch_insn_apply(&op, &regs))
			return false;
	}
	if (regs.nip == end)
		regs.nip = PC + 4;
	return true;
}

static void random_regs(void)
{
	reset();
	for (unsigned i = 0; i < 32; i++)
		if (i != 1)
			regs.gpr[i] = random64();
	regs.ctr = random64() & 1 ? random64() : random64() & 3;
	regs.link = random64();
	regs.ccr = (u32)random64();
	regs.xer = random64() & 0xe0000000;
}

static void expect_same_elsewhere(u32 word, u64 at)
{
	struct pt_regs before, native;
	int size;

	random_regs();
	before = regs;
	EXPECT_EQ(emulate(word), 0);
	native = regs;
	regs = before;
	size = relocate(word, 0x60000000, at);
	ASSERT_TRUE(size > 0);
	if (!run_slot(at, size) || memcmp(&native, &regs, sizeof(regs)))
		FAIL("%08x at %llx: nip %lx, natively %lx; link %lx, %lx", word,
		     at, regs.nip, native.nip, regs.link, native.link);
}

TEST(reloc, branches_and_pc_readers_do_the_same_elsewhere)
{
	static const u32 words[] = {
		0x48000100, 0x4bfffff0, 0x48000102, 0x48000101, /* b bl */
		0x4bfffffd, 0x48000103, 0x41820010, 0x4182fff1, /* beq(l) */
		0x40990012, 0x42000010, 0x4200ff01, 0x43400100, /* bdnz bdz */
		0x41000100, 0x42800010, 0x42800011, /* bdnzt, always */
		0x4e800020, 0x4d820020, 0x4c000020, 0x4e800420, /* blr bctr */
		0x4e800421, 0x4d820421, 0x4c7fffc5, 0x4c000004, /* bctrl pcis */
		0x7c0802a6, 0x7c0803a6, 0x7c0903a6, 0x60000000, /* mflr mtlr */
	};

	for (unsigned i = 0; i < ARRAY_SIZE(words) * 16; i++) {
		u32 word = words[i / 16];

		expect_same_elsewhere(word, SLOT);
		expect_same_elsewhere(word, PC + 0x1000);
	}
}

TEST(reloc, pc_relative_prefixed_forms_keep_their_operand)
{
	u64 target = PC + 0x18000;

	reset();
	EXPECT_EQ(relocate(0x06100001, 0x38608000, SLOT), 8); /* pla r3 */
	ASSERT_EQ(arch_insn_decode(&insn, slot, 8, SLOT), 0);
	EXPECT_EQ(insn.target, target);
	/* A copy that would cross 64 bytes gets a nop in front. */
	EXPECT_EQ(relocate(0x06100001, 0x38608000, SLOT + 60), 12);
	EXPECT_EQ(insn_word_get(slot), 0x60000000);
	ASSERT_EQ(arch_insn_decode(&insn, slot + 4, 8, SLOT + 64), 0);
	EXPECT_EQ(insn.target, target);
	/* 34 bits. */
	EXPECT_EQ(relocate(0x06100001, 0x38608000, target - 0x1ffffffff), 8);
	EXPECT_EQ(relocate(0x06100001, 0x38608000, target + 0x200000000), 8);
	EXPECT_EQ(relocate(0x06100001, 0x38608000, target - 0x200000000),
		  -ERANGE);
	EXPECT_EQ(relocate(0x06100001, 0x38608000, target + 0x200000004),
		  -ERANGE);
}

TEST(reloc, branches_out_of_reach_are_refused)
{
	u8 untouched[sizeof(slot)];

	reset();
	memset(slot, 0x5a, sizeof(slot));
	memcpy(untouched, slot, sizeof(slot));
	EXPECT_EQ(relocate(0x48000000, 0, PC + 0x2000004), -ERANGE);
	EXPECT_EQ(relocate(0x48000000, 0, PC - 0x2000000), -ERANGE);
	EXPECT_EQ(relocate(0x48000000, 0, PC + (40 << 20)), -ERANGE);
	EXPECT_EQ(relocate(0x41820010, 0, PC + (40 << 20)), -ERANGE);
	EXPECT_EQ(relocate(0x48000001, 0, PC + (3ull << 30)), -ERANGE);
	EXPECT_MEMEQ(slot, untouched, sizeof(slot));
	EXPECT_EQ(relocate(0x48000000, 0, PC + 0x2000000), 4);
	EXPECT_EQ(relocate(0x48000000, 0, PC - 0x1fffffc), 4);
	/* Far away, but what it needs is not. */
	EXPECT_EQ(relocate(0x4e800020, 0, PC + (3ull << 30)), 4);
	EXPECT_EQ(relocate(0x48000102, 0, PC + (3ull << 30)), 4);
}

TEST(reloc, what_has_no_relocated_form_is_refused)
{
	static const u32 words[] = {
		0x4e800021, /* blrl */
		0x429f0005, /* bcl 20,31,$+4 */
		0x44000002, /* sc */
		0x7fe00008, /* trap */
		0x7c60212d, /* stwcx. */
	};

	reset();
	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		EXPECT_EQ(relocate(words[i], 0, SLOT), -EOPNOTSUPP);
		EXPECT_STREQ(insn_reloc_reason(&insn),
			     i < 2 ? "uses the link register for more than a "
				     "call"
				   : insn_deny_reason(insn.deny));
	}
}

TEST(reloc, a_small_buffer_is_not_overrun)
{
	reset();
	load_words(0x41820101, 0); /* beql */
	for (unsigned size = 0; size < INSN_RELOC_MAX; size++) {
		int n;

		memset(slot, 0x5a, sizeof(slot));
		n = arch_insn_relocate(&insn, SLOT, slot, size);
		if (n < 0) {
			EXPECT_EQ(n, -ENOSPC);
			EXPECT_EQ(slot[0], 0x5a);
		} else {
			EXPECT_LE((unsigned)n, size);
			EXPECT_EQ(slot[n], 0x5a);
		}
	}
}

TEST(reloc, the_longest_form_fits)
{
	reset();
	regs.nip = 0xc123456789abcde0; /* five words for the return address */
	load_words(0x41820101, 0);
	EXPECT_EQ(arch_insn_relocate(&insn, regs.nip + 0x100000, slot,
				     INSN_RELOC_MAX),
		  INSN_RELOC_MAX);
}
