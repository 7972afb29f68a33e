/* SPDX-License-Identifier: MIT */
/*
 * Memory that may not be there. Contract of arch/<A>/uaccess.S.
 *
 * A faulting load or store in here has an entry in the exception table
 * (kernel/extable.c), whose fix-up makes it return instead. Any context, NMI
 * included; never sleeps, never prints.
 */
#ifndef SONDE_ARCH_UACCESS_H
#define SONDE_ARCH_UACCESS_H

#include <lib/compiler.h>

/* Copies upwards bytewise-exact; returns how many bytes were NOT copied. */
size_t __must_check arch_copy_safe(void *dst, const void *src, size_t n);

/*
 * One access of @size 1, 2, 4 or 8, naturally aligned where the machine wants it
 * (ppc64): 0 or -EFAULT. Used where a torn value would be wrong.
 */
int __must_check arch_peek(const volatile void *src, u64 *value, unsigned size);
int __must_check arch_poke(volatile void *dst, u64 value, unsigned size);

#endif
