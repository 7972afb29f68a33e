// SPDX-License-Identifier: MIT
/*
 * Refusals of the relocator, and emulation in kernel mode, which the host's
 * processor cannot run: see native_x86_64.c for the rest.
 */
#include <string.h>
#include <arch/insn.h>
#include <arch/uaccess.h>
#include <frame.h>
#include <lib/errno.h>
#include "../../test.h"

#define PC   0x10008000ull
#define SLOT 0x18008000ull
#define TOP  ((u64)ram + sizeof(ram) / 2)

/* All the memory there is, for emulated code. */
static u8 ram[4096] __aligned(16);

static unsigned loads, stores; /* single accesses of any size */

static bool in_ram(const volatile void *p, size_t n)
{
	return (u64)p - (u64)ram <= sizeof(ram) - n;
}

int arch_peek(const volatile void *src, u64 *value, unsigned size)
{
	if (!in_ram(src, size))
		return -EFAULT;
	loads++;
	*value = 0;
	memcpy(value, (const void *)src, size);
	return 0;
}

int arch_poke(volatile void *dst, u64 value, unsigned size)
{
	if (!in_ram(dst, size))
		return -EFAULT;
	stores++;
	memcpy((void *)dst, &value, size);
	return 0;
}

static int relocate_at(u64 at, void *buf, size_t size, const u8 *code, size_t n)
{
	struct insn insn;

	if (arch_insn_decode(&insn, code, n, PC))
		return 1;
	return arch_insn_relocate(&insn, at, buf, size);
}

TEST(reloc, displacements_out_of_reach_are_refused)
{
	u8 buf[INSN_RELOC_MAX] = { 0 };
	const u8 load[] = { 0x48, 0x8b, 0x05, 0x10, 0, 0, 0 };
	u64 target = PC + sizeof(load) + 0x10;

	EXPECT_EQ(relocate_at(PC + (3ull << 30), buf, sizeof(buf), load, 7),
		  -ERANGE);
	EXPECT_EQ(buf[0], 0);
	EXPECT_EQ(
		relocate_at(target - 0x7fffffff - 7, buf, sizeof(buf), load, 7),
		7);
	EXPECT_EQ(relocate_at(target - 0x80000000ull - 7, buf, sizeof(buf),
			      load, 7),
		  -ERANGE);
	EXPECT_EQ(relocate_at(target + 0x80000000ull - 7, buf, sizeof(buf),
			      load, 7),
		  7);
	EXPECT_EQ(relocate_at(target + 0x80000001ull - 7, buf, sizeof(buf),
			      load, 7),
		  -ERANGE);
}

TEST(reloc, a_small_buffer_is_not_overrun)
{
	u8 buf[INSN_RELOC_MAX];
	const u8 call[] = { 0xe8, 0, 0, 0, 0 };

	for (unsigned size = 0; size < sizeof(buf); size++) {
		int n;

		memset(buf, 0x5a, sizeof(buf));
		n = relocate_at(SLOT, buf, size, call, sizeof(call));
		if (n < 0) {
			EXPECT_EQ(n, -ENOSPC);
			EXPECT_EQ(buf[0], 0x5a);
		} else {
			EXPECT_LE((unsigned)n, size);
			EXPECT_TRUE(n == (int)sizeof(buf) || buf[n] == 0x5a);
		}
	}
}

TEST(reloc, what_may_not_be_probed_is_not_relocated)
{
	u8 buf[INSN_RELOC_MAX];

	EXPECT_EQ(relocate_at(SLOT, buf, sizeof(buf),
			      (const u8[]){ 0x0f, 0x0b }, 2),
		  -EOPNOTSUPP);
	EXPECT_EQ(relocate_at(SLOT, buf, sizeof(buf),
			      (const u8[]){ 0x66, 0xe8, 0, 0, 0, 0 }, 6),
		  -EOPNOTSUPP);
}

