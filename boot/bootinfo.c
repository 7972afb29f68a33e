// SPDX-License-Identifier: MIT
/*
 * struct bootinfo itself: the memory map, the list of CPUs, the command line.
 * Used by the parsers and then by everybody who wants to know what there is.
 * Pure but for *bi; see bootinfo.h for where it may run.
 */
#include <kernel/bootinfo.h>
#include <lib/errno.h>
#include <lib/printf.h>
#include <lib/string.h>
#include <lib/text.h>

int bootinfo_fail(struct bootinfo *bi, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(bi->error, sizeof(bi->error), fmt, ap);
	va_end(ap);
	return err;
}

/* Memory --------------------------------------------------------------------*/

static phys_t range_end(const struct bootinfo_range *range)
{
	return range->base + range->size;
}

/* Puts a range at index @at, joined with what it touches. False: no room. */
static bool range_insert(struct bootinfo *bi, unsigned at, phys_t base,
			 phys_t end, u32 type)
{
	struct bootinfo_range *range = &bi->memory[at];

	if (base == end)
		return true;
	if (bi->memory_count == BOOTINFO_MEMORY_MAX)
		return false;
	memmove(range + 1, range, (bi->memory_count - at) * sizeof(*range));
	*range = (struct bootinfo_range){ base, end - base, type };
	bi->memory_count++;
	return true;
}

static void range_remove(struct bootinfo *bi, unsigned at)
{
	struct bootinfo_range *range = &bi->memory[at];

	bi->memory_count--;
	memmove(range, range + 1, (bi->memory_count - at) * sizeof(*range));
}

/* Joins neighbours that touch and are of one type. */
static void ranges_join(struct bootinfo *bi)
{
	unsigned i = 1;

	while (i < bi->memory_count) {
		struct bootinfo_range *range = &bi->memory[i];
		struct bootinfo_range *before = range - 1;

		if (before->type == range->type &&
		    range_end(before) == range->base) {
			before->size += range->size;
			range_remove(bi, i);
		} else {
			i++;
		}
	}
}

/*
 * Walks up from @base. What lies between two ranges gets the new type; a range
 * met on the way keeps its type if that is larger, else it is split at the
 * borders of the new one and the part inside changes.
 */
static bool ranges_add(struct bootinfo *bi, phys_t base, phys_t end, u32 type)
{
	unsigned i = 0;

	while (base < end) {
		struct bootinfo_range *range = &bi->memory[i];
		phys_t old_end;

		if (i == bi->memory_count || range->base >= end)
			return range_insert(bi, i, base, end, type);
		old_end = range_end(range);
		if (old_end <= base) {
			i++;
			continue;
		}
		if (range->base > base) {
			if (!range_insert(bi, i, base, range->base, type))
				return false;
			base = bi->memory[++i].base;
			continue;
		}
		if (range->type >= type) {
			base = old_end;
			i++;
			continue;
		}
		/* Split off what is below, then what is above. */
		if (range->base < base) {
			if (!range_insert(bi, i, range->base, base,
					  range->type))
				return false;
			range = &bi->memory[++i];
			*range = (struct bootinfo_range){ base, old_end - base,
							  range->type };
		}
		if (old_end > end) {
			if (!range_insert(bi, i + 1, end, old_end, range->type))
				return false;
			range->size = end - base;
			old_end = end;
		}
		range->type = type;
		base = old_end;
		i++;
	}
	return true;
}

int bootinfo_add(struct bootinfo *bi, phys_t base, u64 size,
		 enum bootinfo_memory type)
{
	if (size > ~base)
		return bootinfo_fail(bi, -EINVAL,
				     "memory: %#llx bytes at %#llx wrap round",
				     size, base);
	if (!ranges_add(bi, base, base + size, type))
		return bootinfo_fail(bi, -ENOSPC, "memory: more than %u ranges",
				     BOOTINFO_MEMORY_MAX);
	ranges_join(bi);
	return 0;
}

void bootinfo_clip(struct bootinfo *bi, phys_t limit)
{
	while (bi->memory_count) {
		unsigned last = bi->memory_count - 1;
		struct bootinfo_range *range = &bi->memory[last];

		if (range_end(range) <= limit)
			return;
		if (range->base < limit) {
			range->size = limit - range->base;
			return;
		}
		range_remove(bi, last);
	}
}

const struct bootinfo_range *bootinfo_range_at(const struct bootinfo *bi,
					       phys_t pa)
{
	for (unsigned i = 0; i < bi->memory_count; i++)
		if (pa - bi->memory[i].base < bi->memory[i].size)
			return &bi->memory[i];
	return NULL;
}

