// SPDX-License-Identifier: MIT
/*
 * The host's own processor as referee: an instruction run where it is, its
 * relocated copy, near and far, and its emulation must leave the same registers,
 * flags, memory and vector state, or fault alike.
 */
#include <string.h>
#include <arch/uaccess.h>
#include <lib/errno.h>
#include "../../test.h"
#include "native_x86_64.h"
#include <gen/insn_corpus.h>

/* Host memory that exists is what we mapped. */
static bool is_data(const volatile void *p, unsigned n)
{
	return (u64)p - DATA <= RAM - n || (u64)p - STACK <= RAM - n;
}

int arch_peek(const volatile void *src, u64 *value, unsigned size)
{
	if (!is_data(src, size) && (u64)src - TEXT > SIZE - size)
		return -EFAULT;
	*value = 0;
	memcpy(value, (const void *)src, size);
	return 0;
}

int arch_poke(volatile void *dst, u64 value, unsigned size)
{
	if (!is_data(dst, size))
		return -EFAULT;
	memcpy((void *)dst, &value, size);
	return 0;
}

/* What was done, for the corpus. */
static struct {
	unsigned relocated, emulated, faults, unknown, refused;
} total;

/* A relocated copy; its end stands for the byte after the original. */
struct copy {
	const char *how;
	u64 slot;
	int n; /* bytes, or why there is none */
};

static void place_copy(struct copy *copy, const struct insn *insn, u64 area,
		       const char *how)
{
	u8 code[INSN_RELOC_MAX];

	copy->how = how;
	copy->slot = area + SIZE / 2;
	copy->n = arch_insn_relocate(insn, copy->slot, code, sizeof(code));
	if (copy->n >= 0)
		native_place(area, code, copy->n);
	else if (area != FAR || copy->n != -ERANGE)
		FAIL("%s: no relocated copy: %d", how, copy->n);
}

/* What the copy makes of it, seen as if it stood at the original's place. */
static void run_copy(const struct insn *insn, const struct copy *copy,
		     const struct state *before, const struct state *native,
		     struct state *after)
{
	native_run(copy->slot, before, after);
	if (after->regs.ip == copy->slot + copy->n)
		after->regs.ip = insn->pc + insn->len;
	/* A fault may be reported anywhere in the copy. */
	if (after->signal != SIGTRAP &&
	    after->regs.ip - copy->slot < (u64)copy->n)
		after->regs.ip = native->regs.ip;
}

static void try_relocated(const struct insn *insn, const struct copy *copy,
			  const struct state *before,
			  const struct state *native)
{
	const char *what = NULL;
	struct state after;

	if (copy->n < 0)
		return;
	total.relocated++;
	/* Once in 10^5 times a virtual host calls an int3 an illegal one. */
	for (unsigned attempt = 0; attempt < 2; attempt++) {
		run_copy(insn, copy, before, native, &after);
		/* A call of what is no address pushes first: reloc.c. */
		if (insn->flags & INSN_CALL && native->signal == SIGSEGV &&
		    after.signal == SIGSEGV)
			return;
		what = native_differs(native, &after, native->regs.sp);
		if (!what)
			return;
	}
	native_say(what, copy->how, insn->bytes, insn->len, native, &after);
}

static void try_emulated(const struct insn *insn, const struct state *before,
			 const struct state *native)
{
	struct state after = *before;
	enum insn_emu offer;
	struct insn_op op;
	const char *what;
	int error;

	native_load(before);
	after.regs.cs = 0x10;
	after.regs.ip = insn->pc;
	offer = arch_insn_analyse(insn, &after.regs, &op);
	if (offer == INSN_EMU_NONE)
		return;
	error = arch_insn_apply(&op, &after.regs);
	after.signal = SIGTRAP;
	if (error) {
		EXPECT_EQ(error, -EFAULT);
		after.signal = native->signal;
		EXPECT_NE(native->signal, SIGTRAP);
	}
	/* The jump was made and its target cannot be fetched. */
	if (!error && native->signal == SIGSEGV &&
	    after.regs.ip == native->regs.ip)
		after.signal = SIGSEGV;
	native_save(&after);
	total.emulated++;
	what = native_differs(native, &after, 0);
	if (what)
		native_say(what, "emulated", insn->bytes, insn->len, native,
			   &after);
}

#define STATES 8

static void check_states(const struct insn *insn)
{
	struct state before, native;
	struct copy near, far;

	native_place(TEXT, insn->bytes, insn->len);
	place_copy(&near, insn, NEAR, "near");
	place_copy(&far, insn, FAR, "far");
	for (unsigned i = 0; i < STATES; i++) {
		native_state(&before);
		if (insn->flags & INSN_FLAGS_POP)
			native_flags_on_stack(&before);
		native_run(PC, &before, &native);
		if (native.signal != SIGTRAP)
			total.faults++;
		if (native.signal == SIGILL) {
			total.unknown++;
			return;
		}
		try_relocated(insn, &near, &before, &native);
		try_relocated(insn, &far, &before, &native);
		try_emulated(insn, &before, &native);
	}
}