TEST(reloc, a_transaction_aborts_to_its_own_place)
{
	u8 buf[INSN_RELOC_MAX];
	const u8 code[] = { 0xc7, 0xf8, 0x10, 0, 0, 0 };
	struct insn copy;

	ASSERT_EQ(relocate_at(SLOT, buf, sizeof(buf), code, sizeof(code)), 6);
	ASSERT_EQ(arch_insn_decode(&copy, buf, 6, SLOT), 0);
	EXPECT_EQ(copy.target, PC + 0x16);
	EXPECT_EQ(relocate_at(PC + (3ull << 30), buf, sizeof(buf), code,
			      sizeof(code)),
		  -ERANGE);
}

TEST(reloc, a_refusal_has_a_reason)
{
	const u8 ud2[] = { 0x0f, 0x0b };
	struct insn insn;

	ASSERT_EQ(arch_insn_decode(&insn, ud2, sizeof(ud2), PC), 0);
	EXPECT_STREQ(insn_reloc_reason(&insn),
		     insn_deny_reason(INSN_DENY_TRAP));
}

/* Kernel flags, which the host cannot run. */
static struct pt_regs kernel_regs(void)
{
	return (struct pt_regs){
		.cs = 0x10,
		.flags = 0x202,
		.ip = PC,
		.sp = TOP,
		.ss = 0x18,
	};
}

static enum insn_emu emulate(struct pt_regs *regs, const u8 *code, unsigned n)
{
	struct insn insn;
	struct insn_op op;
	enum insn_emu offer;

	if (arch_insn_decode(&insn, code, n, PC))
		return INSN_EMU_NONE;
	offer = arch_insn_analyse(&insn, regs, &op);
	if (offer != INSN_EMU_NONE && arch_insn_apply(&op, regs))
		return INSN_EMU_NONE;
	return offer;
}

#define EMULATE(regs, ...)                         \
	emulate(regs, (const u8[]){ __VA_ARGS__ }, \
		sizeof((u8[]){ __VA_ARGS__ }))

TEST(emulate, cli_and_sti)
{
	struct pt_regs regs = kernel_regs();

	EXPECT_EQ(EMULATE(&regs, 0xfa), INSN_EMU_DONE_IN_REGS);
	EXPECT_EQ(regs.flags, 0x002);
	EXPECT_EQ(regs.ip, PC + 1);
	EXPECT_EQ(EMULATE(&regs, 0xfb), INSN_EMU_DONE_IN_REGS);
	EXPECT_EQ(regs.flags, 0x202);
}

TEST(emulate, pushf_stores_neither_tf_nor_rf_of_its_own)
{
	struct pt_regs regs = kernel_regs();
	u64 *top = (u64 *)(regs.sp - 8);

	for (unsigned irqs = 0; irqs < 2; irqs++) {
		regs = kernel_regs();
		regs.flags = 0x10046 | irqs << 9;
		EXPECT_EQ(EMULATE(&regs, 0x9c), INSN_EMU_NEEDS_MEMORY);
		EXPECT_EQ(*top, 0x46 | irqs << 9);
		EXPECT_EQ(EMULATE(&regs, 0x9d), INSN_EMU_NEEDS_MEMORY);
		EXPECT_EQ(regs.flags, 0x46 | irqs << 9);
		EXPECT_EQ(regs.sp, kernel_regs().sp);
	}
}

TEST(emulate, popf_sets_what_privilege_level_0_may)
{
	struct pt_regs regs = kernel_regs();

	*(u64 *)regs.sp = ~0ull;
	EXPECT_EQ(EMULATE(&regs, 0x9d), INSN_EMU_NEEDS_MEMORY);
	EXPECT_EQ(regs.flags, 0x247fd7);
	regs = kernel_regs();
	regs.flags = 0x200246;
	*(u64 *)regs.sp = 0;
	EXPECT_EQ(EMULATE(&regs, 0x66, 0x9d), INSN_EMU_NEEDS_MEMORY);
	EXPECT_EQ(regs.flags, 0x200002);
	EXPECT_EQ(regs.sp, kernel_regs().sp + 2);
}

