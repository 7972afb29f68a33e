// SPDX-License-Identifier: MIT
/*
 * objdump's lines, with what the probe engine sees: class, and how a probe can
 * run the instruction. Built by tools/dis for the machine of the file.
 *
 *	annotate big|little <objdump's output
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arch/insn.h>
#include <arch/regs.h>
#include <arch/uaccess.h>
#include <frame.h>

/* Nothing is run here. */
size_t arch_copy_safe(void *dst, const void *src, size_t n)
{
	(void)dst;
	(void)src;
	return n;
}

int arch_peek(const volatile void *src, u64 *value, unsigned size)
{
	(void)src;
	(void)value;
	(void)size;
	return -1;
}

int arch_poke(volatile void *dst, u64 value, unsigned size)
{
	(void)dst;
	(void)value;
	(void)size;
	return -1;
}

/* "48 8d 05 " up to the next tab. */
static size_t parse_bytes(const char *text, u8 *bytes)
{
	size_t n = 0;
	char *end;

	for (; n < INSN_MAX_BYTES && *text && *text != '\t'; text = end) {
		unsigned long byte = strtoul(text, &end, 16);

		if (end == text)
			break;
		bytes[n++] = byte;
	}
	return n;
}

static void print_ways(const struct insn *insn)
{
	struct pt_regs regs;
	u8 copy[INSN_RELOC_MAX];
	struct insn_op op;
	int n = arch_insn_relocate(insn, insn->pc, copy, sizeof(copy));

	arch_regs_plain(&regs);
	if (insn->deny != INSN_OK) {
		printf("no probe: %s", insn_deny_reason(insn->deny));
		return;
	}
	if (arch_insn_analyse(insn, &regs, &op) != INSN_EMU_NONE)
		printf("emulated, ");
	if (n >= 0)
		printf("%d-byte copy", n);
	else
		printf("no copy: %s", insn_reloc_reason(insn));
}

static void annotate(const char *line, const char *bytes_text)
{
	const char *name, *between = "  # ";
	u8 bytes[INSN_MAX_BYTES];
	struct insn insn;
	unsigned at = 0;
	size_t n = parse_bytes(bytes_text, bytes);

	printf("%s", line);
	if (arch_insn_decode(&insn, bytes, n, strtoull(line, NULL, 16))) {
		printf("  # no instruction\n");
		return;
	}
	while ((name = insn_class_name(&insn, &at))) {
		printf("%s%s", between, name);
		between = ", ";
	}
	printf("%s", *between == ',' ? "; " : between);
	print_ways(&insn);
	printf("\n");
}

int main(int argc, char **argv)
{
	char line[1024];
	bool little;

	if (argc != 2)
		return 2;
	little = !strcmp(argv[1], "little");
#ifdef INSN_TEXT_LITTLE /* the machine has both byte orders */
	INSN_TEXT_LITTLE = little;
#endif
	(void)little;
	while (fgets(line, sizeof(line), stdin)) {
		const char *colon = strchr(line, ':');

		line[strcspn(line, "\n")] = '\0';
		if (colon && colon[1] == '\t')
			annotate(line, colon + 2);
		else
			puts(line);
	}
	return 0;
}
