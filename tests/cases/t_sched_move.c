// SPDX-License-Identifier: MIT
/*
 * A thread is woken, times out and is moved at the same time. That it is moved just
 * when it is on its way to a CPU would be rare; so there are probes on each
 * instruction of who sends it and of who moves it, and they wait for each other.
 */
#include <arch/cpu.h>
#include <arch/insn.h>
#include <kernel/lock.h>
#include <kernel/symtab.h>
#include <kernel/wait.h>
#include <probe/kprobe.h>
#include <tests/cases/threads.h>
#include <tests/random.h>

enum { TURNS = 100, PROBES = 400, PATIENCE = 1000 };

static struct wait_queue queue = WAIT_QUEUE(queue);
static struct thread *moved;
static bool turn, end;
static unsigned turns; /* taken */

/* Ready, but neither running nor waiting for a CPU. */
static bool is_under_way(void)
{
	struct thread *t = READ_ONCE(moved);

	return t && READ_ONCE(t->state) == THREAD_READY &&
	       list_empty(&t->queue) &&
	       READ_ONCE(cpus[READ_ONCE(t->cpu)].thread) != t;
}

/* Those who wait ----------------------------------------------------------------- */

static bool met; /* the mover has a lock while the thread is under way */
static bool has_waited;
static unsigned meetings;

static void wait_for(bool (*come)(void), unsigned patience)
{
	while (patience-- > 0 && !come())
		cpu_relax();
}

static bool is_met(void)
{
	return READ_ONCE(met) || !is_under_way();
}

static int sender_waits(struct kprobe *p __unused,
			struct pt_regs *regs __unused)
{
	if (is_under_way())
		wait_for(is_met, PATIENCE);
	return 0;
}

static bool has_arrived(void)
{
	return !is_under_way();
}

/*
 * Once per move, and not always at the first instruction, before it has looked at
 * anything. In vain if the sender wants that lock, too.
 */
static int mover_waits(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	static u64 seed = 1;

	if (locks_held() == 0 || !is_under_way() || has_waited ||
	    random_below(&seed, 4) != 0)
		return 0;
	has_waited = true;
	meetings++;
	WRITE_ONCE(met, true);
	wait_for(has_arrived, 20 * PATIENCE);
	WRITE_ONCE(met, false);
	return 0;
}

static struct kprobe probes[PROBES];
static unsigned nr_probes;

static void probe_all_of(const void *fn, kprobe_pre_handler_t handler)
{
	struct symbol sym;
	struct insn insn;

	ASSERT_EQ(symtab_lookup((unsigned long)fn, &sym), 0);
	for (unsigned long pc = sym.addr;
	     pc < sym.addr + sym.size && nr_probes < PROBES; pc += insn.len) {
		struct kprobe *p = &probes[nr_probes];

		if (arch_insn_decode(&insn, (const void *)pc, INSN_MAX_BYTES,
				     pc) < 0)
			return;
		*p = (struct kprobe){ .addr = pc, .pre_handler = handler };
		if (register_kprobe(p) == 0)
			nr_probes++;
	}
}

/* Those who do it ---------------------------------------------------------------- */

static bool take_turn(void)
{
	return __atomic_exchange_n(&turn, false, __ATOMIC_ACQUIRE);
}

/* Sleeps each time, until it is woken or not. */
static void take_turns(void *unused __unused)
{
	while (!load_acquire(&end))
		wait_event_timeout(&queue, take_turn(), 500 * NSEC_PER_USEC);
}

static void give_turns(void *unused __unused)
{
	while (!load_acquire(&end)) {
		store_release(&turn, true);
		wake_up(&queue);
		while (load_acquire(&turn) && !load_acquire(&end))
			thread_yield();
		WRITE_ONCE(turns, turns + 1);
	}
}

TEST(sched, who_is_woken_times_out_and_is_moved_at_once_arrives)
{
	struct thread *giver;
	u64 seed = 1, limit = clock_ns() + HANG_NS;
	unsigned last = 0;

	if (cpu_count < 2)
		SKIP("needs two CPUs");
	end = turn = met = false;
	turns = meetings = nr_probes = 0;
	probe_all_of(thread_set_affinity, mover_waits);
	probe_all_of(thread_wake, sender_waits);
	EXPECT_GE(nr_probes, 100);
	stay_on(0);
	moved = start_on(0, take_turns, NULL);
	giver = start_on(last_cpu(), give_turns, NULL);
	while (moved && giver && READ_ONCE(turns) < TURNS &&
	       clock_ns() < limit) {
		u32 mask = BIT(random_below(&seed, cpu_count));

		has_waited = false;
		EXPECT_EQ(thread_set_affinity(moved, mask), 0);
		if (READ_ONCE(turns) != last) {
			last = READ_ONCE(turns);
			limit = clock_ns() + HANG_NS;
		}
	}
	EXPECT_GE(READ_ONCE(turns), TURNS);
	store_release(&end, true);
	join(giver);
	join(moved);
	WRITE_ONCE(moved, NULL);
	while (nr_probes > 0)
		EXPECT_EQ(unregister_kprobe(&probes[--nr_probes]), 0);
	test_note("met %u times", meetings);
	stay_anywhere();
}
