// SPDX-License-Identifier: MIT
/*
 * Return probes come and go.
 *
 *	ret_check()	may it be one?			registration
 *	ret_attach()	it has an owner
 *	ret_start()	the owner calls its handler	enabling
 *	ret_stop()	... or nothing			disabling, unregistering
 *	ret_leave()	its counts are the client's	... after quiescence
 *
 * The owner stays as long as calls are under way. Each of them counts its end and
 * still looks at the owner a moment longer, with interrupts off. So one that is
 * found finished is freed only after another quiesce_cpus().
 *
 * All but ret_stop() and ret_owner_check() under probe_mutex.
 */
#include <arch/setjmp.h>
#include <kernel/heap.h>
#include <kernel/symtab.h>
#include <lib/errno.h>
#include <probe/ret.h>
#include "owner.h"
#include "site.h"

static struct ret_owner *owners;

/* The order of reading keeps the difference from being negative. */
static void counts_read(const struct ret_owner *o, struct kretprobe_counts *c)
{
	c->changed = READ_ONCE(o->changed);
	c->returned = load_acquire(&o->returned);
	c->skipped = load_acquire(&o->skipped);
	c->entered = READ_ONCE(o->entered);
	c->outstanding = c->entered - c->returned - c->skipped;
}

/* Coming ------------------------------------------------------------------------ */

static int refuse(const char **why, const char *reason, int err)
{
	*why = reason;
	return err;
}

int ret_check(struct kprobe *p, unsigned long addr, const char **why)
{
	const struct kretprobe *rp = kretprobe_of(p);
	struct symbol jmp;

	if (!rp->handler)
		return refuse(why, "it has no handler", -EINVAL);
	if (rp->data_size > KRETPROBE_DATA_MAX)
		return refuse(why, "its data are too large", -EINVAL);
	if (!symtab_lookup((unsigned long)setjmp, &jmp) &&
	    addr == symbol_entry(&jmp))
		return refuse(why, "it returns twice", -EOPNOTSUPP);
	return 0;
}

