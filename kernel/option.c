// SPDX-License-Identifier: MIT
/*
 * The words of the command line, and the options that they are values of.
 */
#include <arch/boot.h>
#include <kernel/bootinfo.h>
#include <kernel/log.h>
#include <kernel/option.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <lib/text.h>

int option_get(const struct boot_option *o, char *buf, size_t size)
{
	return cmdline_get(&boot_info, o->name, buf, size);
}

u64 option_number(const struct boot_option *o, u64 otherwise)
{
	char text[24];
	u64 n;

	if (option_get(o, text, sizeof(text)) < 0 ||
	    parse_u64(text, 0, &n, NULL) < 0 || n == 0)
		return otherwise;
	return n;
}

static bool is_option(const char *word)
{
	const char *value = strchr(word, '=');
	size_t len = value ? (size_t)(value - word) : strlen(word);

	for_each_boot_option(o)
		if (strlen(o->name) == len && !memcmp(o->name, word, len))
			return true;
	return false;
}

static void set(const struct boot_option *o)
{
	char value[16] = "";
	int err = option_get(o, value, sizeof(value));

	if (err == -ENOENT)
		return;
	if (err >= 0)
		err = o->set(value);
	if (err < 0)
		pr_warn("%s=%s: it may be %s", o->name, value, o->values);
}

void options_set(void)
{
	const char *at = boot_info.cmdline;
	char word[32];
	int got;

	while ((got = cmdline_next(&at, word, sizeof(word))) != 0) {
		if (got == -EINVAL) {
			pr_warn("command line: a quote is not closed");
			return; /* nothing of it can be trusted */
		}
		if (!is_option(word))
			pr_warn("%s: no option of this kernel; 'help boot' "
				"lists them",
				word);
	}
	for_each_boot_option(o)
		if (o->set)
			set(o);
}
