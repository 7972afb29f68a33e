// SPDX-License-Identifier: MIT
/*
 * lib/rbtree.c against a sorted array, with the tree's rules checked after each
 * change.
 */
#include "../test.h"
#include "../random.h"
#include <lib/rbtree.h>

#define ITEMS 200

struct item {
	struct rb_node node;
	int key;
	bool in_tree;
};

static bool item_less(const struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct item, node)->key <
	       rb_entry(b, struct item, node)->key;
}

static int item_compare(const void *key, const struct rb_node *node)
{
	int a = *(const int *)key, b = rb_entry(node, struct item, node)->key;

	return (a > b) - (a < b);
}

/* Black nodes on each path below @node; -1 if a rule is broken. */
static int black_height(const struct rb_node *node)
{
	int height[2];

	if (!node)
		return 0;
	for (int dir = 0; dir < 2; dir++) {
		const struct rb_node *child = node->child[dir];

		if (child &&
		    (child->parent != node || (child->red && node->red)))
			return -1;
		height[dir] = black_height(child);
	}
	if (height[0] < 0 || height[0] != height[1])
		return -1;
	return height[0] + !node->red;
}

static bool tree_is_sound(const struct rb_root *root)
{
	return !root->node || (!root->node->parent && !root->node->red &&
			       black_height(root->node) > 0);
}

/* Walks both ways; returns the number of nodes, -1 if they are not sorted. */
static int tree_walk(const struct rb_root *root)
{
	const struct rb_node *node, *last = NULL;
	int count = 0;

	for (node = rb_first(root); node; last = node, node = rb_next(node)) {
		if (rb_prev(node) != last || (last && item_less(node, last)))
			return -1;
		count++;
	}
	return rb_last(root) == last ? count : -1;
}

TEST(rbtree, an_empty_tree_has_no_nodes)
{
	struct rb_root root = RB_ROOT;
	int key = 1;

	EXPECT_EQ(rb_first(&root), NULL);
	EXPECT_EQ(rb_last(&root), NULL);
	EXPECT_EQ(rb_find(&root, &key, item_compare), NULL);
	EXPECT_EQ(rb_find_at_or_before(&root, &key, item_compare), NULL);
}

TEST(rbtree, random_changes_keep_it_sorted_and_balanced)
{
	static struct item items[ITEMS];
	struct rb_root root = RB_ROOT;
	u64 seed = 23;
	int count = 0;

	for (int i = 0; i < ITEMS; i++)
		items[i] = (struct item){
			.key = (int)random_below(&seed, ITEMS / 2),
		};
	for (int i = 0; i < 10000; i++) {
		struct item *item = &items[random_below(&seed, ITEMS)];

		if (item->in_tree)
			rb_erase(&root, &item->node);
		else
			rb_add(&root, &item->node, item_less);
		item->in_tree = !item->in_tree;
		count += item->in_tree ? 1 : -1;
		ASSERT_TRUE(tree_is_sound(&root));
		if (i % 16 == 0)
			ASSERT_EQ(tree_walk(&root), count);
	}
}

TEST(rbtree, rising_and_falling_orders_stay_balanced)
{
	static struct item items[ITEMS];
	struct rb_root root = RB_ROOT;

	for (int i = 0; i < ITEMS; i++) {
		items[i].key = i;
		rb_add(&root, &items[i].node, item_less);
		ASSERT_TRUE(tree_is_sound(&root));
	}
	EXPECT_LE(black_height(root.node), 8);
	for (int i = ITEMS; i--;) {
		rb_erase(&root, &items[i].node);
		ASSERT_TRUE(tree_is_sound(&root));
	}
	EXPECT_EQ(root.node, NULL);
}

TEST(rbtree, searches_find_what_a_scan_finds)
{
	static struct item items[64];
	struct rb_root root = RB_ROOT;
	u64 seed = 29;

	for (int i = 0; i < 64; i++) {
		items[i].key = 2 * (int)random_below(&seed, 100);
		rb_add(&root, &items[i].node, item_less);
	}
	for (int key = -1; key < 202; key++) {
		struct rb_node *exact, *before;
		int best = -1;
		bool there = false;

		for (int i = 0; i < 64; i++) {
			there |= items[i].key == key;
			if (items[i].key <= key)
				best = max(best, items[i].key);
		}
		exact = rb_find(&root, &key, item_compare);
		before = rb_find_at_or_before(&root, &key, item_compare);
		EXPECT_EQ(exact != NULL, there);
		ASSERT_EQ(before != NULL, best >= 0);
		if (before)
			EXPECT_EQ(rb_entry(before, struct item, node)->key,
				  best);
	}
}

TEST(rbtree, equal_keys_keep_their_order_of_addition)
{
	static struct item items[50];
	struct rb_root root = RB_ROOT;
	struct rb_node *node;
	int key = 7, i = 0;

	for (i = 0; i < 50; i++) {
		items[i].key = 7;
		rb_add(&root, &items[i].node, item_less);
	}
	EXPECT_EQ(rb_find(&root, &key, item_compare), &items[0].node);
	for (node = rb_first(&root), i = 0; node; node = rb_next(node), i++)
		EXPECT_EQ(node, &items[i].node);
}
