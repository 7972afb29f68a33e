/* SPDX-License-Identifier: MIT */
/*
 * Commands that look at the image and at memory: symbols, bytes, backtraces; and
 * how people name an address.
 */
#include "monitor.h"
#include <arch/regs.h>
#include <kernel/extable.h>
#include <kernel/panic.h>
#include <kernel/smp.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <lib/text.h>

/* Addresses ---------------------------------------------------------------- */

int monitor_symbol_fail(const char *text, int error)
{
	char name[MONITOR_LINE_MAX];
	char *plus;
	const char *near;
	struct symbol sym = { 0 };

	strscpy(name, text, sizeof(name));
	plus = strchr(name, '+');
	if (plus)
		*plus = '\0';
	if (error == -EADDRNOTAVAIL) {
		monitor_fail(error, "several functions are called '%s':", name);
		while (symtab_next_named(name, sym.addr, &sym) == 0)
			monitor_print("  0x%lx  %s:%s\n", sym.addr, sym.file,
				      sym.name);
		return error;
	}
	near = symtab_suggest(name);
	if (near)
		return monitor_fail(error, "no symbol '%s'; did you mean '%s'?",
				    name, near);
	return monitor_fail(error, "no symbol '%s'; 'sym *%s*' searches", name,
			    name);
}

/*
 * SYM[+OFF]; the offset may be decimal or 0x... As for probes, SYM alone is where
 * calls inside the kernel enter, and offsets count from where the symbol is.
 */
static int symbol_address(const char *text, unsigned long *addr)
{
	char name[MONITOR_LINE_MAX];
	struct symbol sym;
	char *plus;
	u64 offset = 0;
	int error;

	strscpy(name, text, sizeof(name));
	plus = strchr(name, '+');
	if (plus) {
		*plus++ = '\0';
		if (parse_u64(plus, 0, &offset, NULL))
			return monitor_fail(-EINVAL, "'%s' is no offset", plus);
	}
	error = symtab_find(name, &sym);
	if (error)
		return monitor_symbol_fail(name, error);
	if (offset >= sym.size && offset)
		return monitor_fail(-ERANGE, "%s has only 0x%x bytes", sym.name,
				    sym.size);
	*addr = plus ? sym.addr + (unsigned long)offset : symbol_entry(&sym);
	return 0;
}

int monitor_address(const char *text, unsigned long *addr)
{
	u64 value;
	int error;

	if (!char_is_digit(text[0]))
		return symbol_address(text, addr);
	error = parse_u64(text, 0, &value, NULL);
	if (error)
		return monitor_fail(error, "'%s' is no address", text);
	*addr = (unsigned long)value;
	return 0;
}

/* sym ---------------------------------------------------------------------- */

#define SYM_SHOW_MAX 100

static void sym_print(const struct symbol *sym)
{
	monitor_print("  0x%016lx  %6u  %s%s%s", sym->addr, sym->size,
		      sym->file, *sym->file ? ":" : "", sym->name);
	if (sym->local)
		monitor_print("  (local entry +%u)", sym->local);
	monitor_print("\n");
}

static int sym_search(const char *pattern)
{
	struct symbol sym = { 0 };
	unsigned n = 0;

	while (symtab_next(sym.addr, &sym) == 0) {
		if (!glob_match(pattern, sym.name))
			continue;
		if (n++ < SYM_SHOW_MAX)
			sym_print(&sym);
	}
	if (n > SYM_SHOW_MAX)
		monitor_print("  and %u more\n", n - SYM_SHOW_MAX);
	if (!n)
		return monitor_fail(-ENOENT, "no symbol matches '%s'", pattern);
	return 0;
}

static int cmd_sym(const struct monitor_call *call)
{
	const char *what = call->argv[0];
	struct symbol sym = { 0 };
	unsigned long addr;
	int error;

	if (strchr(what, '*') || strchr(what, '?') || strchr(what, '['))
		return sym_search(what);
	if (!char_is_digit(what[0]) && !strchr(what, '+')) {
		error = symtab_find(what, &sym);
		if (error)
			return monitor_symbol_fail(what, error);
		sym_print(&sym);
		return 0;
	}
	error = monitor_address(what, &addr);
	if (error)
		return error;
	if (symtab_lookup(addr, &sym))
		return monitor_fail(-ENOENT, "0x%lx is in no function", addr);
	monitor_print("  0x%lx is %s+0x%lx of 0x%x bytes\n", addr, sym.name,
		      addr - sym.addr, sym.size);
	return 0;
}
MONITOR_COMMAND("sym", "SYM|ADDR|PATTERN",
		"symbols by name, address or pattern (*, ?)", cmd_sym);

/* peek --------------------------------------------------------------------- */