TEST(emulate, a_fault_changes_nothing)
{
	static const u8 faults[][8] = {
		{ 2, 0xff, 0x10 },	       /* call *(%rax) */
		{ 2, 0xff, 0x30 },	       /* push (%rax) */
		{ 2, 0x8f, 0x00 },	       /* pop (%rax) */
		{ 3, 0x48, 0x89, 0x18 },       /* mov %rbx, (%rax) */
		{ 3, 0x48, 0x8b, 0x18 },       /* mov (%rax), %rbx */
		{ 6, 0xc7, 0x00, 1, 0, 0, 0 }, /* movl $1, (%rax) */
	};

	for (unsigned i = 0; i < ARRAY_SIZE(faults); i++) {
		struct pt_regs regs = kernel_regs(), before;
		struct insn insn;
		struct insn_op op;

		regs.ax = 0x1000;
		before = regs;
		ASSERT_EQ(arch_insn_decode(&insn, faults[i] + 1, faults[i][0],
					   PC),
			  0);
		EXPECT_EQ(arch_insn_analyse(&insn, &regs, &op),
			  INSN_EMU_NEEDS_MEMORY);
		EXPECT_EQ(arch_insn_apply(&op, &regs), -EFAULT);
		EXPECT_EQ(op.fault_va, 0x1000);
		EXPECT_MEMEQ(&regs, &before, sizeof(regs));
	}
}

/* It might be a register of a device. */
TEST(emulate, memory_is_touched_once_and_whole)
{
	struct pt_regs regs = kernel_regs();

	loads = stores = 0;
	for (unsigned odd = 0; odd < 4; odd++) {
		regs.ax = TOP + odd;
		/* movl $1,(%rax); mov (%rax),%ecx; movzwl (%rax),%ecx */
		EMULATE(&regs, 0xc7, 0x00, 1, 0, 0, 0);
		EMULATE(&regs, 0x8b, 0x08);
		EXPECT_EQ(regs.cx, 1);
		EMULATE(&regs, 0x66, 0x8b, 0x08);
	}
	EXPECT_EQ(stores, 4);
	EXPECT_EQ(loads, 8);
}

TEST(emulate, users_touch_no_memory_through_us)
{
	struct pt_regs regs = kernel_regs();

	regs.cs = 0x33;
	regs.ax = (u64)ram;
	EXPECT_EQ(EMULATE(&regs, 0x8b, 0x18), INSN_EMU_NONE);
	EXPECT_EQ(EMULATE(&regs, 0x50), INSN_EMU_NONE);
	EXPECT_EQ(EMULATE(&regs, 0xc3), INSN_EMU_NONE);
	EXPECT_EQ(EMULATE(&regs, 0xff, 0xe0), INSN_EMU_NONE);
	EXPECT_EQ(EMULATE(&regs, 0x9d), INSN_EMU_NONE);
	EXPECT_EQ(EMULATE(&regs, 0xfa), INSN_EMU_NONE);
	EXPECT_EQ(EMULATE(&regs, 0x89, 0xd8), INSN_EMU_DONE_IN_REGS);
}

/* Our own trap frame may be there. */
TEST(emulate, stores_below_the_stack_are_left_to_the_copy)
{
	struct pt_regs regs = kernel_regs();

	EXPECT_EQ(EMULATE(&regs, 0x89, 0x44, 0x24, 0xf8), INSN_EMU_NONE);
	EXPECT_EQ(EMULATE(&regs, 0x89, 0x04, 0x24), INSN_EMU_NEEDS_MEMORY);
}

TEST(emulate, per_cpu_operands_are_left_to_the_copy)
{
	struct pt_regs regs = kernel_regs();

	regs.ax = (u64)ram;
	EXPECT_EQ(EMULATE(&regs, 0x65, 0x8b, 0x00), INSN_EMU_NONE);
	EXPECT_EQ(EMULATE(&regs, 0x3e, 0x8b, 0x00), INSN_EMU_NEEDS_MEMORY);
}
