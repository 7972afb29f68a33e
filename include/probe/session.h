/* SPDX-License-Identifier: MIT */
/*
 * Sessions: who owns probes. A session bounds what its owner may take, counts
 * what its probes did, takes them all away when it closes, and is stopped as a
 * whole when too many of its handlers had to be abandoned. Other sessions do not
 * notice.
 *
 * A probe joins by p->session before it is registered; NULL is the kernel's own
 * session, which has no limits. How long one call of a handler may take is the
 * same for all sessions: <probe/watch.h>. How much time all calls together may
 * take can be limited here; it is measured only then, because that reads a clock
 * twice per call.
 *
 * Calls are for threads, and may wait; -EDEADLK from a handler or with
 * interrupts off.
 */
#ifndef SONDE_PROBE_SESSION_H
#define SONDE_PROBE_SESSION_H

#include <lib/compiler.h>

#define SESSION_NAME_MAX 24
#define SESSION_VERDICTS 3

struct probe_session;

struct session_limits {
	unsigned probes;   /* registered at one time; 0: any number */
	size_t memory;	   /* bytes, see session_stats; 0: any number */
	unsigned verdicts; /* lead to quarantine; 0: SESSION_VERDICTS */
	u64 time_ns;	   /* in handlers leads to quarantine; 0: any */
};

struct session_stats {
	const char *name;
	unsigned probes; /* registered now */
	/*
	 * Bytes that the engine holds for them. Each is charged as if it were
	 * alone at its address: what others do there changes nothing.
	 */
	size_t memory;
	/* Of its probes, those that have left included: */
	u64 hits, missed;
	u64 faults;  /* handlers abandoned, whatever the verdict */
	bool timed;  /* limited, so measured: */
	u64 time_ns; /* in handlers, on all CPUs together */
	bool quarantined;
	const char *why; /* ... for what reason, or NULL */
};

/*
 * A new session. @limits may be NULL: none, and the default of verdicts.
 * -EINVAL no name, -ENAMETOOLONG, -EEXIST a session has that name, -ENOMEM.
 */
int __must_check session_open(const char *name,
			      const struct session_limits *limits,
			      struct probe_session **session);
/*
 * Unregisters all of its probes with one wait for all, and frees it. No handler
 * of it runs or will when this returns. -EINVAL if it is not open.
 */
int session_close(struct probe_session *s);
/*
 * Ends a quarantine: its probes are called again, except those with a verdict,
 * and it has as many verdicts and as much time left as at the beginning. -EINVAL
 * if not open, -ENOMEM.
 */
int session_release(struct probe_session *s);

/* The open session of that name, or NULL. */
struct probe_session *session_find(const char *name);
const char *session_name(const struct probe_session *s); /* NULL: "kernel" */
int session_stats_get(struct probe_session *s, struct session_stats *stats);
/* The kernel's first, then by age; under the probe mutex. */
void session_for_each(void (*fn)(const struct session_stats *stats, void *arg),
		      void *arg);
unsigned session_count(void); /* open, the kernel's not counted */

#endif
