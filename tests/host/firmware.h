/* SPDX-License-Identifier: MIT */
/*
 * Firmware to feed the parsers of boot/ with: captured physical memory, and an
 * Open Firmware client interface over a captured device tree. Each piece of
 * memory and each property is an allocation of exactly its size, so that the
 * address sanitizer sees a read beyond it.
 */
#ifndef SONDE_TESTS_HOST_FIRMWARE_H
#define SONDE_TESTS_HOST_FIRMWARE_H

#include <kernel/bootinfo.h>

struct piece {
	phys_t pa;
	size_t size;
	u8 *bytes;
};

#define PIECES_MAX 32

struct fake_memory {
	struct boot_reader reader;
	struct piece pieces[PIECES_MAX];
	unsigned count;
};

/* Loads tests/host/data/@file; ends the program if that cannot be done. */
struct fake_memory *fake_memory_load(const char *file);
struct fake_memory *fake_memory_new(void);
void fake_memory_add(struct fake_memory *mem, phys_t pa, const void *bytes,
		     size_t size);
struct piece *fake_memory_at(struct fake_memory *mem, phys_t pa);
/* Cuts a piece to @size bytes, in a new allocation. */
void piece_resize(struct piece *piece, size_t size);
void fake_memory_free(struct fake_memory *mem);

struct of_prop {
	char name[64];
	u8 *bytes;
	u32 size;
};

#define OF_NODES_MAX 32
#define OF_PROPS_MAX 96

struct of_node {
	char name[64];
	u32 child, peer; /* handles; 0: none */
	struct of_prop props[OF_PROPS_MAX];
	unsigned prop_count;
};

/* The handle of a node is its index + 1; so is that of an instance of it. */
struct fake_of {
	struct of_client client;
	struct of_node nodes[OF_NODES_MAX];
	unsigned node_count;
	unsigned calls;
	unsigned refuse_call; /* this call fails as such; 0: none does */
};

struct fake_of *fake_of_load(const char *file);
struct of_node *fake_of_find(struct fake_of *of, const char *path);
struct of_prop *of_node_prop(struct of_node *node, const char *name);
void of_prop_set(struct of_node *node, const char *name, const void *bytes,
		 u32 size);
void of_prop_set_u32(struct of_node *node, const char *name, u32 value);
void of_prop_remove(struct of_node *node, const char *name);
void fake_of_free(struct fake_of *of);

/* A zeroed struct bootinfo; static, since it is large. */
struct bootinfo *bootinfo_fresh(void);

/*
 * What must hold after every parse, however broken the input: a reason of one
 * line if and only if it failed, and a map that is sorted and free of overlaps.
 * Returns what is wrong, or NULL.
 */
const char *bootinfo_unsound(const struct bootinfo *bi, int err);

#endif
