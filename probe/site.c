// SPDX-License-Identifier: MIT
/*
 * address -> site, and the immutable probe arrays of sites.
 *
 * Writers hold probe_mutex. Readers are hits: they walk a hash chain without any
 * lock. A site is completely built before one store links it in, and stays
 * readable (its next pointer too) until quiesce_cpus() after it was unlinked, so
 * a reader that was on the chain meanwhile finds its way to the end.
 */
#include <kernel/extable.h>
#include <kernel/heap.h>
#include <lib/errno.h>
#include <lib/string.h>
#include "detour.h"
#include "site.h"

struct site *site_buckets[1 << SITE_BUCKETS_LOG2];
static struct rb_root by_addr; /* the same sites, for walks in order */
static unsigned nr_sites;

struct mutex probe_mutex = MUTEX(probe_mutex);

/* Where nobody is to be called. */
static struct probe_set no_probes = { .probes = { NULL } };

int site_create(unsigned long addr, const struct insn *insn, struct site **site)
{
	struct site *s = kzalloc(sizeof(*s));
	int err = -ENOMEM;

	if (!s)
		return err;
	s->addr = addr;
	s->insn = *insn;
	s->set = &no_probes;
	s->exec.site = s;
	INIT_LIST_HEAD(&s->work);
	err = exec_alloc(&s->exec, ARCH_SLOT_SIZE);
	if (!err)
		err = site_plan_make(s);
	if (err) {
		site_free(s);
		return err;
	}
	site_route(s);
	*site = s;
	return 0;
}

static bool below(const struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct site, node)->addr <
	       rb_entry(b, struct site, node)->addr;
}

void site_publish(struct site *s)
{
	struct site **head = site_bucket(s->addr);

	s->next = *head;
	/* Pairs with the dependent reads of site_find(). */
	store_release(head, s);
	rb_add(&by_addr, &s->node, below);
	nr_sites++;
}

void site_unlink(struct site *s)
{
	struct site **link = site_bucket(s->addr);

	while (*link != s)
		link = &(*link)->next;
	store_release(link, s->next);
	rb_erase(&by_addr, &s->node);
	list_del_init(&s->work);
	WRITE_ONCE(s->exec.leaving, true);
	nr_sites--;
}

void site_free(struct site *s)
{
	if (s->exec.at)
		exec_free(&s->exec);
	if (s->set != &no_probes)
		kfree(s->set);
	kfree(s);
}

unsigned site_count(void)
{
	return nr_sites;
}

void site_for_each(bool (*fn)(struct site *s, void *arg), void *arg)
{
	struct rb_node *n = rb_first(&by_addr);

	while (n && fn(rb_entry(n, struct site, node), arg))
		n = rb_next(n);
}

static int compare(const void *key, const struct rb_node *node)
{
	unsigned long addr = *(const unsigned long *)key;
	unsigned long at = rb_entry(node, struct site, node)->addr;

	return addr < at ? -1 : addr > at;
}

static struct site *site_of_node(struct rb_node *node)
{
	return node ? rb_entry(node, struct site, node) : NULL;
}

struct site *site_at_or_below(unsigned long addr)
{
	return site_of_node(rb_find_at_or_before(&by_addr, &addr, compare));
}

struct site *site_below(struct site *s)
{
	return site_of_node(rb_prev(&s->node));
}

struct site *site_above(struct site *s)
{
	return site_of_node(rb_next(&s->node));
}

/* The @len bytes at @from, as far as they are among the @n at @addr. */
static void lay_over(u8 *out, unsigned long addr, size_t n, unsigned long from,
		     const u8 *bytes, unsigned len)
{
	for (unsigned i = 0; i < len; i++) {
		if (from + i - addr < n)
			out[from + i - addr] = bytes[i];
	}
}

size_t site_read_original(unsigned long addr, void *buf, size_t n)
{
	u8 *out = buf;

	while (n > 0 && peek(out, (const void *)addr, n) < 0)
		n--;
	/* No site, and no jump, changes more. Those below come last. */
	for (struct site *s = n ? site_at_or_below(addr + n - 1) : NULL;
	     s && s->addr + ARCH_PATCH_MAX > addr; s = site_below(s)) {
		const struct jump *j = s->detour ? &s->detour->jump : NULL;

		lay_over(out, addr, n, s->addr, s->insn.bytes, s->insn.len);
		if (j)
			lay_over(out, addr, n, s->addr, j->old, j->len);
	}
	return n;
}