static void check(const u8 *code, unsigned n)
{
	struct insn insn;

	ASSERT_TRUE(native_set_up());
	ASSERT_EQ(arch_insn_decode(&insn, code, n, PC), 0);
	EXPECT_EQ(insn.len, n);
	total.emulated = 0;
	check_states(&insn);
}

#define CHECK(...) \
	check((const u8[]){ __VA_ARGS__ }, sizeof((u8[]){ __VA_ARGS__ }))
#define CHECK_EMULATED(...)                   \
	do {                                  \
		CHECK(__VA_ARGS__);           \
		EXPECT_GT(total.emulated, 0); \
	} while (0)

TEST(native, the_harness_sees_a_difference)
{
	struct state before, a, b;

	ASSERT_TRUE(native_set_up());
	native_state(&before);
	before.regs.ax = 1;
	native_place(TEXT, (const u8[]){ 0xff, 0xc0 }, 2); /* inc %eax */
	native_run(PC, &before, &a);
	EXPECT_EQ(a.regs.ax, 2);
	EXPECT_EQ(a.regs.ip, PC + 2);
	EXPECT_EQ(a.signal, SIGTRAP);
	native_place(TEXT, (const u8[]){ 0xff, 0xc8 }, 2);
	native_run(PC, &before, &b);
	EXPECT_STREQ(native_differs(&a, &b, 0), "registers");
	native_place(TEXT, (const u8[]){ 0x0f, 0x58, 0xca }, 3); /* addps */
	native_run(PC, &before, &b);
	before.regs.ip = b.regs.ip;
	b.regs.ax = before.regs.ax;
	EXPECT_EQ(b.signal, SIGTRAP);
	before.signal = SIGTRAP;
	EXPECT_STREQ(native_differs(&before, &b, 0), "vectors");
}

TEST(native, calls_return_to_the_original)
{
	CHECK_EMULATED(0xe8, 0x10, 0, 0, 0);
	CHECK_EMULATED(0xe8, 0xf0, 0xff, 0xff, 0xff);
	CHECK_EMULATED(0x66, 0x66, 0x48, 0xe8, 0x10, 0, 0, 0);
	CHECK_EMULATED(0xff, 0xd0);		      /* *%rax */
	CHECK_EMULATED(0x41, 0xff, 0xd4);	      /* *%r12 */
	CHECK_EMULATED(0xf2, 0xff, 0xd1);	      /* bnd *%rcx */
	CHECK_EMULATED(0x3e, 0xff, 0xd2);	      /* notrack *%rdx */
	CHECK_EMULATED(0xff, 0x10);		      /* *(%rax) */
	CHECK_EMULATED(0xff, 0x15, 0x00, 0, 0, 0x10); /* *data(%rip) */
}

TEST(native, call_operands_relative_to_rsp_are_read_before_the_push)
{
	CHECK_EMULATED(0xff, 0xd4);		/* *%rsp */
	CHECK_EMULATED(0xff, 0x14, 0x24);	/* *(%rsp) */
	CHECK_EMULATED(0xff, 0x54, 0x24, 0x08); /* *8(%rsp) */
	CHECK_EMULATED(0xff, 0x54, 0x24, 0xf8); /* *-8(%rsp) */
	CHECK_EMULATED(0xff, 0x54, 0xc4, 0x08); /* *8(%rsp,%rax,8) */
}

TEST(native, returns_and_absolute_jumps_need_no_fix_up)
{
	CHECK_EMULATED(0xc3);
	CHECK_EMULATED(0xf3, 0xc3);
	CHECK_EMULATED(0x36, 0xc3);
	CHECK_EMULATED(0xc2, 0x08, 0x00);
	CHECK_EMULATED(0xff, 0xe0);
	CHECK_EMULATED(0xff, 0xe4);
	CHECK_EMULATED(0xff, 0x25, 0x00, 0, 0, 0x10);
	CHECK_EMULATED(0xff, 0x64, 0x24, 0x08);
	CHECK(0xff, 0x24, 0xc5, 0, 0x10, 0, 0x20);
}

