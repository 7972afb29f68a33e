/* SPDX-License-Identifier: MIT */
#ifndef SONDE_TESTS_PATCH_AREA_H
#define SONDE_TESTS_PATCH_AREA_H

/*
 * Sites stand apart: an emulator pays for each piece of code in a page at every
 * store to it. The distance makes them lie across cache lines and pages in all
 * ways.
 */
#define PATCH_SITES  2048
#define PATCH_STRIDE 132

#ifndef __ASSEMBLY__
extern const unsigned char patch_area[];
#endif
#endif
