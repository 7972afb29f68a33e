/* SPDX-License-Identifier: MIT */
/*
 * Probes on all of the kernel: on every function at once, and on one instruction
 * in sixteen, wherever that may be. The kernel must go on as if there were none,
 * and its text must be the same afterwards.
 */
#include <arch/regs.h>
#include <kernel/heap.h>
#include <kernel/image.h>
#include <kernel/symtab.h>
#include <lib/errno.h>
#include <lib/hash.h>
#include <lib/string.h>
#include <probe/kprobe.h>
#include <probe/site.h>
#include <tests/cases/work.h>

#define ROUND  2000 /* probes at once */
#define STRIDE 16   /* 1 takes minutes: loops over memory are stepped, too */
/*
 * Larger ones are code for other tests. Whether an instruction may be probed is
 * found out by decoding from the start, so a whole function is quadratic.
 */
#define FUNCTION_MAX 8192

static unsigned long hits, wrong_pc;

static int on_hit(struct kprobe *p, struct pt_regs *regs)
{
	__atomic_fetch_add(&hits, 1, __ATOMIC_RELAXED);
	if (instruction_pointer(regs) != p->addr)
		__atomic_fetch_add(&wrong_pc, 1, __ATOMIC_RELAXED);
	return 0;
}

static void after_hit(struct kprobe *p __unused, struct pt_regs *regs __unused,
		      unsigned long flags __unused)
{
}

static u64 text_hash(void)
{
	return hash_fnv1a64(HASH_FNV1A64_INIT, __text_start,
			    (size_t)(__text_end - __text_start));
}

static bool may_be_probed(unsigned long addr, struct insn *insn)
{
	const char *why;
	int error;

	mutex_lock(&probe_mutex);
	error = deny_check(addr, insn, &why);
	mutex_unlock(&probe_mutex);
	return error == 0;
}

/* A collection of probes, registered and removed in one go. */
struct round {
	struct kprobe *probes;
	struct kprobe **list;
	unsigned n;
};

static bool round_alloc(struct round *r)
{
	r->n = 0;
	r->probes = kcalloc(ROUND, sizeof(*r->probes));
	r->list = kcalloc(ROUND, sizeof(*r->list));
	if (!r->probes || !r->list)
		FAIL("no memory for %d probes", ROUND);
	return r->probes && r->list;
}

static void round_free(struct round *r)
{
	kfree(r->probes);
	kfree(r->list);
}

/* Every other one with a post-handler, where that is possible. */
static void round_add(struct round *r, const struct insn *insn)
{
	struct kprobe *p = &r->probes[r->n];

	*p = (struct kprobe){ .addr = insn->pc, .pre_handler = on_hit };
	if (r->n % 2 && !(insn->flags & INSN_EXCL_LOAD))
		p->post_handler = after_hit;
	r->list[r->n++] = p;
}

/* Places all, has the kernel work, removes all. */
static void round_run(struct round *r)
{
	int error = register_kprobes(r->list, r->n);

	EXPECT_EQ(error, 0);
	if (error) {
		test_note("%u probes from 0x%lx: %s", r->n, r->probes[0].addr,
			  kprobe_reason());
	} else {
		work_everywhere();
		EXPECT_EQ(unregister_kprobes(r->list, r->n), 0);
	}
	r->n = 0;
}

TEST(everywhere, every_function_can_be_probed_at_once)
{
	u64 before = text_hash();
	struct symbol sym = { 0 };
	struct insn insn;
	struct round r;

	hits = wrong_pc = 0;
	if (round_alloc(&r)) {
		while (symtab_next(sym.addr, &sym) == 0 && r.n < ROUND)
			if (may_be_probed(symbol_entry(&sym), &insn))
				round_add(&r, &insn);
		EXPECT_GT(r.n, 200);
		round_run(&r);
		EXPECT_GT(hits, 100);
		EXPECT_EQ(wrong_pc, 0);
	}
	round_free(&r);
	EXPECT_EQ(text_hash(), before);
}

/* Adds every STRIDE-th instruction of @sym; *skip of them come first. */
static void add_instructions(struct round *r, const struct symbol *sym,
			     unsigned *skip, unsigned *total)
{
	unsigned long pc = sym->addr, end = sym->addr + sym->size;
	struct insn insn;

	while (pc < end &&
	       !arch_insn_decode(&insn, (void *)pc, min(end - pc, 16UL), pc)) {
		if (*skip > 0) {
			--*skip;
		} else if (may_be_probed(pc, &insn)) {
			round_add(r, &insn);
			++*total;
			*skip = STRIDE - 1;
		}
		pc += insn.len;
		if (r->n == ROUND)
			round_run(r);
	}
}

TEST(everywhere, one_instruction_in_sixteen_can_be_probed)
{
	u64 before = text_hash();
	struct symbol sym = { 0 };
	unsigned skip = 0, total = 0;
	struct round r;

	hits = wrong_pc = 0;
	if (round_alloc(&r)) {
		while (symtab_next(sym.addr, &sym) == 0)
			if (sym.size <= FUNCTION_MAX)
				add_instructions(&r, &sym, &skip, &total);
		if (r.n)
			round_run(&r);
		EXPECT_GT(total, 1000);
		EXPECT_GT(hits, 1000);
		EXPECT_EQ(wrong_pc, 0);
	}
	round_free(&r);
	EXPECT_EQ(text_hash(), before);
}