TEST(native, jumps_go_where_they_went)
{
	CHECK_EMULATED(0xeb, 0x10);
	CHECK_EMULATED(0xeb, 0xf0);
	CHECK_EMULATED(0xe9, 0x10, 0x01, 0, 0);
	CHECK_EMULATED(0x2e, 0x75, 0x02);
	for (unsigned cc = 0; cc < 16; cc++) {
		CHECK_EMULATED(0x70 | cc, 0x20);
		CHECK_EMULATED(0x0f, 0x80 | cc, 0x10, 0x01, 0, 0);
	}
}

TEST(native, loops_count_as_wide_as_their_address)
{
	for (unsigned op = 0xe0; op < 0xe4; op++) {
		CHECK_EMULATED(op, 0x10);
		CHECK_EMULATED(0x67, op, 0x10);
		CHECK_EMULATED(op, 0xf0);
	}
}

TEST(native, flags_on_the_stack_are_the_programs)
{
	CHECK_EMULATED(0x9c);
	CHECK_EMULATED(0x66, 0x9c);
	CHECK_EMULATED(0x9d);
	CHECK_EMULATED(0x66, 0x9d);
	CHECK_EMULATED(0x48, 0x9d);
}

TEST(native, single_flags)
{
	CHECK_EMULATED(0xf5);
	CHECK_EMULATED(0xf8);
	CHECK_EMULATED(0xf9);
	CHECK_EMULATED(0xfc);
	CHECK_EMULATED(0xfd);
}

TEST(native, pushes_and_pops)
{
	for (unsigned reg = 0; reg < 8; reg++) {
		CHECK_EMULATED(0x50 | reg);
		CHECK_EMULATED(0x58 | reg);
		CHECK_EMULATED(0x41, 0x50 | reg);
		CHECK_EMULATED(0x41, 0x58 | reg);
		CHECK_EMULATED(0x66, 0x50 | reg);
		CHECK_EMULATED(0x66, 0x58 | reg);
		CHECK_EMULATED(0xff, 0xf0 | reg);
		CHECK_EMULATED(0x8f, 0xc0 | reg);
	}
	CHECK_EMULATED(0x6a, 0x01);
	CHECK_EMULATED(0x6a, 0xff);
	CHECK_EMULATED(0x66, 0x6a, 0xff);
	CHECK_EMULATED(0x68, 0x78, 0x56, 0x34, 0x92);
	CHECK_EMULATED(0x66, 0x68, 0x78, 0x56);
	CHECK_EMULATED(0xff, 0x74, 0x24, 0x10);
	CHECK_EMULATED(0xff, 0x33);
	CHECK_EMULATED(0x66, 0xff, 0x33);
	CHECK_EMULATED(0x8f, 0x04, 0x24);
	CHECK_EMULATED(0x8f, 0x44, 0x24, 0x10);
	CHECK_EMULATED(0x8f, 0x03);
	CHECK_EMULATED(0xc9);
}

TEST(native, moves)
{
	for (unsigned op = 0x88; op < 0x8c; op++) {
		for (unsigned reg = 0; reg < 8; reg++) {
			CHECK_EMULATED(op, 0xc3 | reg << 3);
			CHECK_EMULATED(0x40, op, 0xc6 | reg << 3);
			CHECK_EMULATED(0x4d, op, 0xc7 | reg << 3);
			CHECK_EMULATED(0x66, op, 0xc1 | reg << 3);
			CHECK_EMULATED(op, 0x03 | reg << 3);
			CHECK_EMULATED(0x48, op, 0x44 | reg << 3, 0x24, 0x18);
			CHECK_EMULATED(0x66, op, 0x43 | reg << 3, 0xf0);
			CHECK(0x67, op, 0x84 | reg << 3, 0x83, 0x10, 0, 0, 0);
			CHECK_EMULATED(0x4c, op, 0x05 | reg << 3, 0, 0, 0,
				       0x10);
		}
	}
	for (unsigned reg = 0; reg < 8; reg++) {
		CHECK_EMULATED(0xb0 | reg, 0x5a);
		CHECK_EMULATED(0x41, 0xb0 | reg, 0x5a);
		CHECK_EMULATED(0xb8 | reg, 1, 2, 3, 0x84);
		CHECK_EMULATED(0x66, 0xb8 | reg, 1, 0x82);
		CHECK_EMULATED(0x49, 0xb8 | reg, 1, 2, 3, 4, 5, 6, 7, 8);
		CHECK_EMULATED(0xc6, 0xc0 | reg, 0x99);
		CHECK_EMULATED(0x48, 0xc7, 0xc0 | reg, 1, 2, 3, 0x84);
	}
	CHECK_EMULATED(0xc6, 0x03, 0x99);
	CHECK_EMULATED(0xc7, 0x03, 1, 2, 3, 0x84);
	CHECK_EMULATED(0x48, 0xc7, 0x03, 1, 2, 3, 0x84);
	CHECK_EMULATED(0x66, 0xc7, 0x03, 1, 0x82);
	CHECK_EMULATED(0xc7, 0x05, 0, 0, 0, 0x10, 1, 2, 3, 0x84);
}

