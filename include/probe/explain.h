/* SPDX-License-Identifier: MIT */
/*
 * Why an address may not be probed, or what a probe on it gets.
 */
#ifndef SONDE_PROBE_EXPLAIN_H
#define SONDE_PROBE_EXPLAIN_H

#include <lib/compiler.h>

/*
 * Writes lines of text to @buf, cut at @size > 0: the reason of a refusal; or the
 * plan, why it is no better one, what is armed and whose probes are there.
 * 0 if @addr may be probed, else what register_kprobe() would return. Threads
 * only.
 */
int probe_explain(unsigned long addr, char *buf, size_t size);

#endif
