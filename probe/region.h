/* SPDX-License-Identifier: MIT */
/*
 * Inside the engine: may a jump take the place of several instructions?
 */
#ifndef SONDE_PROBE_REGION_H
#define SONDE_PROBE_REGION_H

#include <lib/compiler.h>

/* Once, at boot. */
int __must_check region_init(void);

/*
 * The instruction at @addr, which may be probed, and as many behind it as a jump
 * needs: NULL and *displaced their bytes, or a reason why not. Under
 * probe_mutex.
 */
const char *region_check(unsigned long addr, unsigned *displaced);

#endif
