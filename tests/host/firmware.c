// SPDX-License-Identifier: MIT
/*
 * Captured firmware for the tests of boot/; see firmware.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "firmware.h"
#include <lib/byteorder.h>
#include <lib/errno.h>
#include <lib/text.h>

#define DATA "tests/host/data/"

static u8 *load_file(const char *file, size_t *size)
{
	char path[128];
	FILE *f;
	u8 *bytes = malloc(1 << 16);

	snprintf(path, sizeof(path), DATA "%s", file);
	f = fopen(path, "rb");
	if (!f) {
		perror(path);
		exit(1);
	}
	*size = fread(bytes, 1, 1 << 16, f);
	fclose(f);
	return bytes;
}

static u8 *copy_of(const void *bytes, size_t size)
{
	u8 *copy = malloc(size);

	memcpy(copy, bytes, size);
	return copy;
}

/* Physical memory -----------------------------------------------------------*/

struct piece *fake_memory_at(struct fake_memory *mem, phys_t pa)
{
	for (unsigned i = 0; i < mem->count; i++)
		if (pa - mem->pieces[i].pa < mem->pieces[i].size)
			return &mem->pieces[i];
	return NULL;
}

static int fake_read(const struct boot_reader *reader, phys_t pa, void *buf,
		     size_t n)
{
	struct fake_memory *mem = container_of(reader, struct fake_memory,
					       reader);
	struct piece *piece = fake_memory_at(mem, pa);

	if (!piece || n > piece->size - (pa - piece->pa))
		return -EFAULT;
	memcpy(buf, piece->bytes + (pa - piece->pa), n);
	return 0;
}

struct fake_memory *fake_memory_new(void)
{
	struct fake_memory *mem = calloc(1, sizeof(*mem));

	mem->reader.read = fake_read;
	return mem;
}

void fake_memory_add(struct fake_memory *mem, phys_t pa, const void *bytes,
		     size_t size)
{
	struct piece *piece = &mem->pieces[mem->count++];

	*piece = (struct piece){ pa, size, copy_of(bytes, size) };
}

struct fake_memory *fake_memory_load(const char *file)
{
	struct fake_memory *mem = fake_memory_new();
	size_t size;
	u8 *bytes = load_file(file, &size);

	for (size_t at = 0; at < size; at += 16 + load_le64(bytes + at + 8))
		fake_memory_add(mem, load_le64(bytes + at), bytes + at + 16,
				load_le64(bytes + at + 8));
	free(bytes);
	return mem;
}

void piece_resize(struct piece *piece, size_t size)
{
	u8 *old = piece->bytes;

	piece->bytes = calloc(1, size);
	memcpy(piece->bytes, old, min(size, piece->size));
	piece->size = size;
	free(old);
}

void fake_memory_free(struct fake_memory *mem)
{
	for (unsigned i = 0; i < mem->count; i++)
		free(mem->pieces[i].bytes);
	free(mem);
}

/* Open Firmware -------------------------------------------------------------*/

static struct of_node *node_of(struct fake_of *of, u64 handle)
{
	return handle - 1 < of->node_count ? &of->nodes[handle - 1] : NULL;
}

struct of_prop *of_node_prop(struct of_node *node, const char *name)
{
	for (unsigned i = 0; i < node->prop_count; i++)
		if (!strcmp(node->props[i].name, name))
			return &node->props[i];
	return NULL;
}

void of_prop_set(struct of_node *node, const char *name, const void *bytes,
		 u32 size)
{
	struct of_prop *prop = of_node_prop(node, name);

	if (!prop) {
		prop = &node->props[node->prop_count++];
		strscpy(prop->name, name, sizeof(prop->name));
	}
	free(prop->bytes);
	prop->bytes = copy_of(bytes, size);
	prop->size = size;
}

void of_prop_set_u32(struct of_node *node, const char *name, u32 value)
{
	u8 cell[4];

	store_be32(cell, value);
	of_prop_set(node, name, cell, sizeof(cell));
}

void of_prop_remove(struct of_node *node, const char *name)
{
	struct of_prop *prop = of_node_prop(node, name);

	free(prop->bytes);
	*prop = node->props[--node->prop_count];
	node->props[node->prop_count].bytes = NULL;
}

struct of_node *fake_of_find(struct fake_of *of, const char *path)
{
	struct of_node *node = &of->nodes[0];

	while (*path == '/' && path[1]) {
		size_t n = strcspn(++path, "/");
		struct of_node *child = node_of(of, node->child);

		while (child && (strncmp(child->name, path, n) ||
				 (child->name[n] && child->name[n] != '@')))
			child = node_of(of, child->peer);
		if (!child)
			return NULL;
		node = child;
		path += n;
	}
	return node;
}

static s32 getprop(struct of_node *node, const char *name, void *buf, u64 size)
{
	struct of_prop *prop = node ? of_node_prop(node, name) : NULL;

	if (!prop)
		return -1;
	memcpy(buf, prop->bytes, min(size, (u64)prop->size));
	return (s32)prop->size;
}

