// SPDX-License-Identifier: MIT
/*
 * Formatted text through a sink. No buffer larger than one number, no locks, no
 * allocation, no recursion: any context, the panic path included.
 */
#include <lib/printf.h>
#include <lib/string.h>
#include <lib/text.h>

bool (*printf_symbol)(u64 addr, char *buf, size_t size);

/* Octal digits of a u64. */
#define DIGITS_MAX 22
#define SYMBOL_MAX 128

struct out {
	format_sink sink;
	void *arg;
	size_t count;
};

/* One conversion: %[flags][width][.precision][size]letter. */
struct spec {
	bool left, plus, space, alt, zero;
	size_t width;
	int precision; /* -1: none given */
	int size;      /* bytes of the integer argument */
};

static void put(struct out *out, const char *s, size_t n)
{
	if (n)
		out->sink(out->arg, s, n);
	out->count += n;
}

static void pad(struct out *out, char c, size_t n)
{
	char run[16];

	memset(run, c, sizeof(run));
	for (; n > sizeof(run); n -= sizeof(run))
		put(out, run, sizeof(run));
	put(out, run, n);
}

static void put_text(struct out *out, const struct spec *spec, const char *s,
		     size_t n)
{
	size_t fill = spec->width > n ? spec->width - n : 0;

	if (!spec->left)
		pad(out, ' ', fill);
	put(out, s, n);
	if (spec->left)
		pad(out, ' ', fill);
}

static void put_string(struct out *out, const struct spec *spec, const char *s)
{
	if (!s)
		s = "(null)";
	put_text(out, spec, s,
		 spec->precision < 0 ? strlen(s)
				     : strnlen(s, (size_t)spec->precision));
}

/* [blanks][prefix][zeros]digits[blanks] */
static void put_number(struct out *out, const struct spec *spec, u64 value,
		       unsigned base, const char *prefix, bool upper)
{
	const char *letters = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	char buf[DIGITS_MAX];
	size_t first = sizeof(buf);
	size_t digits, zeros = 0, blanks = 0, all;

	for (; value; value /= base)
		buf[--first] = letters[value % base];
	digits = sizeof(buf) - first;

	if (spec->precision >= 0)
		zeros = max(digits, (size_t)spec->precision) - digits;
	else if (!digits)
		zeros = 1;
	/* %#o asks for as much precision as makes the first digit a zero. */
	if (base == 8 && spec->alt && !zeros)
		zeros = 1;

	all = strlen(prefix) + zeros + digits;
	if (spec->width > all)
		blanks = spec->width - all;
	if (spec->zero && !spec->left && spec->precision < 0) {
		zeros += blanks;
		blanks = 0;
	}

	if (!spec->left)
		pad(out, ' ', blanks);
	put(out, prefix, strlen(prefix));
	pad(out, '0', zeros);
	put(out, buf + first, digits);
	if (spec->left)
		pad(out, ' ', blanks);
}

static void put_signed(struct out *out, const struct spec *spec, s64 value)
{
	const char *sign = spec->plus ? "+" : spec->space ? " " : "";

	if (value < 0)
		sign = "-";
	put_number(out, spec, value < 0 ? 0 - (u64)value : (u64)value, 10, sign,
		   false);
}

static void put_pointer(struct out *out, const struct spec *spec, u64 addr)
{
	struct spec digits = *spec;

	digits.precision = 16;
	put_number(out, &digits, addr, 16, "0x", false);
}

static void put_symbol(struct out *out, const struct spec *spec, u64 addr)
{
	char name[SYMBOL_MAX];

	if (printf_symbol && printf_symbol(addr, name, sizeof(name)))
		put_text(out, spec, name, strlen(name));
	else
		put_pointer(out, spec, addr);
}

static const char *parse_flags(const char *f, struct spec *spec)
{
	for (;; f++) {
		switch (*f) {
		case '-':
			spec->left = true;
			break;
		case '+':
			spec->plus = true;
			break;
		case ' ':
			spec->space = true;
			break;
		case '#':
			spec->alt = true;
			break;
		case '0':
			spec->zero = true;
			break;
		default:
			return f;
		}
	}
}

/* A number of the format string; large ones are as good as a million. */
static const char *parse_count(const char *f, int *count)
{
	for (*count = 0; char_is_digit(*f); f++)
		if (*count < 1000000)
			*count = *count * 10 + (*f - '0');
	return f;
}

static const char *parse_size(const char *f, struct spec *spec)
{
	spec->size = sizeof(int);
	switch (*f) {
	case 'h':
		spec->size = f[1] == 'h' ? 1 : 2;
		return f + (f[1] == 'h' ? 2 : 1);
	case 'l':
	case 'z':
	case 't':
	case 'j':
		spec->size = sizeof(long);
		return f + (f[0] == 'l' && f[1] == 'l' ? 2 : 1);
	default:
		return f;
	}
}

