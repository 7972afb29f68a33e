/* SPDX-License-Identifier: MIT */
/*
 * Instructions that the engine writes itself. Contract of arch/<A>/emit.c. Pure,
 * any context.
 */
#ifndef SONDE_ARCH_EMIT_H
#define SONDE_ARCH_EMIT_H

#include <lib/compiler.h>

/*
 * Writes to @buf (at most @size bytes) a jump from @at to @target that changes
 * nothing but the pc. Returns its length; -ERANGE if it does not reach, -ENOSPC
 * if it does not fit.
 */
int __must_check arch_emit_jump(u8 *buf, size_t size, u64 at, u64 target);

#endif
