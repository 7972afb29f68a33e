// SPDX-License-Identifier: MIT
/*
 * Instructions that the engine writes: branches, and detours, which are pieces of
 * detour.S, relocated instructions, data, and branches.
 */
#include <arch/emit.h>

#include <arch/code.h>
#include <kernel/percpu.h>
#include <lib/errno.h>

#define WORD_B	0x48000000u /* b: LI in bits 6-29 (ISA 3.1 I 2.4) */
#define LI_MASK 0x03fffffcu
#define BIT_LK	1u
#define REACH	(32 << 20)

static int emit_branch(u8 *buf, size_t size, u64 at, u64 target, u32 link)
{
	s64 distance = (s64)(target - at);

	if (distance < -REACH || distance >= REACH)
		return -ERANGE;
	if (size < 4)
		return -ENOSPC;
	insn_word_put(buf, WORD_B | ((u32)distance & LI_MASK) | link);
	return 4;
}

int arch_emit_jump(u8 *buf, size_t size, u64 at, u64 target)
{
	return emit_branch(buf, size, at, target, 0);
}

/* Detours -------------------------------------------------------------------- */

/* Pieces and shared code of detour.S. */
extern const u8 detour_enter_piece[], detour_enter_piece_end[];
extern const u8 detour_leave_piece[], detour_leave_piece_end[];
extern const u8 detour_enter[], detour_enter_post[];
extern const unsigned long detour_direct[ARCH_DETOUR_CALLS];

static void put_data(struct code *c, unsigned long value)
{
	code_put(c, &value, sizeof(value));
}

static void put_branch(struct code *c, unsigned long target, u32 link)
{
	if (!c->err)
		code_add(c, emit_branch(c->buf + c->len, c->size - c->len,
					code_here(c), target, link));
}

static void put_enter(struct code *c, unsigned long shared)
{
	code_put(c, detour_enter_piece,
		 (size_t)(detour_enter_piece_end - detour_enter_piece));
	put_branch(c, shared, BIT_LK);
}

static void put_general(struct code *c, const struct detour_code *d,
			const u8 *shared)
{
	put_enter(c, (unsigned long)shared);
	put_data(c, (unsigned long)d->detour);
}

/* Data first: see <asm/detour.h>. */
static void put_direct(struct code *c, struct detour_code *d)
{
	for (unsigned i = d->n; i-- > 0;)
		put_data(c, (unsigned long)d->probes[i]);
	put_data(c, d->pc);
	put_data(c, (unsigned long)d->detour);
	d->entry = code_here(c);
	put_enter(c, detour_direct[d->n - 1]);
	code_put(c, detour_leave_piece,
		 (size_t)(detour_leave_piece_end - detour_leave_piece));
}

int arch_detour_emit(struct detour_code *d, unsigned long at, u8 *buf,
		     size_t size)
{
	struct code c = { .at = at, .buf = buf, .size = size };

	d->entry = at;
	if (d->n > 0)
		put_direct(&c, d);
	else
		put_general(&c, d, detour_enter);
	code_put_displaced(&c, d);
	if (d->post)
		put_general(&c, d, detour_enter_post);
	else
		put_branch(&c, d->back, 0);
	return c.err ? c.err : (int)c.len;
}

/* In traps ------------------------------------------------------------------- */

__noprobe unsigned long arch_detour_pc(const struct pt_regs *frame)
{
	return *(const unsigned long *)((const char *)frame - FRAME_REGS +
					FRAME_TOC);
}

__noprobe unsigned arch_detour_call(const struct detour_code *d __unused,
				    const struct pt_regs *frame)
{
	return (unsigned)(this_cpu()->hit_turns - frame->pad - 1);
}
