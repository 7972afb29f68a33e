// SPDX-License-Identifier: MIT
/*
 * What -fsanitize=undefined calls. Every handler gets a record that the
 * compiler made, which begins with the place in the source (one kind excepted);
 * what else the record and the arguments say is not needed to find the line.
 */
#include <lib/ubsan.h>

struct source_place {
	const char *file;
	u32 line;
	u32 column;
};

__weak void ubsan_report(const char *kind __unused, const char *file __unused,
			 u32 line __unused, u32 column __unused)
{
}

/* Host tests build this file beside the compiler's own runtime. */
#ifndef UBSAN_HANDLER
#define UBSAN_HANDLER(name) __ubsan_handle_##name
#endif

/*
 * The arguments behind the first differ; a callee that ignores them need not
 * name them in either machine's ABI.
 */
#define HANDLER(name, kind)                                                  \
	void UBSAN_HANDLER(name)(const struct source_place *place);          \
	void UBSAN_HANDLER(name)(const struct source_place *place)           \
	{                                                                    \
		ubsan_report(kind, place->file, place->line, place->column); \
	}

HANDLER(add_overflow, "signed addition overflows")
HANDLER(sub_overflow, "signed subtraction overflows")
HANDLER(mul_overflow, "signed multiplication overflows")
HANDLER(negate_overflow, "negation overflows")
HANDLER(divrem_overflow, "division by zero or overflow in division")
HANDLER(shift_out_of_bounds, "shift count or shifted value out of range")
HANDLER(out_of_bounds, "array index out of bounds")
HANDLER(load_invalid_value, "bool or enum holds a value that it cannot have")
HANDLER(type_mismatch_v1, "NULL or misaligned pointer, or object too small")
HANDLER(pointer_overflow, "pointer arithmetic overflows")
HANDLER(alignment_assumption, "pointer is not aligned as promised")
HANDLER(vla_bound_not_positive, "variable length array has no length")
HANDLER(nonnull_arg, "NULL passed where it is not allowed")
HANDLER(invalid_builtin, "builtin called with 0, where it has no result")
HANDLER(float_cast_overflow, "floating point value does not fit")
HANDLER(builtin_unreachable, "unreachable code was reached")
HANDLER(missing_return, "function ended without its return value")

/* The one whose place is an argument of its own. */
void UBSAN_HANDLER(nonnull_return_v1)(const void *data,
				      const struct source_place *place);
void UBSAN_HANDLER(nonnull_return_v1)(const void *data __unused,
				      const struct source_place *place)
{
	ubsan_report("NULL returned where it is not allowed", place->file,
		     place->line, place->column);
}
