/* SPDX-License-Identifier: MIT */
/*
 * Error numbers: Linux's values, since users know them. Functions return 0 or
 * the negative of one of these.
 */
#ifndef SONDE_LIB_ERRNO_H
#define SONDE_LIB_ERRNO_H

#define EPERM	      1
#define ENOENT	      2
#define EINTR	      4
#define EIO	      5
#define E2BIG	      7
#define EAGAIN	      11
#define ENOMEM	      12
#define EACCES	      13
#define EFAULT	      14
#define EBUSY	      16
#define EEXIST	      17
#define ENODEV	      19
#define EINVAL	      22
#define ENOSPC	      28
#define EDOM	      33
#define ERANGE	      34
#define EDEADLK	      35
#define ENAMETOOLONG  36
#define ENOSYS	      38
#define ENODATA	      61
#define EOVERFLOW     75
#define EILSEQ	      84
#define EOPNOTSUPP    95
#define EADDRNOTAVAIL 99
#define ETIMEDOUT     110
#define EALREADY      114
#define EDQUOT	      122

#endif
