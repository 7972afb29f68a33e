/* SPDX-License-Identifier: MIT */
/*
 * On the host libc owns these names. lib/string.c and lib/printf.c are built
 * with this file included first, so that theirs stand beside libc's.
 */
#define memcpy	  sonde_memcpy
#define memmove	  sonde_memmove
#define memset	  sonde_memset
#define memcmp	  sonde_memcmp
#define memchr	  sonde_memchr
#define strlen	  sonde_strlen
#define strnlen	  sonde_strnlen
#define strcmp	  sonde_strcmp
#define strncmp	  sonde_strncmp
#define strchr	  sonde_strchr
#define strrchr	  sonde_strrchr
#define strstr	  sonde_strstr
#define vsnprintf sonde_vsnprintf
#define snprintf  sonde_snprintf
