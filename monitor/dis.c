/* SPDX-License-Identifier: MIT */
/*
 * dis: instructions as the probe engine sees them. Not a disassembler: it shows
 * boundaries, what an instruction does to the engine, and why not to probe it.
 */
#include "monitor.h"
#include <arch/insn.h>
#include <kernel/symtab.h>
#include <lib/errno.h>
#include <lib/text.h>
#include <probe/site.h>

#define DIS_DEFAULT 8
#define DIS_MAX	    1000

static void print_class(const struct insn *insn, const char *refused)
{
	const char *between = "", *name;
	unsigned at = 0;
	char where[80];

	while ((name = insn_class_name(insn, &at))) {
		monitor_print("%s%s", between, name);
		between = ", ";
	}
	if (insn->flags & (INSN_BRANCH_REL | INSN_PC_MEM | INSN_PC_READ)) {
		symtab_text((unsigned long)insn->target, where, sizeof(where));
		monitor_print(" -> %s", where);
	}
	if (refused)
		monitor_print("%sno probe: %s", *between ? "; " : "", refused);
	monitor_print("\n");
}

/* The instruction at @addr without probes, and why not to probe it, or NULL. */
static int look(unsigned long addr, struct insn *insn, const char **refused)
{
	u8 bytes[INSN_MAX_BYTES];
	struct insn unused;
	size_t n;
	int error = -EFAULT;

	*refused = NULL;
	mutex_lock(&probe_mutex);
	n = site_read_original(addr, bytes, sizeof(bytes));
	if (n)
		error = arch_insn_decode(insn, bytes, n, addr);
	if (!error && !deny_check(addr, &unused, refused))
		*refused = NULL;
	mutex_unlock(&probe_mutex);
	return error;
}

/* One line; the length of the instruction, or a negative errno. */
static int dis_line(unsigned long addr)
{
	char where[80], hex[INSN_MAX_BYTES * 3 + 1];
	const char *refused;
	struct insn insn;
	size_t len = 0;
	int error = look(addr, &insn, &refused);

	if (error)
		return monitor_fail(error, "0x%lx: %s", addr,
				    error == -EFAULT ? "is not mapped"
						     : "is no instruction");
	for (unsigned i = 0; i < insn.len; i++)
		len += scnprintf(hex + len, sizeof(hex) - len, "%02x ",
				 insn.bytes[i]);
	symtab_text(addr, where, sizeof(where));
	monitor_print("  0x%lx  %-28s %-24s ", addr, where, hex);
	print_class(&insn, refused);
	return insn.len;
}

static int cmd_dis(const struct monitor_call *call)
{
	unsigned long addr;
	u64 count = DIS_DEFAULT;
	int got = monitor_address(call->argv[0], &addr);

	if (got)
		return got;
	if (call->argc > 1 && (parse_u64(call->argv[1], 0, &count, NULL) ||
			       count < 1 || count > DIS_MAX))
		return monitor_usage(call, "'%s' is no number from 1 to %d",
				     call->argv[1], DIS_MAX);
	while (count--) {
		got = dis_line(addr);
		if (got < 0)
			return got;
		addr += (unsigned)got;
	}
	return 0;
}
MONITOR_COMMAND("dis", "SYM[+OFF]|ADDR [COUNT]",
		"instructions as the probe engine sees them", cmd_dis);
