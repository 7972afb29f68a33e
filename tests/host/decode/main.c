// SPDX-License-Identifier: MIT
/*
 * decode-MACHINE [-r N] [-s SEED] [-p LINES] [-u] KNOWN FILE...
 *
 * Decodes every executable section of the files that are of this machine, and
 * N random byte strings, and compares with the referees. -p: how many
 * differences to print; -u: explained differences that did not occur.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "referee.h"

static unsigned passed, failed;

static void conclude(const char *what, const char *unit, unsigned long n)
{
	printf("decode %s %lu %s, %lu mismatches (%lu explained)\n", what, n,
	       unit, mismatches, explained);
	fflush(stdout);
	if (mismatches || !n)
		failed++;
	else
		passed++;
	mismatches = explained = 0;
}

/* Decodes at @bytes; pattern matching may look at 16 bytes in any case. */
static unsigned judge_one(const u8 *bytes, size_t avail, u64 pc,
			  struct objdump *dump, struct insn *insn)
{
	struct verdict v;
	int error = arch_insn_decode(insn, bytes, avail, pc);
	u8 copy[16] = { 0 };

	memcpy(copy, bytes, min(avail, sizeof(copy)));
	for (unsigned i = 0; i < machine.referee_count; i++) {
		v = (struct verdict){ 0 };
		machine.referees[i].judge(bytes, avail, pc, &v);
		report(i, insn, error, &v, copy);
	}
	if (dump && objdump_next(dump, pc, &v))
		report(REFEREE_OBJDUMP, insn, error, &v, copy);
	return error ? machine.step : insn->len;
}

static unsigned long judge_section(const struct elf_file *elf,
				   const struct code *code)
{
	struct objdump *dump = objdump_open(elf, code);
	unsigned long n = 0;
	struct insn insn;

	for (size_t at = 0; at < code->size; n++)
		at += judge_one(code->bytes + at, code->size - at,
				code->va + at, dump, &insn);
	objdump_close(dump);
	return n;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Time per instruction, for us and for whoever offers the length alone. */
static void print_speed(const struct elf_file *elf)
{
	const struct code *code = elf->code, *big = code;
	unsigned *at, n = 0;
	struct insn insn;
	double start;

	for (unsigned i = 0; i < elf->count; i++)
		if (code[i].size > big->size)
			big = &code[i];
	at = malloc(big->size / machine.step * sizeof(*at));
	for (size_t pos = 0; pos < big->size; n++) {
		int error = arch_insn_decode(&insn, big->bytes + pos,
					     big->size - pos, 0);

		at[n] = pos;
		pos += error ? machine.step : insn.len;
	}
	start = now();
	for (unsigned i = 0; i < n; i++)
		if (arch_insn_decode(&insn, big->bytes + at[i],
				     big->size - at[i], big->va + at[i]))
			continue;
	printf("speed %s %s: ours %.1f", elf->path, big->section,
	       (now() - start) / n);
	for (unsigned r = 0; r < machine.referee_count; r++) {
		const struct referee *referee = &machine.referees[r];
		unsigned sum = 0;

		if (!referee->length)
			continue;
		start = now();
		for (unsigned i = 0; i < n; i++)
			sum += referee->length(big->bytes + at[i],
					       big->size - at[i],
					       big->va + at[i]);
		printf(", %s %.1f", sum ? referee->length_name : "nothing",
		       (now() - start) / n);
	}
	printf(" ns per instruction\n");
	free(at);
}

static void judge_file(const char *path, size_t *largest,
		       struct elf_file *speed)
{
	struct elf_file elf;
	unsigned long n = 0;
	size_t size = 0;
	int error = elf_open(&elf, path);

	if (error) {
		if (error == -ENOENT)
			printf("# %s: not there\n", path);
		return;
	}
	machine.open(elf.big_endian);
	for (unsigned i = 0; i < elf.count; i++) {
		n += judge_section(&elf, &elf.code[i]);
		size += elf.code[i].size;
	}
	conclude(path, "instructions", n);
	if (size > *largest) {
		*largest = size;
		*speed = elf;
	}
}

/*
 * Strings one behind the other, in a file, so that objdump sees them too: for
 * machines on which every decoder finds the same boundaries again.
 */
static void judge_random_file(unsigned long n, struct rng *rng)
{
	char path[] = "/tmp/decode-XXXXXX";
	u8 *bytes = malloc(16 * n + 16);
	int fd = mkstemp(path);
	struct objdump *dump;
	struct insn insn;
	size_t size = 0;
	FILE *file;

	for (unsigned long i = 0; i < n; i++)
		size += machine.random(rng, bytes + size);
	file = fdopen(fd, "w");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file))
		exit(2);
	dump = objdump_open_raw(path);
	for (size_t at = 0; at < size;)
		at += judge_one(bytes + at, size - at, at, dump, &insn);
	objdump_close(dump);
	unlink(path);
	free(bytes);
}

static void judge_random(unsigned long n, u64 seed)
{
	struct rng rng = { seed * 0x9e3779b97f4a7c15ull | 1 };
	struct insn insn;
	u8 bytes[16];

	machine.open(true);
	if (machine.objdump_raw)
		judge_random_file(n, &rng);
	else
		for (unsigned long i = 0; i < n; i++) {
			size_t avail = machine.random(&rng, bytes);

			judge_one(bytes, avail, 0x400000, NULL, &insn);
		}
	conclude("random", "strings", n);
}

int main(int argc, char **argv)
{
	unsigned long strings = 0, seed = 1;
	struct elf_file speed = { 0 };
	size_t largest = 0;
	bool unused = false;
	int option;

	while ((option = getopt(argc, argv, "r:s:p:u")) > 0) {
		if (option == 'r')
			strings = strtoul(optarg, NULL, 0);
		else if (option == 's')
			seed = strtoul(optarg, NULL, 0);
		else if (option == 'p')
			print_limit = strtoul(optarg, NULL, 0);
		else if (option == 'u')
			unused = true;
		else
			return 2;
	}
	if (optind == argc || known_load(argv[optind]))
		return 2;
	for (int i = optind + 1; i < argc; i++)
		judge_file(argv[i], &largest, &speed);
	if (strings)
		judge_random(strings, seed);
	if (largest)
		print_speed(&speed);
	if (unused)
		known_print_unused();
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}
