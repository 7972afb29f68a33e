/* SPDX-License-Identifier: MIT */
/*
 * Our decoder against decoders that nobody here wrote. One program per machine:
 * main.c and the other common files, with the machine's own file, which knows
 * its referees, how to make up byte strings, and how to name encodings.
 *
 * A referee gives a verdict about some bytes; compare.c says how it differs
 * from ours; known.c says whether the difference is explained: by a line of
 * MACHINE.known with its reason and manual reference.
 */
#ifndef SONDE_TESTS_REFEREE_H
#define SONDE_TESTS_REFEREE_H

#include <arch/insn.h>

/* How a verdict differs from ours; the names are those of the .known files. */
enum difference {
	SAME,
	DIFF_REJECTS, /* we accept */
	DIFF_ACCEPTS, /* we reject */
	DIFF_LENGTH,
	DIFF_CLASS,
	DIFF_TARGET,
	DIFF_FIELD, /* place of displacement or immediate */
	DIFFERENCES
};

struct verdict {
	bool valid;
	bool has_target;
	bool has_fields;
	u8 len;
	u8 disp_off, imm_off; /* 0: none */
	u32 knows;	      /* the enum insn_flag that it can tell apart */
	u32 flags;	      /* of these, those that it sees */
	u64 target;
};

struct referee {
	const char *name;
	/* For every instruction of a file; fills all of the verdict. */
	void (*judge)(const u8 *bytes, size_t avail, u64 pc, struct verdict *v);
	/* Fastest way to the length alone, 0 if invalid; NULL: not offered. */
	unsigned (*length)(const u8 *bytes, size_t avail, u64 pc);
	const char *length_name;
};

struct rng {
	u64 state;
};

static inline u64 rng_next(struct rng *rng)
{
	rng->state ^= rng->state >> 12;
	rng->state ^= rng->state << 25;
	rng->state ^= rng->state >> 27;
	return rng->state * 0x2545f4914f6cdd1dull;
}

/* Encodings, as a line of the .known file describes them. */
struct pattern {
	u8 referee; /* index; known.c */
	u8 difference;
	bool used;
	/* The rest is the machine's. ppc64: */
	u8 conditions;
	u8 ops[192];	 /* a bit per line of the map */
	u32 mask, value; /* of first words */
	/* x86_64: */
	u16 space, prefixes, no_prefixes;
	u32 key;
	u8 opcodes[32];
};

struct machine {
	const char *name;
	unsigned elf_machine;
	unsigned step; /* bytes to skip where nothing decodes */
	const struct referee *referees;
	unsigned referee_count;
	void (*open)(bool big_endian);
	/* Makes up an instruction; returns how many bytes of @bytes[16]. */
	size_t (*random)(struct rng *rng, u8 *bytes);
	/* One word of a .known line: false if it means nothing. */
	bool (*pattern_word)(struct pattern *pattern, const char *word);
	/* @bytes: at least 16 of them. */
	bool (*pattern_match)(const struct pattern *pattern,
			      const struct insn *insn, const u8 *bytes);
	/* objdump's program and options, and what its text says of an insn. */
	const char *objdump;
	/* With options for a file of words; NULL: random strings do not fit. */
	const char *objdump_raw;
	void (*objdump_class)(const char *text, struct verdict *v);
};

extern const struct machine machine;

/* elf.c: executable sections. The file stays mapped. */
struct code {
	const char *section;
	const u8 *bytes;
	size_t size;
	u64 va;
};

struct elf_file {
	const char *path;
	bool big_endian;
	unsigned count;
	struct code code[64];
};

/* 0; -ENOENT: no such file; -EINVAL: not an ELF file of this machine. */
int elf_open(struct elf_file *elf, const char *path);

/* objdump.c: the program run over one section, as a stream of verdicts. */
struct objdump;
struct objdump *objdump_open(const struct elf_file *elf,
			     const struct code *code);
/* The same over a whole file of bytes, with machine.objdump_raw. */
struct objdump *objdump_open_raw(const char *path);
/* The instruction at @pc; false if objdump has none that begins there. */
bool objdump_next(struct objdump *dump, u64 pc, struct verdict *v);
void objdump_close(struct objdump *dump);

/* known.c */
int known_load(const char *path);
bool known(unsigned referee, enum difference difference,
	   const struct insn *insn, const u8 *bytes);
const char *difference_name(enum difference difference);
/* Lines that nothing matched, for --unused. */
void known_print_unused(void);

#define REFEREE_OBJDUMP machine.referee_count /* index after the others */

/* compare.c */
enum difference compare(const struct insn *insn, int error,
			const struct verdict *v);
/* Compares, counts, and prints the first of each kind. */
void report(unsigned referee, const struct insn *insn, int error,
	    const struct verdict *v, const u8 *bytes);
extern unsigned long mismatches, explained;
extern unsigned print_limit;

#endif
