// SPDX-License-Identifier: MIT
/*
 * x86_64's referees: Zydis and Capstone, and objdump for files. Also the words
 * of x86_64.known, which are those of arch/x86_64/insn.map: a space's name,
 * op=00-0f, np 66 f3 f2 w0 w1 l0 l1 l2 l3 mem reg /0-7 rm=0-7, and +lock +rep
 * +repne +opsize +addrsize +seg +rex for a prefix that is there, -lock ... for
 * one that is not; mvex for Knights Corner's version of EVEX, deadrex for a REX
 * before another prefix.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <Zydis/Zydis.h>
#include <capstone/capstone.h>
#include "referee.h"

static ZydisDecoder zydis, zydis_minimal;
static csh capstone, capstone_plain;
static cs_insn *cs_detailed, *cs_short;

static void open_referees(bool big_endian)
{
	(void)big_endian;
	if (cs_detailed)
		return;
	ZydisDecoderInit(&zydis, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
	zydis_minimal = zydis;
	ZydisDecoderEnableMode(&zydis_minimal, ZYDIS_DECODER_MODE_MINIMAL, 1);
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &capstone) ||
	    cs_open(CS_ARCH_X86, CS_MODE_64, &capstone_plain))
		exit(2);
	cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON);
	cs_detailed = cs_malloc(capstone);
	cs_short = cs_malloc(capstone_plain);
}

/* Zydis ---------------------------------------------------------------------*/

#define CONTROL                                                          \
	(INSN_BRANCH_REL | INSN_COND | INSN_CALL | INSN_RET | INSN_FAR | \
	 INSN_SYSCALL | INSN_SYSRET)

static u32 zydis_category_flags(const ZydisDecodedInstruction *z)
{
	switch (z->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return INSN_CALL;
	case ZYDIS_CATEGORY_COND_BR:
		return z->mnemonic == ZYDIS_MNEMONIC_XEND ? 0 : INSN_COND;
	case ZYDIS_CATEGORY_RET:
		return INSN_RET;
	case ZYDIS_CATEGORY_SYSCALL:
		return INSN_SYSCALL;
	case ZYDIS_CATEGORY_SYSRET:
		return INSN_SYSRET;
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
		return INSN_IO;
	default:
		return 0;
	}
}

static void zydis_judge(const u8 *bytes, size_t avail, u64 pc,
			struct verdict *v)
{
	ZydisDecodedInstruction z;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&zydis, ZYAN_NULL,
							bytes, avail, &z)))
		return;
	v->valid = true;
	v->len = z.length;
	v->has_fields = true;
	v->disp_off = z.raw.disp.size ? z.raw.disp.offset : 0;
	v->imm_off = z.raw.imm[0].size ? z.raw.imm[0].offset : 0;
	if (!(z.attributes & ZYDIS_ATTRIB_HAS_MODRM) && v->disp_off) {
		v->imm_off = v->disp_off; /* mov moffs */
		v->disp_off = 0;
	}
	v->knows = CONTROL | INSN_IO | INSN_PRIV;
	v->flags = zydis_category_flags(&z);
	if (z.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED)
		v->flags |= INSN_PRIV;
	if (z.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		v->flags |= INSN_FAR;
	if (z.raw.imm[0].is_relative) {
		v->flags |= INSN_BRANCH_REL;
		v->has_target = true;
		v->target = pc + z.length + z.raw.imm[0].value.s;
	} else if (z.raw.disp.size == 32 && z.raw.modrm.mod == 0 &&
		   z.raw.modrm.rm == 5 &&
		   z.meta.category != ZYDIS_CATEGORY_NOP &&
		   z.meta.category != ZYDIS_CATEGORY_WIDENOP &&
		   z.meta.category != ZYDIS_CATEGORY_CLDEMOTE &&
		   z.meta.category != ZYDIS_CATEGORY_PREFETCH) {
		v->has_target = true;
		v->target = pc + z.length + z.raw.disp.value;
		if (z.address_width == 32)
			v->target = (u32)v->target;
	}
}

static unsigned zydis_length(const u8 *bytes, size_t avail, u64 pc)
{
	ZydisDecodedInstruction z;

	(void)pc;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
		    &zydis_minimal, ZYAN_NULL, bytes, avail, &z)))
		return 0;
	return z.length;
}

/* Capstone ------------------------------------------------------------------*/

static void capstone_judge(const u8 *bytes, size_t avail, u64 pc,
			   struct verdict *v)
{
	const u8 *at = bytes;
	uint64_t va = pc;
	const cs_x86 *x86 = &cs_detailed->detail->x86;

