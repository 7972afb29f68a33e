/* SPDX-License-Identifier: MIT */
/*
 * Physical page frames: a binary buddy allocator over all RAM that the firmware
 * gave us, less the image, the boot modules and what boot code reserved.
 */
#ifndef SONDE_KERNEL_FRAMES_H
#define SONDE_KERNEL_FRAMES_H

#include <lib/compiler.h>

struct bootinfo;

#define FRAME_ORDER_MAX 11 /* 4 KiB << 11 = 8 MiB */

/* Boot CPU, once. -ENOMEM with bi->error set when there is no usable RAM. */
int __must_check frames_init(struct bootinfo *bi);

/*
 * 2^@order frames, naturally aligned, contents undefined (poisoned in debug
 * builds). 0 is never a frame: 0 means none left. Any context except NMI and
 * probe handlers; takes an irq-safe lock.
 */
phys_t frame_alloc(unsigned order);
/* The same, zeroed through the direct map. */
phys_t frame_alloc_zero(unsigned order);
/* @order as at allocation; a double or wrong free panics with the reason. */
void frame_free(phys_t pa, unsigned order);

size_t frames_total(void);
size_t frames_free(void);
/* Free blocks of @order, for `mem` and tests. */
size_t frames_free_blocks(unsigned order);

#endif
