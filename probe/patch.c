// SPDX-License-Identifier: MIT
/*
 * The only writer of text.
 *
 * Break mode, for a change that is longer than what one store changes at once:
 *
 *	old:	[o0 o1 o2 o3 o4]
 *	1	[BR o1 o2 o3 o4]  all CPUs synchronised: none is inside any more
 *	2	[BR n1 n2 n3 n4]  synchronised: all see the new tail
 *	3	[n0 n1 n2 n3 n4]  synchronised: nobody is in the trap any more
 *
 * Whoever comes by between 1 and 3 traps, and patch_hit_break() does for it what
 * the new instruction does. Shorter changes are step 3 alone. (SDM 3A 9.1.3,
 * ISA 3.1 II 1.8.) "Synchronised" is quiesce_cpus(): every CPU has taken
 * an interrupt, which serialises it, and is out of every trap.
 *
 * A jump may be read from bytes of those behind it, too (jump.h). So it is broken
 * before they are, and its first byte comes after theirs: where such jumps go,
 * step 1 is several, from low addresses to high ones, and where they come, so is
 * step 3, from high ones to low ones.
 *
 * Stop mode: the same steps while all other CPUs stand still in stop_machine(). One
 * write would do, were it not for what the CPU that writes runs itself, and for NMIs:
 * that may be what is written. So "synchronised" is stop_sync() there.
 *
 * An emulator's deviation: QEMU's multi-threaded TCG can keep a translation that
 * was made from the old bytes while they were being changed, and run it for
 * ever. Storing the same bytes again after all CPUs have synchronised drops it.
 * So each step is written twice (take_step()), and a trap with no breakpoint in
 * memory rewrites the bytes before it retries (heal()). docs/emulator.md.
 */
#include <arch/cpu.h>
#include <arch/regs.h>
#include <arch/trap.h>
#include <kernel/extable.h>
#include <kernel/log.h>
#include <kernel/option.h>
#include <kernel/percpu.h>
#include <kernel/quiesce.h>
#include <kernel/stop.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <kernel/vm.h>
#include <kernel/wait.h>
#include <lib/errno.h>
#include <lib/text.h>
#include <probe/patch.h>
#include "site.h"

extern const char __text_start[], __text_end[];

struct batch {
	struct text_patch *patches;
	unsigned n;
	enum patch_mode mode;
};

static struct mutex text_mutex = MUTEX(text_mutex);
static enum patch_mode mode = PATCH_BREAK;
static struct patch_stats stats;
/* The batch under way, for traps. */
static const struct batch *active;

static const char *const mode_names[] = {
	[PATCH_BREAK] = "break",
	[PATCH_STOP] = "stop",
};

enum patch_mode patch_mode(void)
{
	return mode;
}

void patch_mode_set(enum patch_mode m)
{
	mode = m;
}

const char *patch_mode_name(enum patch_mode m)
{
	return mode_names[m];
}

int patch_mode_parse(const char *name)
{
	int i = match_string(mode_names, ARRAY_SIZE(mode_names), name);

	if (i < 0)
		return i;
	mode = (enum patch_mode)i;
	return 0;
}
BOOT_OPTION(patch, "break|stop", "how text is changed", patch_mode_parse);

/* This CPU's alias page is in use: an NMI must keep off it. */
static DEFINE_PER_CPU(bool, writing);

static u64 longest_hold;

static void hold_note(u64 since)
{
	longest_hold = max(longest_hold, clock_ns() - since);
}

u64 patch_longest_hold(void)
{
	u64 ns;

	mutex_lock(&text_mutex);
	ns = longest_hold;
	longest_hold = 0;
	mutex_unlock(&text_mutex);
	return ns;
}

/*
 * Writes pieces of text one after the other; keeps the alias of a page, and
 * interrupts off, as long as the pieces stay in it, but only for a few at once:
 * that takes about as long as to answer an IPI.
 */
#define PIECES_MAX 4

struct writer {
	unsigned long page; /* 0: none is open */
	unsigned left;	    /* how many pieces more */
	u8 *alias;
	unsigned long flags;
	u64 since;
};

static void writer_close(struct writer *w)
{
	if (!w->page)
		return;
	vm_alias_end();
	WRITE_ONCE(this_cpu_ref(writing), false);
	w->page = 0;
	hold_note(w->since);
	arch_irq_restore(w->flags);
}

static void writer_open(struct writer *w, unsigned long page)
{
	/* Who has interrupts off anyway, as in stop mode, gains nothing. */
	w->left = arch_irqs_disabled() ? ~0u : PIECES_MAX;
	w->flags = arch_irq_save();
	w->since = clock_ns();
	WRITE_ONCE(this_cpu_ref(writing), true);
	w->alias = vm_alias_begin((const void *)page);
	w->page = page;
}