static int fake_call(const struct of_client *client, const char *service,
		     unsigned nargs, unsigned nret, u64 *args)
{
	struct fake_of *of = container_of(client, struct fake_of, client);
	struct of_node *node = node_of(of, args[0]);
	s32 result = -1;

	if (++of->calls == of->refuse_call || nret != 1)
		return -1;
	if (!strcmp(service, "finddevice")) {
		node = fake_of_find(of, (const char *)(uintptr_t)args[0]);
		if (node)
			result = (s32)(node - of->nodes) + 1;
	} else if (!strcmp(service, "child")) {
		result = node ? (s32)node->child : -1;
	} else if (!strcmp(service, "peer")) {
		result = node ? (s32)node->peer : -1;
	} else if (!strcmp(service, "instance-to-package")) {
		result = node ? (s32)args[0] : -1;
	} else if (!strcmp(service, "getprop")) {
		result = getprop(node, (const char *)(uintptr_t)args[1],
				 (void *)(uintptr_t)args[2], args[3]);
	} else {
		return -1;
	}
	args[nargs] = (u64)(s64)result;
	return 0;
}

/* Flattened Devicetree 0.3, 5.4 */
enum { FDT_BEGIN = 1, FDT_END = 2, FDT_PROP = 3, FDT_NOP = 4, FDT_DONE = 9 };

static void load_nodes(struct fake_of *of, const u8 *fdt)
{
	const u8 *p = fdt + load_be32(fdt + 8);
	const char *names = (const char *)fdt + load_be32(fdt + 12);
	u32 open[16], *link = &(u32){ 0 };
	unsigned depth = 0;

	for (;;) {
		struct of_node *node;
		u32 size, what = load_be32(p);

		p += 4;
		switch (what) {
		case FDT_BEGIN:
			node = &of->nodes[of->node_count++];
			strscpy(node->name, (const char *)p,
				sizeof(node->name));
			*link = of->node_count;
			open[depth++] = of->node_count;
			link = &node->child;
			p += ALIGN_UP(strlen((const char *)p) + 1, 4UL);
			break;
		case FDT_END:
			link = &node_of(of, open[--depth])->peer;
			break;
		case FDT_PROP:
			size = load_be32(p);
			of_prop_set(node_of(of, open[depth - 1]),
				    names + load_be32(p + 4), p + 8, size);
			p += 8 + ALIGN_UP(size, 4U);
			break;
		case FDT_DONE:
			return;
		}
	}
}

struct fake_of *fake_of_load(const char *file)
{
	struct fake_of *of = calloc(1, sizeof(*of));
	size_t size;
	u8 *fdt = load_file(file, &size);
	struct of_node *vty;

	of->client.call = fake_call;
	load_nodes(of, fdt);
	free(fdt);
	/* Instances have their node's handle here. */
	vty = fake_of_find(of, "/vdevice/vty");
	of_prop_set_u32(fake_of_find(of, "/chosen"), "stdout",
			(u32)(vty - of->nodes) + 1);
	return of;
}

void fake_of_free(struct fake_of *of)
{
	for (unsigned i = 0; i < of->node_count; i++)
		for (unsigned k = 0; k < of->nodes[i].prop_count; k++)
			free(of->nodes[i].props[k].bytes);
	free(of);
}

/* struct bootinfo -----------------------------------------------------------*/

struct bootinfo *bootinfo_fresh(void)
{
	static struct bootinfo bi;

	memset(&bi, 0, sizeof(bi));
	return &bi;
}

const char *bootinfo_unsound(const struct bootinfo *bi, int err)
{
	size_t n = strnlen(bi->error, sizeof(bi->error));

	if (err > 0)
		return "a positive error";
	if (!err != !n)
		return err ? "an error without a reason"
			   : "a reason without an error";
	for (size_t i = 0; i < n; i++)
		if (!char_is_print(bi->error[i]))
			return "a reason that is not one line of text";
	if (n == sizeof(bi->error) ||
	    !memchr(bi->cmdline, 0, sizeof(bi->cmdline)) ||
	    !memchr(bi->loader, 0, sizeof(bi->loader)))
		return "a text that does not end";
	if (bi->memory_count > BOOTINFO_MEMORY_MAX ||
	    bi->cpu_count > BOOTINFO_CPUS_MAX ||
	    bi->ioapic_count > BOOTINFO_IOAPICS_MAX ||
	    bi->override_count > BOOTINFO_OVERRIDES_MAX ||
	    bi->vty_count > BOOTINFO_VTYS_MAX)
		return "a count beyond its array";
	for (unsigned i = 0; i < bi->memory_count; i++) {
		const struct bootinfo_range *range = &bi->memory[i];

		if (!range->size || range->base + range->size < range->base)
			return "a memory range that is empty or wraps round";
		if (i && range[-1].base + range[-1].size > range->base)
			return "memory ranges out of order";
	}
	return NULL;
}
