/* SPDX-License-Identifier: MIT */
#ifndef SONDE_TESTS_PATCH_AREA_H
#define SONDE_TESTS_PATCH_AREA_H

#define PATCH_SITES 1024

#ifndef __ASSEMBLY__
extern const unsigned char patch_area[];
#endif
#endif
