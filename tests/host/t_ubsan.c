// SPDX-License-Identifier: MIT
/*
 * lib/ubsan.c under other names: here the compiler brings its own handlers.
 */
#include "../test.h"
#include <lib/ubsan.h>

static struct {
	const char *kind, *file;
	u32 line, column;
} finding;

void ubsan_report(const char *kind, const char *file, u32 line, u32 column)
{
	finding.kind = kind;
	finding.file = file;
	finding.line = line;
	finding.column = column;
}

/* What the compiler passes; see lib/ubsan.c. */
struct place {
	const char *file;
	u32 line, column;
};

void sonde_ubsan_add_overflow(const struct place *place);
void sonde_ubsan_nonnull_return_v1(const void *data, const struct place *place);

TEST(ubsan, findings_carry_their_place_in_the_source)
{
	struct place place = { "x.c", 12, 3 };

	sonde_ubsan_add_overflow(&place);
	EXPECT_STREQ(finding.kind, "signed addition overflows");
	EXPECT_STREQ(finding.file, "x.c");
	EXPECT_EQ(finding.line, 12);
	EXPECT_EQ(finding.column, 3);
	place.line = 13;
	sonde_ubsan_nonnull_return_v1(NULL, &place);
	EXPECT_EQ(finding.line, 13);
}
