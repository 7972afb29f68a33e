/* SPDX-License-Identifier: MIT */
/*
 * What the compiler offers under short names, and the small macros that every
 * file uses. Shared with host tests.
 */
#ifndef SONDE_LIB_COMPILER_H
#define SONDE_LIB_COMPILER_H

#include <lib/types.h>

/* Tables, aligned by hand. */
/* clang-format off */

#define __must_check	__attribute__((warn_unused_result))
#define __noinline	__attribute__((noinline))
#undef __always_inline /* libc has one too, on the host */
#define __always_inline inline __attribute__((always_inline))
#define __noreturn	__attribute__((noreturn))
#define __printf(f, a)	__attribute__((format(printf, f, a)))
#define __packed	__attribute__((packed))
#define __aligned(n)	__attribute__((aligned(n)))
#define __section(s)	__attribute__((section(s)))
#define __used		__attribute__((used))
#define __unused	__attribute__((unused))
#define __weak		__attribute__((weak))

/* Keeps a function one piece with one name, so that it can be probed. */
#define __noclone __attribute__((noinline, noclone, noipa))

/*
 * Code that runs on the hit path: it may not be probed, and calls nothing
 * outside the same section. docs/hit.md says why.
 */
#ifdef __SONDE_HOST__
#define __noprobe
#else
#define __noprobe __attribute__((section(".text.noprobe"), noinline))
#endif

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define barrier()	 __asm__ volatile("" : : : "memory")
#define READ_ONCE(x)	 (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))

/* Acquire and release name their partner in a comment at each use. */
#define load_acquire(p)	    __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

#define ARRAY_SIZE(a)	    (sizeof(a) / sizeof((a)[0]))
#define BIT(n)		    (1UL << (n))
#define ALIGN_DOWN(x, a)    ((x) & ~((__typeof__(x))(a) - 1))
#define ALIGN_UP(x, a)	    ALIGN_DOWN((x) + (__typeof__(x))(a) - 1, a)
#define IS_ALIGNED(x, a)    (((x) & ((__typeof__(x))(a) - 1)) == 0)
#define DIV_ROUND_UP(n, d)  (((n) + (d) - 1) / (d))
#define STATIC_ASSERT(c)    _Static_assert(c, #c)
#define container_of(p, type, member) \
	((type *)((char *)(p) - offsetof(type, member)))

#define min(a, b) \
	({ __typeof__(a) min_a = (a); __typeof__(b) min_b = (b); \
	   min_a < min_b ? min_a : min_b; })
#define max(a, b) \
	({ __typeof__(a) max_a = (a); __typeof__(b) max_b = (b); \
	   max_a > max_b ? max_a : max_b; })

#define STRINGIFY_(x) #x
#define STRINGIFY(x)  STRINGIFY_(x)

/* clang-format on */

#endif
