/* SPDX-License-Identifier: MIT */
/* Two static functions that share the name twin_function. */
#ifndef SONDE_TESTS_CASES_TWINS_H
#define SONDE_TESTS_CASES_TWINS_H

int (*twin_one(void))(void);
int (*twin_two(void))(void);

#endif
