/* SPDX-License-Identifier: MIT */
/*
 * Red-black trees, intrusive: a struct rb_node sits inside each object, and the
 * tree's order is whatever the caller's comparison says. The caller's lock
 * protects a tree; any context, no allocation, no recursion.
 *
 *	rb_add(&root, &new->node, less)		O(log n)
 *	rb_find(&root, &key, compare)		O(log n)
 *	rb_erase(&root, &old->node)		O(log n)
 *	for (n = rb_first(&root); n; n = rb_next(n))
 */
#ifndef SONDE_LIB_RBTREE_H
#define SONDE_LIB_RBTREE_H

#include <lib/compiler.h>

struct rb_node {
	struct rb_node *parent;
	struct rb_node *child[2]; /* smaller, larger */
	bool red;
};

struct rb_root {
	struct rb_node *node;
};

#define RB_ROOT			  ((struct rb_root){ NULL })

#define rb_entry(p, type, member) container_of(p, type, member)

/* Whether @a belongs before @b. */
typedef bool (*rb_less)(const struct rb_node *a, const struct rb_node *b);
/* <0, 0, >0: @key belongs before, is at, or belongs behind @node. */
typedef int (*rb_compare)(const void *key, const struct rb_node *node);

/* Adds @node behind all nodes that it is not less than. */
void rb_add(struct rb_root *root, struct rb_node *node, rb_less less);
void rb_erase(struct rb_root *root, struct rb_node *node);

/* A node at @key (the first, if several are), or NULL. */
struct rb_node *rb_find(const struct rb_root *root, const void *key,
			rb_compare compare);
/* The last node that is at or before @key, or NULL. */
struct rb_node *rb_find_at_or_before(const struct rb_root *root,
				     const void *key, rb_compare compare);

struct rb_node *rb_first(const struct rb_root *root);
struct rb_node *rb_last(const struct rb_root *root);
struct rb_node *rb_next(const struct rb_node *node);
struct rb_node *rb_prev(const struct rb_node *node);

#endif