	if (!cs_disasm_iter(capstone, &at, &avail, &va, cs_detailed))
		return;
	v->valid = true;
	v->len = cs_detailed->size;
	v->knows = INSN_BRANCH_REL | INSN_CALL | INSN_RET;
	for (unsigned i = 0; i < cs_detailed->detail->groups_count; i++) {
		switch (cs_detailed->detail->groups[i]) {
		case CS_GRP_CALL:
			v->flags |= INSN_CALL;
			break;
		case CS_GRP_RET:
		case CS_GRP_IRET:
			v->flags |= INSN_RET;
			break;
		case CS_GRP_BRANCH_RELATIVE:
			v->flags |= INSN_BRANCH_REL;
			v->has_target = x86->operands[0].type == X86_OP_IMM;
			v->target = x86->operands[0].imm;
			break;
		}
	}
}

static unsigned capstone_length(const u8 *bytes, size_t avail, u64 pc)
{
	const u8 *at = bytes;
	uint64_t va = pc;

	if (!cs_disasm_iter(capstone_plain, &at, &avail, &va, cs_short))
		return 0;
	return cs_short->size;
}

/* objdump -------------------------------------------------------------------*/

/* Past words that are prefixes. */
static const char *mnemonic(const char *text)
{
	static const char *const prefixes[] = {
		"rep ",	    "repz ",   "repnz ",    "lock ",
		"data16 ",  "addr32 ", "cs ",	    "ds ",
		"es ",	    "fs ",     "gs ",	    "ss ",
		"notrack ", "bnd ",    "xacquire ", "xrelease ",
	};
	unsigned i = 0;

	while (i < ARRAY_SIZE(prefixes)) {
		size_t n = strlen(prefixes[i]);

		if (!strncmp(text, prefixes[i], n)) {
			text += n;
			i = 0;
		} else if (!strncmp(text, "rex", 3) && strchr(text, ' ')) {
			text = strchr(text, ' ') + 1;
			i = 0;
		} else {
			i++;
		}
	}
	return text;
}

static void objdump_class(const char *text, struct verdict *v)
{
	const char *word = mnemonic(text);
	const char *operand = word + strcspn(word, " ");
	bool direct;

	v->valid = !strstr(text, "(bad)");
	operand += strspn(operand, " ");
	direct = *operand && *operand != '*';
	v->knows = INSN_BRANCH_REL | INSN_COND | INSN_CALL | INSN_RET;
	if (!strncmp(word, "call", 4) || !strncmp(word, "lcall", 5))
		v->flags = INSN_CALL;
	else if (!strncmp(word, "ret", 3) || !strncmp(word, "lret", 4) ||
		 !strncmp(word, "iret", 4))
		v->flags = INSN_RET;
	else if (!strncmp(word, "loop", 4) || !strncmp(word, "xbegin", 6) ||
		 (*word == 'j' && strncmp(word, "jmp", 3)))
		v->flags = INSN_COND;
	else if (strncmp(word, "jmp", 3))
		return;
	if (direct && !(v->flags & INSN_RET)) {
		v->flags |= INSN_BRANCH_REL;
		v->has_target = true;
		v->target = strtoull(operand, NULL, 16);
	}
}

/* Random strings ------------------------------------------------------------*/

/* True in @percent of 100 cases. */
static bool often(struct rng *rng, unsigned percent)
{
	return (rng_next(rng) >> 40) % 100 < percent;
}

static u8 pick(struct rng *rng, const char *from)
{
	return from[(rng_next(rng) >> 40) % strlen(from)];
}

static u8 byte(struct rng *rng)
{
	return rng_next(rng) >> 32;
}

static u8 *random_prefixes(struct rng *rng, u8 *at)
{
	unsigned n = often(rng, 40) ? 1 + byte(rng) % 3 : 0;

	if (often(rng, 1))
		n = byte(rng) % 16;
	while (n--)
		*at++ = pick(rng,
			     "\x66\x67\xf2\xf3\xf0\x2e\x3e\x65\x66\xf3\x48");
	return at;
}

static u8 *random_vex(struct rng *rng, u8 *at, u8 first, unsigned map)
{
	u8 vvvv = often(rng, 60) ? 0x78 : byte(rng) & 0x78;
	u8 rxb = often(rng, 60) ? 0xe0 : byte(rng) & 0xe0;

	*at++ = first;
	if (first == 0xc5) {
		*at++ = (rxb & 0x80) | vvvv | (byte(rng) & 7);
		return at;
	}
	*at++ = rxb | map;
	*at++ = vvvv | (byte(rng) & 0x87);
	return at;
}