#define PEEK_MAX  4096
#define PEEK_LINE 16

static void peek_line(unsigned long addr, const u8 *bytes, size_t n)
{
	char text[PEEK_LINE * 4 + 8];
	size_t len = 0;

	for (size_t i = 0; i < PEEK_LINE; i++)
		len += i < n ? scnprintf(text + len, sizeof(text) - len,
					 "%02x ", bytes[i])
			     : scnprintf(text + len, sizeof(text) - len, "   ");
	len += scnprintf(text + len, sizeof(text) - len, " ");
	for (size_t i = 0; i < n; i++)
		text[len++] = char_is_print((char)bytes[i]) ? (char)bytes[i]
							    : '.';
	text[len] = '\0';
	monitor_print("  0x%016lx  %s\n", addr, text);
}

static int cmd_peek(const struct monitor_call *call)
{
	unsigned long addr;
	u64 count = 64;
	int error = monitor_address(call->argv[0], &addr);

	if (error)
		return error;
	if (call->argc > 1 && (parse_u64(call->argv[1], 0, &count, NULL) ||
			       count < 1 || count > PEEK_MAX))
		return monitor_usage(call, "'%s' is no number from 1 to %d",
				     call->argv[1], PEEK_MAX);
	while (count) {
		u8 bytes[PEEK_LINE];
		size_t n = min((size_t)count, (size_t)PEEK_LINE);

		if (peek(bytes, (const void *)addr, n))
			return monitor_fail(-EFAULT, "0x%lx is not mapped",
					    addr);
		peek_line(addr, bytes, n);
		addr += n;
		count -= n;
	}
	return 0;
}
MONITOR_COMMAND("peek", "SYM[+OFF]|ADDR [BYTES]", "bytes in memory", cmd_peek);

/* bt ----------------------------------------------------------------------- */

#define BT_MAX 32

struct bt {
	int id;
	bool found;
	bool running;
	unsigned cpu;
	char name[THREAD_NAME_MAX];
	unsigned n;
	unsigned long pc[BT_MAX];
};

static bool bt_add(unsigned long pc, void *arg)
{
	struct bt *bt = arg;

	bt->pc[bt->n++] = pc;
	return bt->n < BT_MAX;
}

/* Under the lock of the thread list: the thread and its stack stay. */
static bool bt_thread(struct thread *t, void *arg)
{
	struct bt *bt = arg;
	struct pt_regs regs;
	unsigned long pc;

	if (t->id != bt->id)
		return true;
	bt->found = true;
	bt->running = sched_whereabouts(t, &pc) == THREAD_ON_CPU;
	bt->cpu = t->cpu;
	strscpy(bt->name, t->name, sizeof(bt->name));
	if (!bt->running && t->state != THREAD_DEAD) {
		memset(&regs, 0, sizeof(regs));
		arch_context_regs(&t->ctx, &regs);
		arch_unwind(t, &regs, bt_add, bt);
	}
	return false;
}

/* On the CPU that runs it, in NMI context; it may have left meanwhile. */
static void bt_nmi(void *arg, struct pt_regs *regs)
{
	struct bt *bt = arg;

	if (current->id == bt->id)
		arch_unwind(current, regs, bt_add, bt);
}

static int cmd_bt(const struct monitor_call *call)
{
	struct bt bt = { .id = current->id };
	u64 id;

	if (call->argc) {
		bool idle = call->argv[0][0] == '-';

		if (parse_u64(call->argv[0] + idle, 0, &id, NULL) ||
		    id > 0x7fffffff)
			return monitor_usage(call, "'%s' is no thread id",
					     call->argv[0]);
		bt.id = idle ? -(int)id : (int)id;
	}
	thread_for_each(bt_thread, &bt);
	if (!bt.found)
		return monitor_fail(-ENOENT, "no thread %d; 'ps' lists them",
				    bt.id);
	if (bt.id == current->id) {
		struct pt_regs regs;

		arch_regs_capture(&regs);
		arch_unwind(current, &regs, bt_add, &bt);
	} else if (bt.running) {
		int error = smp_nmi_call(bt.cpu, bt_nmi, &bt);

		if (error)
			return monitor_fail(error, "cpu%u does not answer",
					    bt.cpu);
	}
	monitor_print("%s/%d, %s cpu%u\n", bt.name, bt.id,
		      bt.running ? "running on" : "last on", bt.cpu);
	for (unsigned i = 0; i < bt.n; i++) {
		char where[80];

		symtab_return_text(bt.pc[i], where, sizeof(where));
		monitor_print("  %s\n", where);
	}
	return 0;
}
MONITOR_COMMAND("bt", "[THREAD-ID]",
		"backtrace of a thread (default: this one)", cmd_bt);
