// SPDX-License-Identifier: MIT
/*
 * Builds a detour and finds a jump that leads there: at one instruction, or in the
 * place of several. Nothing is in the text yet, nor does anybody wait.
 */
#include <kernel/heap.h>
#include <lib/string.h>
#include "detour.h"

/*
 * Post-handlers can be called behind it, with interrupts off while it runs, unless
 * it goes elsewhere or would notice.
 */
static bool goes_its_way(const struct insn *insn)
{
	const u32 ways = INSN_BRANCH_REL | INSN_INDIRECT | INSN_CALL | INSN_RET;
	const u32 irqs = INSN_FLAGS_PUSH | INSN_FLAGS_POP | INSN_IRQ_CHANGE |
			 INSN_HALT | INSN_STATE_WRITE | INSN_PRIV;

	return insn->flags & (ways | irqs);
}

/* May the detour itself call the handlers? How many. 0: no. */
static unsigned count_direct(const struct site *s)
{
	unsigned n = 0;

	if (s->set->post || site_has_flagged(s, KPROBE_FLAG_CONTROL))
		return 0;
	while (s->set->probes[n])
		n++;
	return n <= ARCH_DETOUR_CALLS ? n : 0;
}

static bool needs_post(const struct site *s)
{
	return s->set->post && s->end_plan == PLAN_STEP &&
	       !goes_its_way(&s->insn);
}

static void describe(struct detour *d, struct site *s)
{
	d->site = s;
	d->set = s->set;
	d->exec.site = s;
	d->exec.detour = d;
	d->code = (struct detour_code){
		.pc = s->addr,
		.back = s->addr + s->insn.len,
		.detour = d,
		.probes = s->set->probes,
		.n = count_direct(s),
		.post = needs_post(s),
		.insns = &s->insn,
		.n_insns = 1,
	};
}

/* Its code, in executable memory: twice, as the first time tells its length. */
static int emit(struct detour *d)
{
	static u8 code[ARCH_DETOUR_MAX + (REGION_INSNS - 1) * INSN_RELOC_MAX];
	int len = arch_detour_emit(&d->code, d->site->exec.at, code,
				   sizeof(code));
	int err = len < 0 ? len : exec_alloc(&d->exec, (size_t)len);

	if (err)
		return err;
	len = arch_detour_emit(&d->code, d->exec.at, code, d->exec.size);
	if (len < 0)
		return len;
	exec_write(&d->exec, code, (size_t)len);
	return 0;
}

/*
 * What stands from @s on, or will when its change is done: that takes its own jump
 * out, and the one over several instructions of which it is one. Upwards, as what
 * such a jump lays bare when it goes, others may change.
 */
static void read_text(const struct site *s, u8 *text)
{
	struct site *here = site_at_or_below(s->addr), *at;
	u8 coming[ARCH_PATCH_MAX];

	memcpy(text, (const void *)s->addr, ARCH_JUMP_TEXT);
	for (at = here; at && at->addr + ARCH_JUMP_SIZE > s->addr;
	     at = site_below(at)) {
		const struct jump *j = at->detour ? &at->detour->jump : NULL;
		unsigned long i = s->addr - at->addr;

		if (j && j->len > i)
			memcpy(text, j->old + i, j->len - i);
	}
	for (at = here ? site_above(here) : NULL;
	     at && at->addr < s->addr + ARCH_JUMP_TEXT; at = site_above(at)) {
		unsigned long i = at->addr - s->addr;

		if (at->changed)
			memcpy(text + i, coming,
			       min(ARCH_JUMP_TEXT - i,
				   site_coming_text(at, coming) + 0UL));
	}
}

static const char no_room[] = "no room for a detour within reach";

const char *detour_build(struct site *s, enum jump_strategy wish)
{
	struct detour *d = kzalloc(sizeof(*d));
	const char *why = no_room;
	u8 text[ARCH_JUMP_TEXT];

	if (!d)
		return "out of memory";
	describe(d, s);
	read_text(s, text);
	if (emit(d) == 0 && jump_plan(&d->jump, &s->insn, d->code.entry, text,
				      wish, &why) == 0) {
		s->coming_detour = d;
		return NULL;
	}
	detour_free(d);
	return why;
}

static const char *describe_region(struct detour *d)
{
	struct region *r = kzalloc(sizeof(*r));
	const char *why;

	d->region = r;
	if (d->set->post)
		return "a post-handler wants to know its end";
	if (!r)
		return "out of memory";
	why = region_check(d->site->addr, r);
	if (why)
		return why;
	d->code.insns = r->insns;
	d->code.n_insns = r->n;
	d->code.at = r->at;
	d->code.back = d->code.pc + region_size(r);
	return NULL;
}

const char *detour_build_region(struct site *s)
{
	struct detour *d = kzalloc(sizeof(*d));
	const char *why;
	u8 text[ARCH_JUMP_TEXT];

	if (!d)
		return "out of memory";
	describe(d, s);
	read_text(s, text);
	why = describe_region(d);
	if (!why && (emit(d) || jump_plan_region(&d->jump, d->region,
						 d->code.entry, text)))
		why = no_room;
	if (why)
		detour_free(d);
	else
		s->coming_detour = d;
	return why;
}
