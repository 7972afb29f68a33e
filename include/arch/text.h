/* SPDX-License-Identifier: MIT */
/*
 * Changing bytes of text. Contract of arch/<A>/text.c and <asm/text.h>. Only
 * probe/patch.c calls this.
 */
#ifndef SONDE_ARCH_TEXT_H
#define SONDE_ARCH_TEXT_H

#include <lib/compiler.h>

struct pt_regs;

/*
 * <asm/text.h>: ARCH_BREAK_SIZE (1 / 4), ARCH_TEXT_ATOM (bytes that one store
 * changes at once for a fetching CPU: 1 / 4), ARCH_PATCH_MAX (longest change: 15 / 8).
 */
#include <asm/text.h>

extern const u8 arch_break_insn[ARCH_BREAK_SIZE]; /* int3 / tw 31,0,0 */

/*
 * Stores @len bytes at @alias (a writable alias of the text at @text), atomically
 * where len <= ARCH_TEXT_ATOM and aligned to it, and makes them visible to
 * instruction fetch everywhere (ppc64: dcbst sync icbi sync isync). Other CPUs
 * still need arch_cpu_serialize(). Interrupts off.
 */
void arch_text_write(void *alias, const void *text, const void *bytes,
		     size_t len);

/*
 * Stores the atom at @alias again as it stands there, in one atomic step: never
 * undoes another CPU's store. Drops stale translations of it (docs/emulator.md).
 * Interrupts off; no-probe.
 */
void arch_text_rewrite(void *alias, const void *text);

/*
 * Small code that patch tests run while changing it: @count sites, each a
 * function-like snippet returning a number. arch_text_site_code() writes to
 * @buf the bytes (ARCH_TEXT_SITE_SIZE of them, of which the first
 * ARCH_TEXT_SITE_PATCH differ) that make a site return @value.
 */
void arch_text_site_code(u8 *buf, unsigned value);
/* Does to @regs, at a site with @code, what running its first instruction does. */
void arch_text_site_resume(const u8 *code, struct pt_regs *regs);

#endif
