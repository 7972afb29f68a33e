/* SPDX-License-Identifier: MIT */
/*
 * Circular doubly linked lists, intrusive: a struct list_head sits inside each
 * object, and another one is the list's head. All operations are O(1). The
 * caller's lock protects a list; any context.
 */
#ifndef SONDE_LIB_LIST_H
#define SONDE_LIB_LIST_H

#include <lib/compiler.h>

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD_INIT(name)     \
	{                        \
		&(name), &(name) \
	}
#define LIST_HEAD(name) struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void list_insert_between(struct list_head *entry,
				       struct list_head *prev,
				       struct list_head *next)
{
	entry->prev = prev;
	entry->next = next;
	prev->next = entry;
	next->prev = entry;
}

/* Puts @entry first. */
static inline void list_add(struct list_head *entry, struct list_head *head)
{
	list_insert_between(entry, head, head->next);
}

/* Puts @entry last, or before @head if that is an entry itself. */
static inline void list_add_tail(struct list_head *entry,
				 struct list_head *head)
{
	list_insert_between(entry, head->prev, head);
}

/* Takes @entry out and leaves it an empty list, so that doing it twice is harmless. */
static inline void list_del_init(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	INIT_LIST_HEAD(entry);
}

/* Takes @entry out; its pointers become NULL, so that using it again faults. */
static inline void list_del(struct list_head *entry)
{
	entry->prev->next = entry->next;
	entry->next->prev = entry->prev;
	entry->next = entry->prev = NULL;
}

static inline void list_move_tail(struct list_head *entry,
				  struct list_head *head)
{
	list_del(entry);
	list_add_tail(entry, head);
}

/* Moves all entries of @from to the end of @to. */
static inline void list_splice_tail_init(struct list_head *from,
					 struct list_head *to)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	INIT_LIST_HEAD(from);
}

#define list_entry(p, type, member) container_of(p, type, member)

#define list_first_entry(head, type, member) \
	list_entry((head)->next, type, member)
#define list_last_entry(head, type, member) \
	list_entry((head)->prev, type, member)
#define list_first_entry_or_null(head, type, member) \
	(list_empty(head) ? NULL : list_first_entry(head, type, member))
#define list_next_entry(pos, member) \
	list_entry((pos)->member.next, __typeof__(*(pos)), member)

#define list_for_each(pos, head) \
	for (pos = (head)->next; pos != (head); pos = pos->next)

#define list_for_each_entry(pos, head, member)                       \
	for (pos = list_first_entry(head, __typeof__(*pos), member); \
	     &pos->member != (head); pos = list_next_entry(pos, member))

/* As above; the body may take @pos out of the list. */
#define list_for_each_entry_safe(pos, ahead, head, member)           \
	for (pos = list_first_entry(head, __typeof__(*pos), member), \
	    ahead = list_next_entry(pos, member);                    \
	     &pos->member != (head);                                 \
	     pos = ahead, ahead = list_next_entry(ahead, member))

#endif
