/* SPDX-License-Identifier: MIT */
/*
 * Code that is being written, for arch/<A>/emit.c. Pure.
 */
#ifndef SONDE_ARCH_CODE_H
#define SONDE_ARCH_CODE_H

#include <arch/detour.h>
#include <arch/insn.h>
#include <lib/errno.h>
#include <lib/string.h>

/* What goes wrong first is kept, and nothing is written from then on. */
struct code {
	unsigned long at; /* where it will run */
	u8 *buf;
	size_t size, len;
	int err;
};

static inline unsigned long code_here(const struct code *c)
{
	return c->at + c->len;
}

/* The result of an emitter that was given what is left of the buffer. */
static inline void code_add(struct code *c, int len)
{
	if (len < 0)
		c->err = len;
	else
		c->len += (size_t)len;
}

static inline void code_put(struct code *c, const void *bytes, size_t n)
{
	if (!c->err && c->size - c->len < n)
		c->err = -ENOSPC;
	if (c->err)
		return;
	memcpy(c->buf + c->len, bytes, n);
	c->len += n;
}

/* The instructions that a detour stands for. */
static inline void code_put_displaced(struct code *c, struct detour_code *d)
{
	d->displaced = code_here(c);
	for (unsigned i = 0; i < d->n_insns && !c->err; i++) {
		if (d->at)
			d->at[i] = code_here(c);
		code_add(c,
			 arch_insn_relocate(&d->insns[i], code_here(c),
					    c->buf + c->len, c->size - c->len));
	}
	d->displaced_end = code_here(c);
}

#endif
