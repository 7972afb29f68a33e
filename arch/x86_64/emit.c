// SPDX-License-Identifier: MIT
/*
 * Instructions that the engine writes: jumps, and detours, which are pieces of
 * detour.S, relocated instructions, and jumps.
 */
#include <arch/emit.h>

#include <arch/code.h>
#include <lib/byteorder.h>
#include <lib/errno.h>

#define JMP_REL32      0xe9 /* (SDM 2A, JMP) */
#define JMP_REL32_SIZE 5

int arch_emit_jump(u8 *buf, size_t size, u64 at, u64 target)
{
	s64 distance = (s64)(target - (at + JMP_REL32_SIZE));

	if (distance != (s32)distance)
		return -ERANGE;
	if (size < JMP_REL32_SIZE)
		return -ENOSPC;
	buf[0] = JMP_REL32;
	store_le32(buf + 1, (u32)distance);
	return JMP_REL32_SIZE;
}

/* Detours -------------------------------------------------------------------- */

struct piece {
	const u8 *start, *end;
};

/* A piece of detour.S, and the end of a hole in one. */
#define PIECE(name)                                                     \
	({                                                              \
		extern const u8 detour_##name[], detour_##name##_end[]; \
		(struct piece){ detour_##name, detour_##name##_end };   \
	})
#define HOLE(name)                                    \
	({                                            \
		extern const u8 detour_hole_##name[]; \
		detour_hole_##name;                   \
	})

/* Shared code that general detours go on in. */
extern const u8 detour_enter[], detour_enter_post[];

static void put(struct code *c, struct piece piece)
{
	code_put(c, piece.start, (size_t)(piece.end - piece.start));
}

/* Fills the @size bytes in front of @hole in @piece, which was put last. */
static void fill(struct code *c, struct piece piece, const u8 *hole,
		 unsigned long value, size_t size)
{
	u8 *to = c->buf + c->len - (piece.end - hole) - size;

	for (size_t i = 0; i < size && !c->err; i++)
		to[i] = (u8)(value >> 8 * i);
}

static void put_save(struct code *c, unsigned long pc)
{
	put(c, PIECE(save));
	fill(c, PIECE(save), HOLE(save_pc), pc, 4);
}

static void put_jump(struct code *c, unsigned long target)
{
	if (!c->err)
		code_add(c, arch_emit_jump(c->buf + c->len, c->size - c->len,
					   code_here(c), target));
}

static void put_general(struct code *c, const struct detour_code *d,
			const u8 *call)
{
	put(c, PIECE(general));
	fill(c, PIECE(general), HOLE(general_detour), (unsigned long)d->detour,
	     8);
	put_jump(c, (unsigned long)call);
}

/* Its last piece jumps to general code at @general. */
static void put_direct(struct code *c, struct detour_code *d)
{
	put(c, PIECE(direct));
	d->calls = code_here(c);
	for (unsigned i = 0; i < d->n; i++) {
		if (i > 0) {
			put(c, PIECE(pc));
			fill(c, PIECE(pc), HOLE(pc), d->pc, 4);
		}
		put(c, PIECE(call));
		fill(c, PIECE(call), HOLE(call_probe),
		     (unsigned long)d->probes[i], 8);
	}
	put(c, PIECE(leave));
}

/* Where the jump over the handlers of a direct detour is. */
static size_t direct_hole(const struct code *c)
{
	return c->len + (size_t)(HOLE(direct_general) - PIECE(direct).start);
}

int arch_detour_emit(struct detour_code *d, unsigned long at, u8 *buf,
		     size_t size)
{
	struct code c = { .at = at, .buf = buf, .size = size };
	size_t hole = 0;

	d->entry = at;
	put_save(&c, d->pc);
	if (d->n > 0) {
		hole = direct_hole(&c);
		put_direct(&c, d);
	} else {
		put_general(&c, d, detour_enter);
	}
	code_put_displaced(&c, d);
	if (d->post) {
		put_save(&c, d->pc);
		put_general(&c, d, detour_enter_post);
	} else {
		put_jump(&c, d->back);
	}
	if (hole && !c.err) {
		store_le32(buf + hole - 4, (u32)(c.len - hole));
		put_general(&c, d, detour_enter);
	}
	return c.err ? c.err : (int)c.len;
}

/* In traps ------------------------------------------------------------------- */

__noprobe unsigned long arch_detour_pc(const struct pt_regs *frame)
{
	return ((const unsigned long *)x86_detour_sp(frame))[-1];
}

__noprobe unsigned arch_detour_call(const struct detour_code *d,
				    const struct pt_regs *frame)
{
	struct piece call = PIECE(call), pc = PIECE(pc);
	unsigned long stride = (unsigned long)(call.end - call.start) +
			       (unsigned long)(pc.end - pc.start);

	/* It returns to the end of a call piece. */
	return (unsigned)((arch_detour_pc(frame) - d->calls) / stride);
}
