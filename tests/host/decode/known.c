// SPDX-License-Identifier: MIT
/*
 * Explained differences between referees and us. A line of MACHINE.known:
 *
 *	REFEREE DIFFERENCE WORDS... ; reason (manual reference)
 *
 * WORDS say which encodings; the machine's file knows them. A line without a
 * reason and a reference in parentheses is refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "referee.h"

static const char *const difference_names[DIFFERENCES] = {
	"same", "rejects", "accepts", "length", "class", "target", "field",
};

#define KNOWN_MAX 1024

static struct pattern patterns[KNOWN_MAX];
static char *texts[KNOWN_MAX];
static unsigned count;

const char *difference_name(enum difference difference)
{
	return difference_names[difference];
}

static bool parse_head(struct pattern *p, const char *referee,
		       const char *difference)
{
	for (p->referee = 0; p->referee < machine.referee_count; p->referee++)
		if (!strcmp(referee, machine.referees[p->referee].name))
			break;
	if (p->referee == machine.referee_count && strcmp(referee, "objdump"))
		return false;
	for (p->difference = 1; p->difference < DIFFERENCES; p->difference++)
		if (!strcmp(difference, difference_names[p->difference]))
			return true;
	return false;
}

static bool parse_line(struct pattern *p, char *line)
{
	char *reason = strchr(line, ';'), *word, *difference, *at;

	if (!reason || !strchr(reason, '('))
		return false;
	*reason = '\0';
	word = strtok_r(line, " \t", &at);
	difference = strtok_r(NULL, " \t", &at);
	if (!word || !difference || !parse_head(p, word, difference))
		return false;
	while ((word = strtok_r(NULL, " \t", &at)))
		if (!machine.pattern_word(p, word))
			return false;
	return true;
}

int known_load(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[512];
	int number = 0;

	if (!file) {
		perror(path);
		return -1;
	}
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "#\n")] = '\0';
		number++;
		if (!line[strspn(line, " \t")])
			continue;
		texts[count] = strdup(line);
		if (count == KNOWN_MAX - 1 ||
		    !parse_line(&patterns[count], line)) {
			fprintf(stderr, "%s:%d: bad line\n", path, number);
			fclose(file);
			return -1;
		}
		count++;
	}
	fclose(file);
	return 0;
}

bool known(unsigned referee, enum difference difference,
	   const struct insn *insn, const u8 *bytes)
{
	for (struct pattern *p = patterns; p < patterns + count; p++)
		if (p->referee == referee && p->difference == difference &&
		    machine.pattern_match(p, insn, bytes))
			return p->used = true;
	return false;
}

void known_print_unused(void)
{
	for (unsigned i = 0; i < count; i++)
		if (!patterns[i].used)
			printf("unused: %s\n", texts[i]);
}
