/* SPDX-License-Identifier: MIT */
/*
 * What the kernel can be told on its command line, as name=value.
 *
 * An option is one BOOT_OPTION line beside the code that it is for. A linker
 * section collects them, so that `help boot` lists all there are, and a word that
 * is none of them gives a warning.
 */
#ifndef SONDE_KERNEL_OPTION_H
#define SONDE_KERNEL_OPTION_H

#include <lib/compiler.h>

struct boot_option {
	const char *name;
	const char *values; /* as people read it: "on|off"; first the default */
	const char *help;   /* one line, no full stop */
	/*
	 * Called by options_set() with the value; negative if it is none. NULL:
	 * whoever wants the value calls option_get().
	 */
	int (*set)(const char *value);
};

/* The section holds pointers: it must not have holes. */
#define BOOT_OPTION(name_, values_, help_, set_)                             \
	static const struct boot_option boot_option_##name_ = {              \
		.name = #name_,                                              \
		.values = (values_),                                         \
		.help = (help_),                                             \
		.set = (set_),                                               \
	};                                                                   \
	static const struct boot_option *const boot_option_at_##name_ __used \
		__section("boot_options") = &boot_option_##name_

extern const struct boot_option *const __start_boot_options[];
extern const struct boot_option *const __stop_boot_options[];
#define for_each_boot_option(o)                                              \
	for (const struct boot_option *const *at_##o = __start_boot_options, \
					     *o;                             \
	     at_##o < __stop_boot_options && (o = *at_##o); at_##o++)

/* Boot code, once probes work. Warns of what is not understood, and goes on. */
void options_set(void);

/* As cmdline_get(). */
int option_get(const struct boot_option *o, char *buf, size_t size);
/* A number above 0; @otherwise if there is none. */
u64 option_number(const struct boot_option *o, u64 otherwise);

#endif
