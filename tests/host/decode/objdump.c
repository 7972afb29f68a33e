// SPDX-License-Identifier: MIT
/*
 * GNU objdump as a referee. It walks a section on its own, so its verdicts come
 * as a stream of lines
 *
 *	"  4010a0:\t48 8d 05 10 00 00 00 \tlea    0x10(%rip),%rax ..."
 *
 * in which an instruction is looked up by address.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "referee.h"

struct objdump {
	FILE *pipe;
	u64 pc;
	struct verdict v;
	bool have;
	bool cut; /* bytes of an instruction into which a symbol points */
	char line[512];
};

static struct objdump *objdump_run(const char *command)
{
	struct objdump *dump = calloc(1, sizeof(*dump));

	dump->pipe = popen(command, "r");
	return dump;
}

struct objdump *objdump_open(const struct elf_file *elf,
			     const struct code *code)
{
	char command[1024];

	snprintf(command, sizeof(command), "%s -dzw -j '%s' '%s' 2>/dev/null",
		 machine.objdump, code->section, elf->path);
	return objdump_run(command);
}

struct objdump *objdump_open_raw(const char *path)
{
	char command[1024];

	snprintf(command, sizeof(command), "%s -Dzw '%s'", machine.objdump_raw,
		 path);
	return objdump_run(command);
}

/* "48 8d 05 " up to the next tab: how many bytes. */
static unsigned count_bytes(const char *from, const char *to)
{
	unsigned digits = 0;

	for (; from < to; from++)
		digits += *from != ' ';
	return digits / 2;
}

static bool read_line(struct objdump *dump)
{
	char *line = dump->line, *bytes, *text, *colon;

	while (dump->pipe && fgets(line, sizeof(dump->line), dump->pipe)) {
		colon = strchr(line, ':');
		if (!colon || colon[1] != '\t')
			continue;
		bytes = colon + 2;
		text = strchr(bytes, '\t');
		dump->v = (struct verdict){ .valid = text };
		dump->pc = strtoull(line, NULL, 16);
		dump->v.len = count_bytes(bytes,
					  text ? text : bytes + strlen(bytes));
		if (!text)
			continue;
		text[strcspn(text, "\n")] = '\0';
		dump->cut = !strncmp(text + 1, ".byte", 5);
		machine.objdump_class(text + 1, &dump->v);
		return true;
	}
	return false;
}

bool objdump_next(struct objdump *dump, u64 pc, struct verdict *v)
{
	while (!dump->have || dump->pc < pc) {
		if (!read_line(dump))
			return false;
		dump->have = true;
	}
	*v = dump->v;
	return dump->pc == pc && !dump->cut;
}

void objdump_close(struct objdump *dump)
{
	if (dump->pipe)
		pclose(dump->pipe);
	free(dump);
}