static void writer_put(struct writer *w, unsigned long addr, const u8 *bytes,
		       size_t n)
{
	while (n > 0) {
		unsigned long page = ALIGN_DOWN(addr, PAGE_SIZE);
		size_t here = min(n, (size_t)(page + PAGE_SIZE - addr));

		if (w->page != page || w->left-- == 0) {
			writer_close(w);
			writer_open(w, page);
		}
		arch_text_write(w->alias + (addr - page), (const void *)addr,
				bytes, here);
		addr += here;
		bytes += here;
		n -= here;
	}
}

void text_write_unused(unsigned long addr, const u8 *bytes, size_t n)
{
	struct writer w = { 0 };

	writer_put(&w, addr, bytes, n);
	writer_close(&w);
}

static bool is_atomic(const struct text_patch *p)
{
	return p->len <= ARCH_TEXT_ATOM;
}

static bool needs_break(const struct text_patch *p)
{
	return !is_atomic(p) || p->old_reach > p->len;
}

/* The steps of the protocol; each writes its piece of one patch. */

static void write_break(struct writer *w, const struct text_patch *p)
{
	writer_put(w, p->addr, arch_break_insn, ARCH_BREAK_SIZE);
}

static void write_tail(struct writer *w, const struct text_patch *p)
{
	writer_put(w, p->addr + ARCH_BREAK_SIZE, p->bytes + ARCH_BREAK_SIZE,
		   p->len - ARCH_BREAK_SIZE);
}

static void write_head(struct writer *w, const struct text_patch *p)
{
	writer_put(w, p->addr, p->bytes, ARCH_BREAK_SIZE);
}

static void write_all(const struct text_patch *list,
		      void (*step)(struct writer *w,
				   const struct text_patch *p))
{
	struct writer w = { 0 };

	for (; list; list = list->next)
		step(&w, list);
	writer_close(&w);
}

/* One step for all of @list; all CPUs are synchronised, and see it. */
static void take_step(const struct batch *b, const struct text_patch *list,
		      void (*step)(struct writer *w,
				   const struct text_patch *p))
{
	write_all(list, step);
	if (b->mode == PATCH_STOP)
		stop_sync();
	else
		quiesce_cpus();
	write_all(list, step); /* for the emulator: see above */
}

/* Those that stand behind a breakpoint for a while, ascending. */
static struct text_patch *ascending(const struct batch *b)
{
	struct text_patch *list = NULL;

	for (unsigned i = b->n; i-- > 0;) {
		if (!needs_break(&b->patches[i]))
			continue;
		b->patches[i].next = list;
		list = &b->patches[i];
	}
	return list;
}

static struct text_patch *descending(const struct batch *b)
{
	struct text_patch *list = NULL;

	for (unsigned i = 0; i < b->n; i++) {
		b->patches[i].next = list;
		list = &b->patches[i];
	}
	return list;
}

/*
 * Takes those out of *@left that need not wait for others in it: going down, for
 * jumps that are read from their bytes; going up, for those whose bytes they are
 * read from.
 */
static struct text_patch *take_free(struct text_patch **left, bool up)
{
	struct text_patch *free, **free_end = &free, **left_end = left;
	unsigned long edge = up ? ~0UL : 0;

	for (struct text_patch *p = *left; p; p = p->next) {
		bool waits = up ? p->addr + p->new_reach > edge
				: edge > p->addr;
		struct text_patch ***end = waits ? &left_end : &free_end;

		edge = up ? p->addr : max(edge, p->addr + p->old_reach);
		**end = p;
		*end = &p->next;
	}
	*left_end = *free_end = NULL;
	return free;
}

/* Returns whether there were breakpoints. */
static bool write_steps(const struct batch *b)
{
	struct text_patch *list = ascending(b);
	bool breaks = list;

	if (breaks) {
		/* Pairs with the acquire in patch_hit_break(). */
		store_release(&active, b);
		while (list)
			take_step(b, take_free(&list, false), write_break);
		take_step(b, ascending(b), write_tail);
	}
	list = descending(b);
	while (list)
		take_step(b, take_free(&list, true), write_head);
	store_release(&active, NULL);
	return breaks;
}

static void patch_by_break(const struct batch *b)
{
	/* A trap on somebody else's breakpoint may be looking at the batch. */
	if (write_steps(b))
		quiesce_cpus();
}

static int write_stopped(void *arg)
{
	write_steps(arg);
	return 0;
}

