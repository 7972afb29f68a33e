/* SPDX-License-Identifier: MIT */
/*
 * Kernel heap: size classes in slabs up to half a page, whole frames above.
 * Debug builds put red zones around every object, poison on free, and check both
 * at every free. Any context except NMI and probe handlers.
 */
#ifndef SONDE_KERNEL_HEAP_H
#define SONDE_KERNEL_HEAP_H

#include <lib/compiler.h>

void heap_init(void);

/* 16-byte aligned; NULL when there is no memory. kzalloc() zeroes. */
void *kmalloc(size_t size) __must_check;
void *kzalloc(size_t size) __must_check;
/* @n * @size with overflow check. */
void *kcalloc(size_t n, size_t size) __must_check;
/* NULL is fine. A wrong pointer or a broken red zone panics with the reason. */
void kfree(void *p);

/* What was asked for and not freed yet, and how many objects that is. */
size_t heap_bytes_used(void);
size_t heap_objects_used(void);

/* Verifies every red zone and free list; -EILSEQ with *bad the first broken. */
int heap_check(void **bad);

/* The next allocation but @n fails, once; -1: none. For tests of error paths. */
void heap_fail_after(int n);

#endif