static u8 *random_evex(struct rng *rng, u8 *at)
{
	u8 p0 = (byte(rng) & 0xf0) | pick(rng, "\1\1\2\2\2\3\3\5\6");
	u8 p1 = (byte(rng) & 0x87) | 4;
	u8 p2 = byte(rng);

	if (often(rng, 75))
		p0 |= 0x10;
	if (often(rng, 70))
		p0 |= 0xe0;
	if (often(rng, 5))
		p0 ^= 1 << byte(rng) % 4;
	p1 |= often(rng, 60) ? 0x78 : byte(rng) & 0x78;
	if (often(rng, 2))
		p1 &= ~4;
	if (often(rng, 75))
		p2 |= 8;
	if (often(rng, 60))
		p2 &= ~7;
	if (often(rng, 70))
		p2 &= ~0x80;
	if (often(rng, 60))
		p2 &= ~0x10;
	*at++ = 0x62;
	*at++ = p0;
	*at++ = p1;
	*at++ = p2;
	return at;
}

static size_t random_bytes(struct rng *rng, u8 *bytes)
{
	u8 buffer[40], *at = random_prefixes(rng, buffer);
	unsigned kind = byte(rng) % 100;

	for (unsigned i = 0; i < sizeof(buffer); i++)
		if (buffer + i >= at)
			buffer[i] = byte(rng);
	if (kind < 60 && often(rng, 40))
		*at++ = 0x40 | (byte(rng) & 15);
	if (kind < 20)
		;
	else if (kind < 35)
		*at++ = 0x0f;
	else if (kind < 45)
		*at++ = 0x0f, *at++ = 0x38;
	else if (kind < 55)
		*at++ = 0x0f, *at++ = 0x3a;
	else if (kind < 58)
		*at++ = 0x0f, *at++ = 0x0f;
	else if (kind >= 60 && kind < 65)
		at = random_vex(rng, at, 0xc5, 1);
	else if (kind >= 65 && kind < 77)
		at = random_vex(rng, at, 0xc4, 1 + byte(rng) % 3);
	else if (kind >= 77 && kind < 80)
		at = random_vex(rng, at, 0x8f, 8 + byte(rng) % 3);
	else if (kind >= 80 && kind < 98)
		at = random_evex(rng, at);
	memcpy(bytes, buffer, 16);
	return often(rng, 95) ? 16 : byte(rng) % 17;
}

/* x86_64.known --------------------------------------------------------------*/

/* The places of a form mask: see tools/insn_gen/x86_64.py. */
static const struct {
	const char *word;
	unsigned low, bit;
} key_words[] = {
	{ "np", 0, 0 }, { "66", 0, 1 }, { "f3", 0, 2 },	   { "f2", 0, 3 },
	{ "w0", 4, 4 }, { "w1", 4, 5 }, { "l0", 6, 6 },	   { "l1", 6, 7 },
	{ "l2", 6, 8 }, { "l3", 6, 9 }, { "mem", 10, 10 }, { "reg", 10, 11 },
};

static const char *const spaces[] = {
	"legacy", "0f",	   "0f38",  "0f3a",  "3dnow", "vex1",
	"vex2",	  "vex3",  "vex4",  "evex1", "evex2", "evex3",
	"evex4",  "evex5", "evex6", "xop8",  "xop9",  "xop10",
};

static const char *const prefix_words[] = {
	"opsize", "addrsize", "lock", "repne", "rep", "seg", "rex",
};

static bool parse_numbers(const char *text, int base,
			  void (*set)(struct pattern *, unsigned),
			  struct pattern *p)
{
	char *end;

	for (;; text = end + 1) {
		unsigned first = strtoul(text, &end, base), last = first;

		if (end == text)
			return false;
		if (*end == '-')
			last = strtoul(end + 1, &end, base);
		for (; first <= last; first++)
			set(p, first);
		if (*end != ',')
			return !*end;
	}
}

static void set_opcode(struct pattern *p, unsigned n)
{
	p->opcodes[n / 8 % 32] |= 1 << n % 8;
}

static void set_reg(struct pattern *p, unsigned n)
{
	p->key |= 1u << (12 + n % 8);
}

static void set_rm(struct pattern *p, unsigned n)
{
	p->key |= 1u << (20 + n % 8);
}