static int patch_by_stop(struct batch *b)
{
	struct stop_stats stop;
	int err = stop_machine(write_stopped, b);

	stop_stats_get(&stop);
	longest_hold = max(longest_hold, stop.last_ns);
	return err;
}

static bool is_valid(const struct text_patch *p, enum patch_mode m)
{
	return p->len > 0 && p->len <= ARCH_PATCH_MAX &&
	       IS_ALIGNED(p->len, ARCH_BREAK_SIZE) &&
	       IS_ALIGNED(p->addr, ARCH_BREAK_SIZE) &&
	       p->addr >= (unsigned long)__text_start &&
	       p->addr <= (unsigned long)__text_end - p->len &&
	       (is_atomic(p) || p->resume || m == PATCH_STOP);
}

int text_patch_mode(struct text_patch *patches, unsigned n, enum patch_mode m)
{
	struct batch b = { .patches = patches, .n = n, .mode = m };
	unsigned long end = 0;
	int err = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!is_valid(&patches[i], m) || patches[i].addr < end)
			return -EINVAL;
		end = patches[i].addr + patches[i].len;
	}
	mutex_lock(&text_mutex);
	if (m == PATCH_BREAK)
		patch_by_break(&b);
	else
		err = patch_by_stop(&b);
	stats.patches += n;
	stats.batches++;
	mutex_unlock(&text_mutex);
	return err;
}

int text_patch(struct text_patch *patches, unsigned n)
{
	return text_patch_mode(patches, n, mode);
}

/* In traps from here on ----------------------------------------------------- */

/* How often in a row a CPU retries a trap that has no breakpoint in memory. */
#define RETRIES_MAX 1000

struct retry {
	unsigned long pc;
	unsigned n;
	u64 breakpoints; /* of this CPU by then: were there others since? */
};
static DEFINE_PER_CPU(struct retry, retries);

static __noprobe const struct text_patch *find(const struct batch *b,
					       unsigned long pc)
{
	unsigned low = 0, high = b->n;

	while (low < high) {
		unsigned mid = (low + high) / 2;

		if (b->patches[mid].addr < pc)
			low = mid + 1;
		else
			high = mid;
	}
	return low < b->n && b->patches[low].addr == pc ? &b->patches[low]
							: NULL;
}

static __noprobe bool break_in_memory(unsigned long pc)
{
	const volatile u8 *text = (const volatile u8 *)pc;

	for (unsigned i = 0; i < ARCH_BREAK_SIZE; i++) {
		if (text[i] != arch_break_insn[i])
			return false;
	}
	return true;
}

/* Drops a translation made from bytes that are no longer there. */
static __noprobe void heal(unsigned long pc)
{
	void *alias;

	if (READ_ONCE(this_cpu_ref(writing)))
		return;
	WRITE_ONCE(this_cpu_ref(writing), true);
	alias = vm_alias_begin((const void *)pc);
	arch_text_rewrite(alias, (const void *)pc);
	vm_alias_end();
	WRITE_ONCE(this_cpu_ref(writing), false);
	__atomic_fetch_add(&stats.stale_healed, 1, __ATOMIC_RELAXED);
}

__noprobe bool patch_hit_break(unsigned long pc, struct pt_regs *regs)
{
	/* Pairs with the release in write_steps(). */
	const struct batch *b = load_acquire(&active);
	const struct text_patch *p = b ? find(b, pc) : NULL;
	struct retry *retry = &this_cpu_ref(retries);
	u64 breakpoints = this_cpu()->traps[TRAP_BREAKPOINT];

	if (p && needs_break(p) && p->resume) {
		__atomic_fetch_add(&stats.retries, 1, __ATOMIC_RELAXED);
		instruction_pointer_set(regs, pc);
		p->resume(p, regs);
		return true;
	}
	if (pc < (unsigned long)__text_start ||
	    pc >= (unsigned long)__text_end || break_in_memory(pc))
		return false;
	/*
	 * The breakpoint that trapped is gone: the probe that owned it has left
	 * between the trap and now, or the translation is stale. Run what
	 * stands there; should that trap again and again, somebody is wrong.
	 */
	if (retry->pc != pc || retry->breakpoints + 1 != breakpoints)
		*retry = (struct retry){ .pc = pc };
	retry->breakpoints = breakpoints;
	if (++retry->n > RETRIES_MAX)
		return false;
	heal(pc);
	instruction_pointer_set(regs, pc);
	return true;
}

void patch_stats_get(struct patch_stats *s)
{
	mutex_lock(&text_mutex);
	*s = stats;
	mutex_unlock(&text_mutex);
}
