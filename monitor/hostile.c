// SPDX-License-Identifier: MIT
/*
 * A DEMONSTRATION: handlers as a broken or hostile client would write them, and
 * one that behaves. `probe add SYM kind=null` places one, to see that nobody but
 * its own session gets to feel it (docs/isolation.md).
 */
#include "monitor.h"
#include <kernel/heap.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/watch.h>

/* Does no harm: the engine counts. */
static int count_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
}

/* Read from memory, so that the compiler cannot know what it is. */
static volatile unsigned long null_address;

static int null_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return *(volatile int *)null_address;
}

static int loop_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	for (;;)
		barrier();
	return 0;
}

static int (*volatile deep_fn)(unsigned depth);

static __noinline int deep(unsigned depth)
{
	volatile char room[256];

	room[0] = (char)depth;
	return deep_fn(depth + 1) + room[0];
}

static int deep_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	deep_fn = deep;
	return deep(0);
}

static int lock_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	kfree(kmalloc(1));
	return 0;
}

static const struct {
	const char *name;
	kprobe_pre_handler_t handler;
} kinds[] = {
	{ "count", count_pre }, /* behaves */
	{ "null", null_pre },	/* dereferences NULL */
	{ "loop", loop_pre },	/* never returns */
	{ "deep", deep_pre },	/* recurses until its stack ends */
	{ "lock", lock_pre },	/* takes a lock that its victim may hold */
};

int hostile_handler(const char *name, kprobe_pre_handler_t *handler)
{
	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].name, name))
			continue;
		*handler = kinds[i].handler;
		return *handler == loop_pre && !probe_budget() ? -ENODEV : 0;
	}
	return -EINVAL;
}
