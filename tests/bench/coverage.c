// SPDX-License-Identifier: MIT
/*
 * `coverage`: how many instructions of the kernel's text can be probed. Each is
 * registered and removed, one at a time.
 *
 *	coverage ARCH text N accepted A (P %)
 *	refused ARCH N REASON
 *	noprobe ARCH N bytes of M (P %)
 *	fill ARCH N bytes of M
 *
 * N of `coverage` counts the instructions of all functions, those of the tests
 * included, but not the two places where nothing may be probed: the head (boot
 * code, vectors) and the no-probe section (what a hit itself runs). `noprobe` is
 * that section's share of the whole text. `fill` is no code: breakpoints, where
 * tests put code of their own.
 */
#include <arch/insn.h>
#include <arch/text.h>
#include <kernel/image.h>
#include <kernel/monitor.h>
#include <kernel/symtab.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <lib/text.h>
#include <probe/kprobe.h>

#define REASON_MAX  80
#define REASONS_MAX 16

extern char __head_end[];

struct reason {
	char text[REASON_MAX];
	unsigned n;
};

struct tally {
	unsigned total, accepted;
	unsigned long fill;		    /* bytes */
	struct reason reasons[REASONS_MAX]; /* used from the first on */
};

static struct tally tally; /* commands run in one thread: no lock */

static int do_nothing(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
}

/* "function+0x10: reason" is kprobe_reason(). The last entry takes the rest. */
static void count_refusal(const char *why)
{
	const char *colon = strchr(why, ':');
	struct reason *r = tally.reasons;

	if (colon)
		why = colon + 2;
	while (r->n && strncmp(r->text, why, REASON_MAX - 1) &&
	       r < &tally.reasons[REASONS_MAX - 1])
		r++;
	if (!r->n)
		strscpy(r->text, why, sizeof(r->text));
	r->n++;
}

static void try_instruction(unsigned long pc)
{
	struct kprobe p = { .addr = pc, .pre_handler = do_nothing };

	tally.total++;
	if (register_kprobe(&p)) {
		count_refusal(kprobe_reason());
	} else {
		tally.accepted++;
		unregister_kprobe(&p);
	}
}

static bool is_open(unsigned long pc)
{
	return image_is_text(pc) && pc >= (unsigned long)__head_end &&
	       !(pc >= (unsigned long)__noprobe_text_start &&
		 pc < (unsigned long)__noprobe_text_end);
}

static void try_function(const struct symbol *sym)
{
	unsigned long pc = sym->addr, end = sym->addr + sym->size;
	struct insn insn;

	while (pc < end && is_open(pc)) {
		/* Where nothing can be decoded len is what to pass over. */
		if (arch_insn_decode(&insn, (const void *)pc,
				     min(end - pc, INSN_MAX_BYTES + 0UL),
				     pc) == -ENODATA)
			return;
		if (memcmp(insn.bytes, arch_break_insn, ARCH_BREAK_SIZE))
			try_instruction(pc);
		else
			tally.fill += insn.len;
		pc += insn.len;
	}
}

/* @part of @whole in hundredths of a percent. */
static unsigned long share(unsigned long part, unsigned long whole)
{
	return whole ? part * 10000 / whole : 0;
}

static int cmd_coverage(const struct monitor_call *call __unused)
{
	struct symbol sym = { .addr = 0 };
	unsigned long noprobe =
		(unsigned long)(__noprobe_text_end - __noprobe_text_start);
	unsigned long text = (unsigned long)(__text_end - __text_start), p;

	memset(&tally, 0, sizeof(tally));
	while (symtab_next(sym.addr, &sym) == 0)
		try_function(&sym);
	p = share(tally.accepted, tally.total);
	monitor_print("coverage %s text %u accepted %u (%lu.%02lu %%)\n",
		      SONDE_MACHINE, tally.total, tally.accepted, p / 100,
		      p % 100);
	for (const struct reason *r = tally.reasons;
	     r < tally.reasons + REASONS_MAX && r->n; r++)
		monitor_print("refused %s %u %s\n", SONDE_MACHINE, r->n,
			      r->text);
	p = share(noprobe, text);
	monitor_print("noprobe %s %lu bytes of %lu (%lu.%02lu %%)\n",
		      SONDE_MACHINE, noprobe, text, p / 100, p % 100);
	monitor_print("fill %s %lu bytes of %lu\n", SONDE_MACHINE, tally.fill,
		      text);
	return 0;
}
MONITOR_COMMAND("coverage", "", "probe every instruction, one at a time",
		cmd_coverage);
