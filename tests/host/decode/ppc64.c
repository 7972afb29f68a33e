// SPDX-License-Identifier: MIT
/*
 * ppc64's referees: Capstone, which knows Power ISA 2.07, and objdump. Words of
 * ppc64.known are
 *
 *	NAME		of a line of arch/ppc64/insn.map; several: any of them
 *	all		any line of the map
 *	VALUE/MASK	hexadecimal: only where the first word has these bits; by
 *			itself for what is not in the map
 *	reserved	only where reserved bits are set
 *	valid		only where none is
 *
 * A word that we reject goes by the line it would match without its reserved
 * bits and without check=.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <capstone/capstone.h>
#include "referee.h"

struct insn_name {
	const char *name;
	u32 mask, value, reserved; /* mask without the last bits of pairs */
	u32 prefix_mask, prefix_value, prefix_reserved;
};

#define PPC_INSN_NAMES
#include <gen/insn_table.h>

static csh capstone;
static cs_insn *cs_short;

static void open_referees(bool big_endian)
{
	insn_text_little = !big_endian;
	if (capstone)
		cs_close(&capstone);
	if (cs_open(CS_ARCH_PPC,
		    CS_MODE_64 | (big_endian ? CS_MODE_BIG_ENDIAN
					     : CS_MODE_LITTLE_ENDIAN),
		    &capstone))
		exit(2);
	cs_short = cs_malloc(capstone);
}

/* What a disassembler's text says of an instruction ---------------------------*/

#define KNOWS                                                                  \
	(INSN_BRANCH_REL | INSN_COND | INSN_CALL | INSN_RET | INSN_INDIRECT |  \
	 INSN_LOOP | INSN_SYSCALL | INSN_SYSRET | INSN_TRAP | INSN_EXCL_LOAD | \
	 INSN_EXCL_STORE | INSN_LR_READ | INSN_LR_WRITE | INSN_PC_READ)

static bool starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool ends(const char *text, const char *with)
{
	size_t n = strlen(text), m = strlen(with);

	return n >= m && !strcmp(text + n - m, with);
}

/* Mnemonics that say all; a final '*' stands for any rest. */
static const struct {
	const char *name;
	u32 flags;
} mnemonics[] = {
	{ "sc", INSN_SYSCALL },	       { "scv", INSN_SYSCALL },
	{ "rfid", INSN_SYSRET },       { "hrfid", INSN_SYSRET },
	{ "urfid", INSN_SYSRET },      { "rfscv", INSN_SYSRET },
	{ "rfebb", INSN_SYSRET },      { "tw*", INSN_TRAP },
	{ "td*", INSN_TRAP },	       { "trap", INSN_TRAP },
	{ "hashchk*", INSN_TRAP },     { "lbarx", INSN_EXCL_LOAD },
	{ "lharx", INSN_EXCL_LOAD },   { "lwarx", INSN_EXCL_LOAD },
	{ "ldarx", INSN_EXCL_LOAD },   { "lqarx", INSN_EXCL_LOAD },
	{ "stbcx.", INSN_EXCL_STORE }, { "sthcx.", INSN_EXCL_STORE },
	{ "stwcx.", INSN_EXCL_STORE }, { "stdcx.", INSN_EXCL_STORE },
	{ "stqcx.", INSN_EXCL_STORE }, { "mflr", INSN_LR_READ },
	{ "mtlr", INSN_LR_WRITE },     { "addpcis", INSN_PC_READ },
	{ "subpcis", INSN_PC_READ },   { "lnia", INSN_PC_READ },
	{ "pla", INSN_PC_READ },
};

static bool is_branch(const char *name)
{
	return name[0] == 'b' && !starts(name, "bcd") &&
	       !starts(name, "bperm") && strcmp(name, "brh") &&
	       strcmp(name, "brw") && strcmp(name, "brd") &&
	       strcmp(name, "brinc");
}

/* "bdnzf", "beqlrl", "bcctr": stem, where to, link and absolute. */
static void branch_class(char *name, const char *operands, struct verdict *v)
{
	static const char *const registers[] = { "lr", "ctr", "tar" };
	const char *last = strrchr(operands, ',');
	unsigned long bo = strtoul(operands, NULL, 0);
	int where = -1;

	name[strcspn(name, "+-")] = '\0';
	for (int i = 0; i < 3; i++) {
		char *at = strstr(name + 1, registers[i]);

		if (at && (!at[strlen(registers[i])] ||
			   !strcmp(at + strlen(registers[i]), "l"))) {
			where = i;
			if (at[strlen(registers[i])])
				v->flags = INSN_CALL | INSN_LR_WRITE;
			*at = '\0';
			break;
		}
	}
	if (where < 0) {
		if (ends(name, "a") && strlen(name) > 1)
			name[strlen(name) - 1] = '\0';
		if (ends(name, "l") && strlen(name) > 1) {
			name[strlen(name) - 1] = '\0';
			v->flags = INSN_CALL | INSN_LR_WRITE;
		}
		v->flags |= INSN_BRANCH_REL;
		v->has_target = true;
		v->target = strtoull(last ? last + 1 : operands, NULL, 16);
	} else if (where == 0) {
		v->flags |= INSN_LR_READ;
		v->flags |= v->flags & INSN_CALL ? INSN_INDIRECT : INSN_RET;
	} else {
		v->flags |= INSN_INDIRECT;
	}
	if (!strcmp(name, "bc")) {
		v->flags |= (bo & 0x14) == 0x14 ? 0 : INSN_COND;
		v->flags |= bo & 4 ? 0 : INSN_LOOP;
	} else if (strcmp(name, "b")) {
		v->flags |= INSN_COND;
		v->flags |= name[1] == 'd' ? INSN_LOOP : 0;
	}
}