static bool pattern_word(struct pattern *p, const char *word)
{
	if (!strcmp(word, "mvex") || !strcmp(word, "deadrex")) {
		p->value = word[0];
		return true;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(spaces); i++) {
		if (!strcmp(word, spaces[i])) {
			p->space = i + 1;
			return true;
		}
	}
	for (unsigned i = 0; i < ARRAY_SIZE(key_words); i++) {
		if (!strcmp(word, key_words[i].word)) {
			p->key |= 1u << key_words[i].bit;
			return true;
		}
	}
	for (unsigned i = 0; i < ARRAY_SIZE(prefix_words); i++) {
		if (strcmp(word + 1, prefix_words[i]))
			continue;
		if (*word == '+')
			p->prefixes |= 1 << i;
		else
			p->no_prefixes |= 1 << i;
		return *word == '+' || *word == '-';
	}
	if (!strncmp(word, "op=", 3))
		return parse_numbers(word + 3, 16, set_opcode, p);
	if (!strncmp(word, "rm=", 3))
		return parse_numbers(word + 3, 10, set_rm, p);
	if (*word == '/')
		return parse_numbers(word + 1, 10, set_reg, p);
	return false;
}

/* What the bytes are, whether the decoder came that far or not. */
static u32 key_of(const struct insn *insn, const u8 *bytes)
{
	const struct arch_insn *a = &insn->arch;
	unsigned op = min(a->opcode_off, 14), l = 0;
	u8 modrm = bytes[op + 1];
	unsigned w = a->rex >> 3, pp = 0;

	if (a->space == X86_3DNOW)
		modrm = a->modrm;
	if (a->space >= X86_EVEX + 1 && a->space <= X86_EVEX + 6) {
		pp = bytes[op - 2] & 3;
		l = bytes[op - 1] >> 5 & 3;
	} else if (a->space > X86_3DNOW) {
		pp = bytes[op - 1] & 3;
		l = bytes[op - 1] >> 2 & 1;
	} else {
		for (unsigned i = 0; i < op; i++)
			if (bytes[i] == 0xf2 || bytes[i] == 0xf3)
				pp = bytes[i] == 0xf2 ? 3 : 2;
		if (!pp && a->prefixes & X86_P_OPSIZE)
			pp = 1;
	}
	return 1u << pp | 1u << (4 + w) | 1u << (6 + l) |
	       1u << (10 + (modrm >= 0xc0)) | 1u << (12 + (modrm >> 3 & 7)) |
	       1u << (20 + (modrm & 7));
}

static bool is_prefix(u8 b)
{
	return (b & 0xf0) == 0x40 ||
	       (b && strchr("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3", b));
}

/* 62 with a clear bit 2 in its third byte, at the opcode's place. */
static bool is_mvex(const u8 *bytes)
{
	unsigned at = 0;

	while (at < 13 && is_prefix(bytes[at]))
		at++;
	return bytes[at] == 0x62 && !(bytes[at + 2] & 4);
}

/* A REX before another prefix, which makes it mean nothing. */
static bool has_dead_rex(const u8 *bytes)
{
	for (unsigned at = 0; at < 14 && is_prefix(bytes[at]); at++)
		if ((bytes[at] & 0xf0) == 0x40 && is_prefix(bytes[at + 1]))
			return true;
	return false;
}

static bool pattern_match(const struct pattern *p, const struct insn *insn,
			  const u8 *bytes)
{
	static const u32 fields[] = { 0xf,   0x30,    0x3c0,
				      0xc00, 0xff000, 0xff00000 };
	const struct arch_insn *a = &insn->arch;
	bool any_opcode = true;
	u32 key;

	if (p->value)
		return p->value == 'm' ? is_mvex(bytes) : has_dead_rex(bytes);
	if (p->space && p->space != a->space + 1)
		return false;
	if ((a->prefixes & p->prefixes) != p->prefixes ||
	    a->prefixes & p->no_prefixes)
		return false;
	for (unsigned i = 0; i < sizeof(p->opcodes); i++)
		any_opcode &= !p->opcodes[i];
	if (!any_opcode && !(p->opcodes[a->opcode / 8] >> a->opcode % 8 & 1))
		return false;
	key = key_of(insn, bytes);
	for (unsigned i = 0; i < ARRAY_SIZE(fields); i++)
		if (p->key & fields[i] && !(p->key & fields[i] & key))
			return false;
	return true;
}

static const struct referee referees[] = {
	{ "zydis", zydis_judge, zydis_length, "zydis (minimal)" },
	{ "capstone", capstone_judge, capstone_length, "capstone" },
};

const struct machine machine = {
	.name = "x86_64",
	.elf_machine = EM_X86_64,
	.step = 1,
	.referees = referees,
	.referee_count = ARRAY_SIZE(referees),
	.open = open_referees,
	.random = random_bytes,
	.pattern_word = pattern_word,
	.pattern_match = pattern_match,
	.objdump = "objdump",
	.objdump_class = objdump_class,
};
