// SPDX-License-Identifier: MIT
/* The options of the command line, as they describe themselves. */
#include <kernel/option.h>
#include <lib/string.h>
#include <tests/test.h>

/* The value that begins at *@values, which steps behind it; or NULL. */
static const char *next_value(const char **values, char *buf, size_t size)
{
	size_t n = 0;

	while (**values == '|')
		(*values)++;
	while (n < size - 1 && **values && **values != '|')
		buf[n++] = *(*values)++;
	buf[n] = '\0';
	return n ? buf : NULL;
}

TEST(option, every_value_that_is_offered_is_taken_and_no_other)
{
	for_each_boot_option(o) {
		const char *values = o->values, *value;
		char buf[16];

		if (!o->set)
			continue;
		while ((value = next_value(&values, buf, sizeof(buf))))
			if (o->set(value) != 0)
				FAIL("%s=%s is refused", o->name, value);
		EXPECT_LT(o->set("perhaps"), 0);
		EXPECT_LT(o->set(""), 0);
		values = o->values;
		EXPECT_EQ(o->set(next_value(&values, buf, sizeof(buf))), 0);
	}
	options_set();
}

TEST(option, each_has_a_name_of_its_own)
{
	for_each_boot_option(o) {
		unsigned same = 0;

		for_each_boot_option(other)
			same += strcmp(o->name, other->name) == 0;
		EXPECT_EQ(same, 1);
	}
}