int ret_attach(struct kprobe *p, unsigned long addr)
{
	struct kretprobe *rp = kretprobe_of(p);
	struct ret_owner *o = kzalloc(sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->kp = p;
	o->call = ret_call_nothing;
	o->addr = addr;
	o->size = ALIGN_UP(sizeof(struct kretprobe_instance) + rp->data_size,
			   16UL); /* ret_enter_plain() knows it without data */
	if (p->flags & KRETPROBE_FLAG_RETSITE) {
		int err = ret_places_find(o);

		if (err) {
			ret_places_free(o);
			kfree(o);
			return err;
		}
	}
	o->next = owners;
	/* For ret_owner_check(). */
	store_release(&owners, o);
	rp->owner = o;
	rp->nmissed = 0;
	return 0;
}

/* For sessions whose time is limited, as call_timed() in call.c. */
static __noprobe int ret_call_timed(struct kretprobe_instance *ri,
				    struct pt_regs *regs)
{
	struct kprobe *p = ri->owner->kp;

	session_clock_start();
	kretprobe_of(p)->handler(ri, regs);
	session_clock_stop(p);
	return 0;
}

void ret_start(struct kprobe *p)
{
	kretprobe_handler_t call = kretprobe_of(p)->handler;

	if (session_is_timed(p))
		call = ret_call_timed;
	WRITE_ONCE(kretprobe_of(p)->owner->call, call);
}

/* Going ------------------------------------------------------------------------- */

__noprobe void ret_stop(struct kprobe *p)
{
	WRITE_ONCE(kretprobe_of(p)->owner->call, ret_call_nothing);
}

/* Whose calls of nothing are, of which the probe is gone: traps may ask. */
static struct kprobe departed;

void ret_leave(struct kprobe *p)
{
	struct kretprobe *rp = kretprobe_of(p);

	counts_read(rp->owner, &rp->left);
	WRITE_ONCE(rp->owner->kp, &departed);
	rp->owner->orphan = true;
	rp->owner = NULL;
}

static bool is_finished(const struct ret_owner *o)
{
	struct kretprobe_counts c;

	counts_read(o, &c);
	return o->orphan && c.outstanding == 0;
}

bool ret_places_left(void)
{
	const struct ret_owner *o = owners;

	while (o && !(o->places && is_finished(o)))
		o = o->next;
	return o;
}

struct ret_owner *ret_owners_finished(struct site_change *c)
{
	struct ret_owner **link = &owners, *finished = NULL, *o;

	while ((o = *link)) {
		if (!is_finished(o)) {
			link = &o->next;
			continue;
		}
		*link = o->next;
		for (struct ret_place *p = o->places; p; p = p->next) {
			if (p->attached)
				probe_detach(&p->kp, c);
		}
		o->next = finished;
		finished = o;
	}
	return finished;
}

void ret_owners_free(struct ret_owner *finished)
{
	while (finished) {
		struct ret_owner *next = finished->next;

		ret_places_free(finished);
		kfree(finished);
		finished = next;
	}
}

unsigned ret_orphans(void)
{
	struct site_change c = { NULL };
	struct ret_owner *o;
	unsigned n = 0;

	mutex_lock(&probe_mutex);
	probe_finish(&c);
	for (o = owners; o; o = o->next)
		n += o->orphan;
	mutex_unlock(&probe_mutex);
	return n;
}

const struct ret_owner *ret_owner_check(const struct ret_owner *owner)
{
	const struct ret_owner *o = load_acquire(&owners);

	while (o && o != owner)
		o = o->next;
	return o;
}

/* The public calls --------------------------------------------------------------- */

struct kretprobe *get_kretprobe(const struct kretprobe_instance *ri)
{
	return kretprobe_of(ri->owner->kp);
}

static struct kprobe *kp_of(struct kretprobe *rp)
{
	return rp ? &rp->kp : NULL;
}

static struct kprobe *prepare(struct kretprobe *rp)
{
	if (!rp)
		return NULL;
	if (rp->maxactive > 0 || rp->kp.flags & KRETPROBE_FLAG_RETSITE)
		rp->kp.pre_handler = ret_enter;
	else if (rp->entry_handler)
		rp->kp.pre_handler = ret_enter_asking;
	else
		rp->kp.pre_handler = rp->data_size ? ret_enter
						   : ret_enter_plain;
	kprobe_flags_set(&rp->kp, KPROBE_FLAG_RETURN | KPROBE_FLAG_ENTRY);
	return &rp->kp;
}

int register_kretprobe(struct kretprobe *rp)
{
	return register_kprobe(prepare(rp));
}

int unregister_kretprobe(struct kretprobe *rp)
{
	return unregister_kprobe(kp_of(rp));
}

int register_kretprobes(struct kretprobe **rps, unsigned n)
{
	struct kprobe **ps;
	int err = probe_may_change();

	if (err)
		return err;
	ps = kcalloc(n, sizeof(*ps));
	if (!ps && n > 0)
		return probe_refuse(-ENOMEM, "out of memory");
	for (unsigned i = 0; i < n; i++)
		ps[i] = prepare(rps[i]);
	err = register_kprobes(ps, n);
	kfree(ps);
	return err;
}

/* Without memory for a batch, one by one. */
int unregister_kretprobes(struct kretprobe **rps, unsigned n)
{
	struct kprobe **ps;
	int err = probe_may_change(), last;

	if (err)
		return err;
	ps = kcalloc(n, sizeof(*ps));
	for (unsigned i = 0; i < n; i++) {
		if (ps)
			ps[i] = kp_of(rps[i]);
		else if ((last = unregister_kprobe(kp_of(rps[i]))))
			err = last;
	}
	if (ps)
		err = unregister_kprobes(ps, n);
	kfree(ps);
	return err;
}

int register_kprobe_pair(struct kprobe *kp, struct kretprobe *rp)
{
	return register_kprobes((struct kprobe *[]){ kp, prepare(rp) }, 2);
}

int unregister_kprobe_pair(struct kprobe *kp, struct kretprobe *rp)
{
	return unregister_kprobes((struct kprobe *[]){ kp, kp_of(rp) }, 2);
}

int enable_kretprobe(struct kretprobe *rp)
{
	return enable_kprobe(kp_of(rp));
}

int disable_kretprobe(struct kretprobe *rp)
{
	return disable_kprobe(kp_of(rp));
}

void kretprobe_counts(const struct kretprobe *rp, struct kretprobe_counts *c)
{
	if (rp->owner)
		counts_read(rp->owner, c);
	else
		*c = rp->left;
}