/* Cuts the 64-bit argument to its size, as %hhx and friends ask. */
static u64 cut_unsigned(u64 value, int size)
{
	return size == 8 ? value : value & ((1ULL << (size * 8)) - 1);
}

static s64 cut_signed(u64 value, int size)
{
	int unused = 64 - size * 8;

	return (s64)(value << unused) >> unused;
}

/* A va_list that can be passed on: in some ABIs it is an array. */
struct args {
	va_list ap;
};

static u64 next_integer(struct args *args, int size)
{
	STATIC_ASSERT(sizeof(long) == sizeof(long long));
	return size == 8 ? va_arg(args->ap, u64)
			 : va_arg(args->ap, unsigned int);
}

/* Flags, width, precision and size; returns the conversion's letter. */
static const char *parse_spec(const char *f, struct spec *spec,
			      struct args *args)
{
	int width;

	*spec = (struct spec){ .precision = -1 };
	f = parse_flags(f, spec);
	if (*f == '*') {
		width = va_arg(args->ap, int);
		f++;
	} else {
		f = parse_count(f, &width);
	}
	if (width < 0)
		spec->left = true;
	spec->width = width < 0 ? 0 - (size_t)width : (size_t)width;

	if (*f == '.') {
		f++;
		if (*f == '*') {
			spec->precision = max(va_arg(args->ap, int), -1);
			f++;
		} else {
			f = parse_count(f, &spec->precision);
		}
	}
	return parse_size(f, spec);
}

/*
 * Writes the conversion whose letter is at @f, of which @start is the %.
 * Returns what follows it.
 */
static const char *convert(struct out *out, const char *start, const char *f,
			   const struct spec *spec, struct args *args)
{
	u64 value;
	char c;

	switch (*f) {
	case 'd':
	case 'i':
		value = next_integer(args, spec->size);
		put_signed(out, spec, cut_signed(value, spec->size));
		break;
	case 'u':
	case 'o':
	case 'x':
	case 'X':
		value = cut_unsigned(next_integer(args, spec->size),
				     spec->size);
		put_number(out, spec, value,
			   *f == 'u'   ? 10
			   : *f == 'o' ? 8
				       : 16,
			   !spec->alt || !value ? ""
			   : *f == 'x'		? "0x"
			   : *f == 'X'		? "0X"
						: "",
			   *f == 'X');
		break;
	case 'c':
		c = (char)va_arg(args->ap, int);
		put_text(out, spec, &c, 1);
		break;
	case 's':
		put_string(out, spec, va_arg(args->ap, const char *));
		break;
	case 'p':
		value = (uintptr_t)va_arg(args->ap, void *);
		if (f[1] == 'S') {
			put_symbol(out, spec, value);
			f++;
		} else {
			put_pointer(out, spec, value);
		}
		break;
	case '%':
		put(out, "%", 1);
		break;
	default: /* Unknown, or the string ends inside: as it stands. */
		put(out, start, (size_t)(f - start));
		return f;
	}
	return f + 1;
}

int vformat(format_sink sink, void *arg, const char *fmt, va_list ap)
{
	struct out out = { sink, arg, 0 };
	struct args args;
	struct spec spec;

	va_copy(args.ap, ap);
	while (*fmt) {
		const char *start = fmt;

		while (*fmt && *fmt != '%')
			fmt++;
		put(&out, start, (size_t)(fmt - start));
		if (!*fmt)
			break;
		start = fmt;
		fmt = parse_spec(fmt + 1, &spec, &args);
		fmt = convert(&out, start, fmt, &spec, &args);
	}
	va_end(args.ap);
	return (int)out.count;
}

int format(format_sink sink, void *arg, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vformat(sink, arg, fmt, ap);
	va_end(ap);
	return n;
}

struct buffer {
	char *at;
	size_t left; /* the terminator's byte not counted */
};

static void buffer_put(void *arg, const char *s, size_t n)
{
	struct buffer *buffer = arg;

	n = min(n, buffer->left);
	memcpy(buffer->at, s, n);
	buffer->at += n;
	buffer->left -= n;
}

int vsnprintf(char *buf, size_t size, const char *fmt, va_list ap)
{
	char none;
	struct buffer buffer = { size ? buf : &none, size ? size - 1 : 0 };
	int n = vformat(buffer_put, &buffer, fmt, ap);

	*buffer.at = '\0';
	return n;
}

int snprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, size, fmt, ap);
	va_end(ap);
	return n;
}

size_t scnprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, size, fmt, ap);
	va_end(ap);
	return size ? min((size_t)n, size - 1) : 0;
}
