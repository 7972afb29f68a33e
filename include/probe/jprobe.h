/* SPDX-License-Identifier: MIT */
/*
 * Signature probes: a handler with the arguments of the probed function.
 *
 *	static void see(const char *name, int mode) { ... returns ... }
 *	static struct jprobe jp = { .kp = { .symbol_name = "open_file" },
 *				    .entry = see };
 *
 * It is called from the dispatcher like any handler, with the argument registers
 * of the call and a copy of the first ARCH_CALL_STACK_WORDS words of arguments
 * in memory: more than six (x86_64) or eight (ppc64) arguments and structs by
 * value are where the compiler looks for them. It simply returns. It shares its
 * address with any other probes. Floating point arguments are not passed.
 */
#ifndef SONDE_PROBE_JPROBE_H
#define SONDE_PROBE_JPROBE_H

#include <probe/kprobe.h>

struct jprobe {
	struct kprobe kp; /* where; its handlers are the engine's */
	void *entry;	  /* a function with the probed one's signature */
};

/*
 * As register_kprobe(); also -EINVAL without entry, or if the address is not a
 * function's entry, where the arguments are.
 */
int __must_check register_jprobe(struct jprobe *jp);
int unregister_jprobe(struct jprobe *jp);

#endif