int site_decode(struct site_text *ahead, unsigned long pc, unsigned long end,
		struct insn *insn)
{
	size_t need = min(end - pc, INSN_MAX_BYTES + 0ul);
	size_t at = pc - ahead->addr;

	if (at > ahead->n || need > ahead->n - at) {
		at = 0;
		ahead->addr = pc;
		ahead->n = site_read_original(
			pc, ahead->bytes, min(end - pc, sizeof(ahead->bytes)));
	}
	return arch_insn_decode(insn, ahead->bytes + at,
				min(need, ahead->n - at), pc);
}

/* Probe sets ------------------------------------------------------------------ */

/* Stands where a probe was taken out without memory for a new set. */
static struct kprobe gone;

void site_insert(struct site *s, struct site **link, struct site_change *c)
{
	if (s->changed)
		return;
	s->changed = true;
	s->next_changed = *link;
	*link = s;
	c->n++;
}

void site_touch(struct site *s, struct site_change *c)
{
	site_insert(s, &c->sites, c);
}

/* What is prepared already was for other probes. */
static void set_discard(struct site *s)
{
	kfree(s->coming);
	s->coming = NULL;
}

void site_add_probe(struct site *s, struct kprobe *p, struct site_change *c)
{
	struct kprobe **link = &s->probes;

	while (*link)
		link = &(*link)->next;
	*link = p;
	p->next = NULL;
	set_discard(s);
	site_touch(s, c);
}

void site_remove_probe(struct site *s, struct kprobe *p, struct site_change *c)
{
	struct kprobe **link = &s->probes;

	while (*link != p)
		link = &(*link)->next;
	*link = p->next;
	set_discard(s);
	site_touch(s, c);
}

static unsigned count_enabled(const struct site *s)
{
	unsigned n = 0;

	for (const struct kprobe *p = s->probes; p; p = p->next)
		n += kprobe_is_enabled(p);
	return n;
}

int site_prepare(struct site *s)
{
	unsigned room = count_enabled(s), n = 0;
	struct probe_set *set;

	set_discard(s);
	set = kzalloc(sizeof(*set) + (room + 1) * sizeof(set->probes[0]));
	if (!set)
		return -ENOMEM;
	for (struct kprobe *p = s->probes; p; p = p->next) {
		/* Hits may have disabled one since it was counted. */
		if (n == room || !kprobe_is_enabled(p))
			continue;
		set->probes[n++] = p;
		set->post |= p->post_handler != NULL;
	}
	s->coming = set;
	return 0;
}

/* Without memory: from now on nothing is called that should not be. */
static void set_strike(struct site *s)
{
	kprobe_stop(&gone, KPROBE_FLAG_DISABLED);
	for (struct kprobe **p = s->set->probes; *p; p++) {
		if (!site_holds(s, *p))
			WRITE_ONCE(*p, &gone);
	}
}

void site_route(struct site *s)
{
	unsigned long at = 0;

	if (s->through)
		at = s->through->code.displaced;
	else if (s->plan == PLAN_SLOT)
		at = s->exec.at + ARCH_STEP_SIZE;
	WRITE_ONCE(s->run_at, at);
}

void site_commit(struct site *s, struct site_change *c)
{
	struct probe_set *old = s->set, *new = &no_probes;

	if (count_enabled(s) > 0) {
		if (!s->coming && site_prepare(s) < 0) {
			set_strike(s);
			return;
		}
		new = s->coming;
		s->coming = NULL;
	}
	set_discard(s);
	/* Pairs with the dependent reads of a hit. */
	store_release(&s->set, new);
	if (old != &no_probes) {
		old->retired = c->garbage;
		c->garbage = old;
	}
}

bool site_each_probe(const struct site *s,
		     bool (*fn)(struct kprobe *p, void *arg), void *arg)
{
	for (struct kprobe *p = s->probes; p; p = p->next) {
		if (!fn(p, arg))
			return false;
	}
	return true;
}

static bool is_other(struct kprobe *p, void *arg)
{
	return p != arg;
}

bool site_holds(const struct site *s, const struct kprobe *p)
{
	return !site_each_probe(s, is_other, (void *)p);
}

static bool lacks_flag(struct kprobe *p, void *arg)
{
	return !(p->flags & *(const unsigned *)arg);
}

bool site_has_flagged(const struct site *s, unsigned flag)
{
	return !site_each_probe(s, lacks_flag, &flag);
}

bool site_wants_arming(const struct site *s)
{
	return count_enabled(s) > 0;
}

void probe_sets_free(struct probe_set *garbage)
{
	while (garbage) {
		struct probe_set *next = garbage->retired;

		kfree(garbage);
		garbage = next;
	}
}