TEST(native, addresses)
{
	CHECK_EMULATED(0x48, 0x8d, 0x05, 0x10, 0, 0, 0);
	CHECK_EMULATED(0x8d, 0x05, 0x10, 0, 0, 0);
	CHECK_EMULATED(0x66, 0x8d, 0x05, 0x10, 0, 0, 0);
	CHECK_EMULATED(0x67, 0x48, 0x8d, 0x05, 0x10, 0, 0, 0);
	CHECK_EMULATED(0x4c, 0x8d, 0x3d, 0x10, 0, 0, 0);
	for (unsigned sib = 0; sib < 256; sib += 5) {
		CHECK_EMULATED(0x48, 0x8d, 0x44, sib, 0x80);
		CHECK_EMULATED(0x4b, 0x8d, 0x84, sib, 1, 2, 3, 0x84);
		if ((sib & 7) != 5)
			CHECK_EMULATED(0x67, 0x46, 0x8d, 0x04, sib);
		else
			CHECK_EMULATED(0x48, 0x8d, 0x04, sib, 1, 2, 3, 4);
	}
}

TEST(native, pc_relative_operands_with_immediates)
{
	CHECK(0x80, 0x05, 0, 0, 0, 0x10, 0x11);
	CHECK(0x81, 0x05, 0, 0, 0, 0x10, 0x11, 0x22, 0x33, 0x44);
	CHECK(0x66, 0x81, 0x05, 0, 0, 0, 0x10, 0x11, 0x22);
	CHECK(0xf6, 0x05, 0, 0, 0, 0x10, 0x01);
	CHECK(0x0f, 0xba, 0x25, 0, 0, 0, 0x10, 0x03);
	CHECK(0x48, 0x69, 0x05, 0, 0, 0, 0x10, 0x11, 0x22, 0x33, 0x44);
	CHECK(0x0f, 0x1f, 0x05, 0, 0, 0, 0);
}

TEST(native, the_rest_is_copied)
{
	CHECK_EMULATED(0x90);
	CHECK_EMULATED(0xf3, 0x90);
	CHECK_EMULATED(0xf3, 0x0f, 0x1e, 0xfa);
	CHECK_EMULATED(0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0);
	CHECK(0x41, 0x90); /* xchg %r8d, %eax */
	CHECK(0x48, 0x01, 0xd8);
	CHECK(0xf0, 0x48, 0x0f, 0xb1, 0x0b);
	CHECK(0xf3, 0xa4);
	CHECK(0x48, 0xf7, 0xf3); /* div: may fault */
	CHECK(0xf6, 0xd8);
	CHECK(0xf6, 0xc8, 0x01);
}

/* Its operand is to be in our data. */
static void aim(u8 *code, const struct insn *insn)
{
	const struct arch_insn *a = &insn->arch;
	u32 disp = DATA + RAM / 2 - (PC + insn->len);
	u64 address = DATA + RAM / 2;

	if (insn->flags & (INSN_PC_MEM | INSN_PC_READ))
		memcpy(code + a->disp_off, &disp, 4);
	else if (insn->flags & INSN_MEM && !a->modrm_off)
		memcpy(code + a->imm_off, &address, a->imm_size);
}

TEST(native, every_form_of_the_map_is_the_same_elsewhere)
{
	unsigned n = ARRAY_SIZE(insn_corpus);

	ASSERT_TRUE(native_set_up());
	memset(&total, 0, sizeof(total));
	for (unsigned i = 0; i < n; i++) {
		struct insn insn;
		u8 code[15];

		memcpy(code, insn_corpus[i].bytes, sizeof(code));
		if (arch_insn_decode(&insn, code, insn_corpus[i].len, PC) ||
		    insn.len != insn_corpus[i].len) {
			FAIL("%s: encoding %u of the corpus is none",
			     insn_corpus_names[i], i);
			continue;
		}
		if (insn.deny != INSN_OK) {
			total.refused++;
			continue;
		}
		aim(code, &insn);
		if (!arch_insn_decode(&insn, code, insn.len, PC))
			check_states(&insn);
	}
	test_note("%u encodings x %u states: %u relocated, %u emulated, "
		  "%u faulted; %u unknown to this processor, %u refused",
		  n, STATES, total.relocated, total.emulated, total.faults,
		  total.unknown, total.refused);
	for (unsigned i = 0; i < ARRAY_SIZE(insn_corpus_left_out); i++)
		test_note("left out: %s: %s", insn_corpus_left_out[i].name,
			  insn_corpus_left_out[i].why);
}