int bootinfo_find(const struct bootinfo *bi, u64 size, u64 align, phys_t low,
		  phys_t high, phys_t *base)
{
	for (unsigned i = 0; i < bi->memory_count; i++) {
		const struct bootinfo_range *range = &bi->memory[i];
		phys_t from = max(range->base, low);
		phys_t to = min(range_end(range), high);
		phys_t at = ALIGN_UP(from, align);

		if (range->type != BOOTINFO_RAM || at < from || at >= to ||
		    to - at < size)
			continue;
		*base = at;
		return 0;
	}
	return -ENOMEM;
}

u64 bootinfo_ram_size(const struct bootinfo *bi)
{
	u64 size = 0;

	for (unsigned i = 0; i < bi->memory_count; i++)
		if (bi->memory[i].type == BOOTINFO_RAM)
			size += bi->memory[i].size;
	return size;
}

enum bootinfo_memory bootinfo_memory_of_bios(u32 type)
{
	switch (type) {
	case 1:
		return BOOTINFO_RAM;
	case 3:
		return BOOTINFO_ACPI;
	case 4:
		return BOOTINFO_NVS;
	case 5:
		return BOOTINFO_BAD;
	default:
		return BOOTINFO_RESERVED;
	}
}

const char *bootinfo_memory_name(enum bootinfo_memory type)
{
	switch (type) {
	case BOOTINFO_RAM:
		return "RAM";
	case BOOTINFO_MODULE:
		return "boot module";
	case BOOTINFO_IMAGE:
		return "kernel";
	case BOOTINFO_ACPI:
		return "ACPI tables";
	case BOOTINFO_NVS:
		return "ACPI NVS";
	case BOOTINFO_RESERVED:
		return "reserved";
	case BOOTINFO_BAD:
		return "bad RAM";
	}
	return "unknown";
}

/* CPUs ----------------------------------------------------------------------*/

int bootinfo_add_cpu(struct bootinfo *bi, u32 hw_id, bool enabled)
{
	for (unsigned i = 0; i < bi->cpu_count; i++)
		if (bi->cpus[i].hw_id == hw_id)
			return bootinfo_fail(bi, -EINVAL,
					     "cpus: two have the id %u", hw_id);
	if (bi->cpu_count == BOOTINFO_CPUS_MAX) {
		bi->cpus_ignored++;
		return 0;
	}
	bi->cpus[bi->cpu_count].hw_id = hw_id;
	bi->cpus[bi->cpu_count++].enabled = enabled;
	return 0;
}

/* The command line ----------------------------------------------------------*/

int bootinfo_set_cmdline(struct bootinfo *bi, const char *s, size_t n)
{
	size_t len = strnlen(s, n);

	if (len >= sizeof(bi->cmdline))
		return bootinfo_fail(bi, -E2BIG,
				     "command line: longer than %zu bytes",
				     sizeof(bi->cmdline) - 1);
	memcpy(bi->cmdline, s, len);
	bi->cmdline[len] = '\0';
	return 0;
}

/* Moves *@s to its next word and says whether there is one before the --. */
static bool cmdline_more(const char **s)
{
	while (char_is_space(**s))
		(*s)++;
	if (!strncmp(*s, "--", 2) &&
	    ((*s)[2] == '\0' || char_is_space((*s)[2])))
		return false;
	return **s != '\0';
}

int cmdline_next(const char **s, char *word, size_t size)
{
	int got = cmdline_more(s) ? text_word(s, word, size) : 0;

	/* A word that was cut is full and lacks its terminator. */
	if (got == -E2BIG)
		word[size - 1] = '\0';
	return got;
}

int cmdline_get(const struct bootinfo *bi, const char *key, char *buf,
		size_t size)
{
	size_t key_len = strlen(key);
	const char *s = bi->cmdline;
	char word[512];
	int got, found = -ENOENT;

	while ((got = cmdline_next(&s, word, sizeof(word))) != 0) {
		if (got == -EINVAL)
			return got;
		if (strncmp(word, key, key_len))
			continue;
		if (word[key_len] == '\0')
			found = strscpy(buf, "", size);
		else if (word[key_len] == '=')
			found = got < 0 ? got
					: strscpy(buf, word + key_len + 1,
						  size);
	}
	return found;
}

bool cmdline_has(const struct bootinfo *bi, const char *key)
{
	char value[2];

	return cmdline_get(bi, key, value, sizeof(value)) != -ENOENT;
}

const char *cmdline_tail(const struct bootinfo *bi)
{
	const char *s = bi->cmdline;
	char word[2];

	/* Only where the word ends matters, so it may be cut. */
	while (cmdline_more(&s))
		if (text_word(&s, word, sizeof(word)) == -EINVAL)
			return NULL;
	if (!*s)
		return NULL;
	for (s += 2; char_is_space(*s); s++)
		;
	return s;
}
