/* SPDX-License-Identifier: MIT */
/*
 * The integer types every file uses. Shared with host tests, so nothing here
 * may depend on the kernel being the environment.
 */
#ifndef SONDE_LIB_TYPES_H
#define SONDE_LIB_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64; /* prints with %llx on both machines */
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef long long s64;

/* A physical address. Never dereferenced: see phys_to_virt(). */
typedef u64 phys_t;

#endif
