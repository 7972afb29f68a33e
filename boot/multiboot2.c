// SPDX-License-Identifier: MIT
/*
 * Multiboot2 boot information (Multiboot2 2.0, 3.6): what GRUB hands over.
 *
 *	u32 total_size, u32 reserved
 *	tag, tag, ..., end tag		each at a multiple of 8
 *
 *	tag:  u32 type, u32 size (header included, padding not), data
 *
 * Little-endian. Unknown tags are passed over, as the specification asks.
 */
#include <kernel/bootinfo.h>
#include <lib/byteorder.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <lib/text.h>

#define INFO_HEADER   8
#define INFO_SIZE_MAX 0x100000
#define TAG_HEADER    8

enum tag_type {
	TAG_END = 0,
	TAG_CMDLINE = 1,
	TAG_LOADER = 2,
	TAG_MODULE = 3,
	TAG_MEMORY_MAP = 6,
	TAG_RSDP_OLD = 14,
	TAG_RSDP_NEW = 15,
};

struct tag {
	u32 type;
	u32 offset; /* in the boot information, for messages */
	const u8 *data;
	u32 size; /* of the data */
};

static int tag_too_short(struct bootinfo *bi, const struct tag *tag)
{
	return bootinfo_fail(bi, -EINVAL,
			     "multiboot2: tag %u is too short (offset %u)",
			     tag->type, tag->offset);
}

/* The text at @at, which must be terminated within the tag; NULL if not. */
static const char *tag_text(const struct tag *tag, u32 at)
{
	const char *s = (const char *)tag->data + at;

	if (at >= tag->size || strnlen(s, tag->size - at) == tag->size - at)
		return NULL;
	return s;
}

static int tag_unterminated(struct bootinfo *bi, const struct tag *tag)
{
	return bootinfo_fail(
		bi, -EINVAL,
		"multiboot2: the text of tag %u does not end (offset %u)",
		tag->type, tag->offset);
}

static int parse_cmdline(struct bootinfo *bi, const struct tag *tag)
{
	const char *s = tag_text(tag, 0);

	if (!s)
		return tag_unterminated(bi, tag);
	return bootinfo_set_cmdline(bi, s, strlen(s));
}

static int parse_loader(struct bootinfo *bi, const struct tag *tag)
{
	const char *s = tag_text(tag, 0);

	if (!s)
		return tag_unterminated(bi, tag);
	/* A long name is cut: it is for people only. */
	strscpy(bi->loader, s, sizeof(bi->loader));
	return 0;
}

/* u32 start, u32 end, text */
static int parse_module(struct bootinfo *bi, const struct tag *tag)
{
	u32 start, end;

	if (tag->size < 8)
		return tag_too_short(bi, tag);
	start = load_le32(tag->data);
	end = load_le32(tag->data + 4);
	if (end < start)
		return bootinfo_fail(bi, -EINVAL,
				     "multiboot2: a module ends before it "
				     "starts (offset %u)",
				     tag->offset);
	if (!bi->initrd_size) {
		bi->initrd_pa = start;
		bi->initrd_size = end - start;
	}
	return bootinfo_add(bi, start, end - start, BOOTINFO_MODULE);
}

/* u32 entry_size, u32 version, entries of u64 base, u64 size, u32 type */
static int parse_memory_map(struct bootinfo *bi, const struct tag *tag)
{
	u32 entry_size;

	if (tag->size < 8)
		return tag_too_short(bi, tag);
	entry_size = load_le32(tag->data);
	if (entry_size < 20)
		return bootinfo_fail(bi, -EINVAL,
				     "multiboot2: memory map entries of %u "
				     "bytes (offset %u)",
				     entry_size, tag->offset);
	for (u32 at = 8; tag->size - at >= entry_size; at += entry_size) {
		const u8 *entry = tag->data + at;
		u32 type = load_le32(entry + 16);
		int err = bootinfo_add(bi, load_le64(entry),
				       load_le64(entry + 8),
				       bootinfo_memory_of_bios(type));

		if (err)
			return err;
	}
	return 0;
}

static int parse_rsdp(struct bootinfo *bi, const struct tag *tag)
{
	u32 least = tag->type == TAG_RSDP_NEW ? 36 : 20;

	if (tag->size < least)
		return tag_too_short(bi, tag);
	/* Both tags may be there, in either order: the new one has the XSDT. */
	if (bi->rsdp_size > least)
		return 0;
	memcpy(bi->rsdp, tag->data, least);
	bi->rsdp_size = least;
	return 0;
}

static int parse_tag(struct bootinfo *bi, const struct tag *tag)
{
	switch (tag->type) {
	case TAG_CMDLINE:
		return parse_cmdline(bi, tag);
	case TAG_LOADER:
		return parse_loader(bi, tag);
	case TAG_MODULE:
		return parse_module(bi, tag);
	case TAG_MEMORY_MAP:
		return parse_memory_map(bi, tag);
	case TAG_RSDP_OLD:
	case TAG_RSDP_NEW:
		return parse_rsdp(bi, tag);
	default:
		return 0;
	}
}

/*
 * GRUB puts a backslash before each quote and backslash of an argument, and
 * quotes round an argument with spaces. Without the former the text is what was
 * written in its configuration; within the latter our own rules are the same.
 */
static void undo_grub_quoting(struct bootinfo *bi)
{
	const char *from = bi->cmdline;
	char *to = bi->cmdline;
	bool quoted = false;

	if (strncmp(bi->loader, "GRUB", 4))
		return;
	while (*from) {
		if (*from == '"')
			quoted = !quoted;
		if (*from == '\\' && from[1]) {
			if (quoted)
				*to++ = *from;
			from++;
		}
		*to++ = *from++;
	}
	*to = '\0';
}

int multiboot2_parse(struct bootinfo *bi, const void *info, size_t limit)
{
	const u8 *base = info;
	bool ended = false;
	u32 total, size;
	u64 at;

	strscpy(bi->protocol, "multiboot2", sizeof(bi->protocol));
	if (limit < INFO_HEADER)
		return bootinfo_fail(bi, -EINVAL,
				     "multiboot2: no boot information");
	total = load_le32(base);
	if (total < INFO_HEADER || total > min(limit, (size_t)INFO_SIZE_MAX))
		return bootinfo_fail(bi, -EINVAL,
				     "multiboot2: information of %u bytes",
				     total);

	for (at = INFO_HEADER; !ended; at = ALIGN_UP(at + size, 8ULL)) {
		struct tag tag;
		int err;

		if (at + TAG_HEADER > total)
			return bootinfo_fail(
				bi, -EINVAL,
				"multiboot2: no end tag in %u bytes", total);
		tag.type = load_le32(base + at);
		tag.offset = (u32)at;
		size = load_le32(base + at + 4);
		if (size < TAG_HEADER || size > total - at)
			return bootinfo_fail(
				bi, -EINVAL,
				"multiboot2: tag %u %s (offset %u)", tag.type,
				size < TAG_HEADER ? "is shorter than its header"
						  : "runs past the end",
				tag.offset);
		tag.data = base + at + TAG_HEADER;
		tag.size = size - TAG_HEADER;
		err = parse_tag(bi, &tag);
		if (err)
			return err;
		ended = tag.type == TAG_END;
	}
	undo_grub_quoting(bi);
	if (!bootinfo_ram_size(bi))
		return bootinfo_fail(
			bi, -ENODATA,
			"multiboot2: no memory map with RAM in it");
	return 0;
}
