/* SPDX-License-Identifier: MIT */
/*
 * Where the parts of the image lie, as linker/ARCH.ld marks them. All but the
 * ends of no-probe text are page aligned.
 */
#ifndef SONDE_KERNEL_IMAGE_H
#define SONDE_KERNEL_IMAGE_H

#include <lib/compiler.h>

extern char __image_start[], __image_end[];
extern char __text_start[], __text_end[];
extern char __head_start[], __head_end[];
extern char __noprobe_text_start[], __noprobe_text_end[];
extern char __rodata_start[], __rodata_end[];
extern char __data_start[], __data_end[];
extern char __bss_start[], __bss_end[];

static inline bool image_is_text(unsigned long va)
{
	return va >= (unsigned long)__text_start &&
	       va < (unsigned long)__text_end;
}

#endif
