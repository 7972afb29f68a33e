// SPDX-License-Identifier: MIT
/*
 * Instructions that the engine writes.
 */
#include <arch/emit.h>

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
