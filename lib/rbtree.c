// SPDX-License-Identifier: MIT
/*
 * Red-black trees. What keeps them balanced:
 *	- the root is black, and so is every missing child
 *	- a red node has no red child
 *	- all paths from a node down to a missing child have as many black nodes
 *
 * Every repair exists in two mirror images. The children are an array, so @dir
 * (0 or 1) names a side, !dir the other, and each repair is written once.
 */
#include <lib/rbtree.h>

static bool is_red(const struct rb_node *node)
{
	return node && node->red;
}

static int side_of(const struct rb_node *node)
{
	return node == node->parent->child[1];
}

/* Lets @new (which may be NULL) take the place of @old under its parent. */
static void replace(struct rb_root *root, struct rb_node *old,
		    struct rb_node *new)
{
	if (old->parent)
		old->parent->child[side_of(old)] = new;
	else
		root->node = new;
	if (new)
		new->parent = old->parent;
}

/*
 * Turns the tree at @top towards @dir; returns its new top:
 *
 *	    top              up
 *	   /   \            /  \
 *	  a     up   -->  top   c		(dir = 0)
 *	       /  \      /   \
 *	      b    c    a     b
 */
static struct rb_node *rotate(struct rb_root *root, struct rb_node *top,
			      int dir)
{
	struct rb_node *up = top->child[!dir];

	top->child[!dir] = up->child[dir];
	if (top->child[!dir])
		top->child[!dir]->parent = top;
	replace(root, top, up);
	up->child[dir] = top;
	top->parent = up;
	return up;
}

/* @node is red; its parent may be red too, which is the one thing wrong. */
static void repair_added(struct rb_root *root, struct rb_node *node)
{
	struct rb_node *parent, *grandparent, *uncle;

	while (is_red(parent = node->parent)) {
		int dir = side_of(parent);

		grandparent = parent->parent; /* a red parent is not the root */
		uncle = grandparent->child[!dir];
		if (is_red(uncle)) {
			/* Both may turn black; the trouble moves up by two. */
			parent->red = uncle->red = false;
			grandparent->red = true;
			node = grandparent;
			continue;
		}
		if (node == parent->child[!dir])
			parent = rotate(root, parent, dir);
		parent->red = false;
		grandparent->red = true;
		rotate(root, grandparent, !dir);
		break;
	}
	root->node->red = false;
}

void rb_add(struct rb_root *root, struct rb_node *node, rb_less less)
{
	struct rb_node **link = &root->node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = &parent->child[!less(node, parent)];
	}
	*node = (struct rb_node){ .parent = parent, .red = true };
	*link = node;
	repair_added(root, node);
}

/*
 * Paths through the @dir child of @parent have one black node too few. That
 * child is black or missing, so its sibling exists.
 */
static void repair_erased(struct rb_root *root, struct rb_node *parent, int dir)
{
	for (;;) {
		struct rb_node *sibling = parent->child[!dir];

		if (sibling->red) {
			/* Make it black: its child becomes the sibling. */
			sibling->red = false;
			parent->red = true;
			rotate(root, parent, dir);
			sibling = parent->child[!dir];
		}
		if (is_red(sibling->child[dir]) &&
		    !is_red(sibling->child[!dir])) {
			sibling->child[dir]->red = false;
			sibling->red = true;
			sibling = rotate(root, sibling, !dir);
		}
		if (is_red(sibling->child[!dir])) {
			/* Give the short side one node of the long one. */
			sibling->red = parent->red;
			parent->red = false;
			sibling->child[!dir]->red = false;
			rotate(root, parent, dir);
			return;
		}
		/* Shorten the sibling's side too; @parent is then too short. */
		sibling->red = true;
		if (parent->red || !parent->parent) {
			parent->red = false;
			return;
		}
		dir = side_of(parent);
		parent = parent->parent;
	}
}

/* Lets @next, which has no smaller child, trade places with @node. */
static void swap_with_next(struct rb_root *root, struct rb_node *node,
			   struct rb_node *next)
{
	struct rb_node old_next = *next;

	replace(root, node, next);
	next->red = node->red;
	next->child[0] = node->child[0];
	next->child[0]->parent = next;
	if (old_next.parent == node) {
		next->child[1] = node;
		node->parent = next;
	} else {
		next->child[1] = node->child[1];
		next->child[1]->parent = next;
		old_next.parent->child[0] = node;
		node->parent = old_next.parent;
	}
	node->red = old_next.red;
	node->child[0] = NULL;
	node->child[1] = old_next.child[1];
	if (node->child[1])
		node->child[1]->parent = node;
}

void rb_erase(struct rb_root *root, struct rb_node *node)
{
	struct rb_node *parent, *child;
	int dir;

	if (node->child[0] && node->child[1])
		swap_with_next(root, node, rb_next(node));
	/* Now it has one child at most, and a child, if any, is red. */
	child = node->child[0] ? node->child[0] : node->child[1];
	parent = node->parent;
	dir = parent ? side_of(node) : 0;
	replace(root, node, child);
	if (child)
		child->red = false;
	else if (!node->red && parent)
		repair_erased(root, parent, dir);
	*node = (struct rb_node){ 0 };
}

struct rb_node *rb_find(const struct rb_root *root, const void *key,
			rb_compare compare)
{
	struct rb_node *node = root->node, *found = NULL;

	while (node) {
		int order = compare(key, node);

		if (!order)
			found = node;
		node = node->child[order > 0];
	}
	return found;
}

struct rb_node *rb_find_at_or_before(const struct rb_root *root,
				     const void *key, rb_compare compare)
{
	struct rb_node *node = root->node, *found = NULL;

	while (node) {
		bool at_or_before = compare(key, node) >= 0;

		if (at_or_before)
			found = node;
		node = node->child[at_or_before];
	}
	return found;
}

static struct rb_node *outermost(struct rb_node *node, int dir)
{
	while (node && node->child[dir])
		node = node->child[dir];
	return node;
}

struct rb_node *rb_first(const struct rb_root *root)
{
	return outermost(root->node, 0);
}

struct rb_node *rb_last(const struct rb_root *root)
{
	return outermost(root->node, 1);
}

/* The neighbour on side @dir. */
static struct rb_node *step(const struct rb_node *node, int dir)
{
	if (node->child[dir])
		return outermost(node->child[dir], !dir);
	while (node->parent && side_of(node) == dir)
		node = node->parent;
	return node->parent;
}

struct rb_node *rb_next(const struct rb_node *node)
{
	return step(node, 1);
}

struct rb_node *rb_prev(const struct rb_node *node)
{
	return step(node, 0);
}