static void text_class(const char *text, struct verdict *v)
{
	size_t length = strcspn(text, " \t");
	const char *operands = text + length + strspn(text + length, " \t");
	char name[24] = { 0 };

	memcpy(name, text, min(length, sizeof(name) - 1));
	v->valid = name[0] != '.';
	v->knows = KNOWS;
	if (is_branch(name)) {
		branch_class(name, operands, v);
		return;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(mnemonics); i++) {
		const char *want = mnemonics[i].name;
		size_t n = strlen(want);

		if (ends(want, "*") ? !strncmp(name, want, n - 1)
				    : !strcmp(name, want))
			v->flags = mnemonics[i].flags;
	}
}

static void capstone_judge(const u8 *bytes, size_t avail, u64 pc,
			   struct verdict *v)
{
	uint64_t va = pc;
	char text[sizeof(cs_short->mnemonic) + sizeof(cs_short->op_str) + 1];

	if (!cs_disasm_iter(capstone, &bytes, &avail, &va, cs_short))
		return;
	snprintf(text, sizeof(text), "%s %s", cs_short->mnemonic,
		 cs_short->op_str);
	text_class(text, v);
	v->len = cs_short->size;
}

static unsigned capstone_length(const u8 *bytes, size_t avail, u64 pc)
{
	uint64_t va = pc;

	if (!cs_disasm_iter(capstone, &bytes, &avail, &va, cs_short))
		return 0;
	return cs_short->size;
}

/* Random words ---------------------------------------------------------------*/

/*
 * Half from the map, so that no line is rare, some with a bit flipped; half
 * from anywhere.
 */
static size_t random_words(struct rng *rng, u8 *bytes)
{
	u64 r = rng_next(rng);
	u32 word = rng_next(rng) >> 16, prefix = rng_next(rng) >> 16;
	u32 flip = r >> 20 & 3 ? 0 : 1u << (r >> 22 & 31);
	const struct insn_name *row;

	if (r & 1) {
		insn_word_put(bytes, word);
		return 4;
	}
	row = &insn_names[1 + (r >> 32) % (PPC_OP_COUNT - 1)];
	word = ((word & ~row->mask) | row->value) ^ flip;
	if (!row->prefix_mask) {
		insn_word_put(bytes, word);
		return 4;
	}
	prefix = (prefix & ~row->prefix_mask) | row->prefix_value;
	insn_word_put(bytes, prefix);
	insn_word_put(bytes + 4, word);
	return 8;
}

/* ppc64.known ----------------------------------------------------------------*/

enum { ONLY_RESERVED = 1, ONLY_VALID = 2, ALL = 4, NAMED = 8 };

static bool pattern_word(struct pattern *p, const char *word)
{
	char *end;

	if (!strcmp(word, "reserved"))
		p->conditions |= ONLY_RESERVED;
	else if (!strcmp(word, "valid"))
		p->conditions |= ONLY_VALID;
	else if (!strcmp(word, "all"))
		p->conditions |= ALL;
	else if (strchr(word, '/')) {
		p->value = strtoul(word, &end, 16);
		p->mask = strtoul(end + 1, &end, 16);
		return !*end;
	} else {
		for (unsigned op = 1; op < PPC_OP_COUNT; op++) {
			if (strcmp(word, insn_names[op].name))
				continue;
			p->ops[op / 8] |= 1 << op % 8;
			p->conditions |= NAMED;
			return true;
		}
		return false;
	}
	return true;
}

/* The line that the words match but for reserved bits. */
static unsigned nearest(u32 first, u32 second)
{
	for (unsigned op = PPC_OP_COUNT - 1; op; op--) {
		const struct insn_name *n = &insn_names[op];
		u32 word = n->prefix_mask ? second : first;

		if (n->prefix_mask && ((first ^ n->prefix_value) &
				       n->prefix_mask & ~n->prefix_reserved))
			continue;
		if (!((word ^ n->value) & n->mask & ~n->reserved))
			return op;
	}
	return PPC_NONE;
}

static bool pattern_match(const struct pattern *p, const struct insn *insn,
			  const u8 *bytes)
{
	u32 first = insn_word_get(bytes), second = insn_word_get(bytes + 4);
	unsigned op = insn->arch.op;
	const struct insn_name *n;
	bool reserved;

	if ((first & p->mask) != p->value)
		return false;
	if (!(p->conditions & (ALL | NAMED)))
		return true;
	if (!op)
		op = nearest(first, second);
	if (!op || !(p->conditions & ALL || p->ops[op / 8] >> op % 8 & 1))
		return false;
	n = &insn_names[op];
	reserved = n->prefix_mask ? (first & n->prefix_reserved) |
					    (second & n->reserved)
				  : first & n->reserved;
	return reserved ? !(p->conditions & ONLY_VALID)
			: !(p->conditions & ONLY_RESERVED);
}

static const struct referee referees[] = {
	{ "capstone", capstone_judge, capstone_length, "capstone" },
};

const struct machine machine = {
	.name = "ppc64",
	.elf_machine = EM_PPC64,
	.step = 4,
	.referees = referees,
	.referee_count = ARRAY_SIZE(referees),
	.open = open_referees,
	.random = random_words,
	.pattern_word = pattern_word,
	.pattern_match = pattern_match,
	.objdump = "powerpc64-linux-gnu-objdump -M power10",
	.objdump_raw = "powerpc64-linux-gnu-objdump -M power10"
		       " -b binary -m powerpc:common64 -EB",
	.objdump_class = text_class,
};
