// SPDX-License-Identifier: MIT
/*
 * Traps are told apart and repaired: each machine raises one of each kind that
 * it can (arch_trap_samples).
 */
#include <arch/cpu.h>
#include <arch/insn.h>
#include <kernel/image.h>
#include <kernel/smp.h>
#include <kernel/symtab.h>
#include <kernel/thread.h>
#include <kernel/trap.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <probe/kprobe.h>
#include <tests/cases/keep_regs.h>
#include <tests/cases/step.h>
#include <tests/cases/threads.h>
#include <tests/test.h>

/* What trap() saw of the sample, on this CPU. */
static struct trap raise(const struct trap_sample *sample)
{
	struct trap seen;

	preempt_disable();
	sample->raise();
	seen = *trap_last_repaired();
	preempt_enable();
	return seen;
}

TEST(trap, every_sample_is_told_by_its_kind)
{
	const struct trap_sample *s;

	for (s = arch_trap_samples;
	     s < arch_trap_samples + arch_trap_sample_count; s++) {
		struct trap seen = raise(s);

		if (seen.kind != s->kind)
			FAIL("%s: told as %s, is %s", s->name,
			     trap_kind_name(seen.kind),
			     trap_kind_name(s->kind));
		if (!seen.name || !seen.name[0])
			FAIL("%s: has no name", s->name);
	}
}

TEST(trap, a_trap_leaves_interrupts_as_they_were)
{
	const struct trap_sample *s;

	for (s = arch_trap_samples;
	     s < arch_trap_samples + arch_trap_sample_count; s++) {
		unsigned long flags;

		raise(s);
		if (arch_irqs_disabled())
			FAIL("%s: interrupts are off behind it", s->name);
		flags = arch_irq_save();
		raise(s);
		if (!arch_irqs_disabled())
			FAIL("%s: interrupts are on behind it", s->name);
		arch_irq_restore(flags);
	}
}

/* What switches a single step off may be stepped itself: one more. */
TEST(trap, a_trap_happens_once)
{
	const struct trap_sample *s;

	for (s = arch_trap_samples;
	     s < arch_trap_samples + arch_trap_sample_count; s++) {
		unsigned long flags = arch_irq_save();
		u64 before = this_cpu()->traps[s->kind], n;

		raise(s);
		n = this_cpu()->traps[s->kind] - before;
		arch_irq_restore(flags);
		if (n != 1 && !(n == 2 && s->kind == TRAP_STEP))
			FAIL("%s: %llu traps", s->name, n);
	}
}

TEST(trap, every_kind_has_a_name)
{
	unsigned kind;

	for (kind = 0; kind < TRAP_KIND_COUNT; kind++)
		EXPECT_TRUE(trap_kind_name((enum trap_kind)kind));
}

/* Probed ----------------------------------------------------------------------- */

#define PROBES_MAX 24 /* of one sample */

static int seen_pre(struct kprobe *p __unused, struct pt_regs *regs __unused)
{
	return 0;
}

static void seen_post(struct kprobe *p __unused, struct pt_regs *regs __unused,
		      unsigned long flags __unused)
{
}

/* Probes all instructions of @s that may be; how many. */
static unsigned probe_all(const struct trap_sample *s, struct kprobe *probes,
			  bool post)
{
	unsigned long at = (unsigned long)s->raise;
	struct symbol sym;
	unsigned n = 0;

	if (symtab_lookup(at, &sym))
		FAIL("%s: no function", s->name);
	for (; at < sym.addr + sym.size && n < PROBES_MAX; at++) {
		probes[n] = (struct kprobe){
			.addr = at,
			.pre_handler = seen_pre,
			.post_handler = post ? seen_post : NULL,
		};
		n += register_kprobe(&probes[n]) == 0;
	}
	return n;
}

/*
 * With probes on and around it, on its fix-up and wherever else they may be, a
 * trap happens where and as it would, and each instruction runs as often.
 */
static void raise_probed(const struct trap_sample *s,
			 const struct step_way *way, bool post)
{
	static struct kprobe probes[PROBES_MAX];
	struct trap want = raise(s), got;
	unsigned n;

	step_way_set(way);
	n = probe_all(s, probes, post);
	got = raise(s);
	for (unsigned i = n; i-- > 0; unregister_kprobe(&probes[i])) {
		if (probes[i].nhit != 1 || probes[i].nmissed)
			FAIL("%s, %s: %lu hits at %pS", s->name, way->name,
			     probes[i].nhit, (void *)probes[i].addr);
	}
	step_way_set(NULL);
	if (got.kind != want.kind || got.pc != want.pc ||
	    got.addr != want.addr || got.flags != want.flags)
		FAIL("%s, %s: %s at %pS, not %s at %pS", s->name, way->name,
		     got.name, (void *)got.pc, want.name, (void *)want.pc);
}

/* Who steps or watches himself sees the engine at work: docs/hit.md. */
static bool is_for(const struct trap_sample *s, unsigned way, bool post)
{
	if (s->kind == TRAP_WATCH)
		return !post && (way == STEP_WAY_SLOT || way == STEP_WAY_JUMP);
	return s->kind != TRAP_STEP;
}

TEST(trap, probes_leave_every_trap_where_and_what_it_is)
{
	const struct trap_sample *s = arch_trap_samples;

	for (; s < arch_trap_samples + arch_trap_sample_count; s++) {
		for (unsigned i = 0; i < 2 * STEP_WAYS; i++) {
			if (is_for(s, i / 2, i & 1))
				raise_probed(s, &step_ways[i / 2], i & 1);
		}
	}
}

/* The instruction that raises @s. */
static bool find_raiser(const struct trap_sample *s, struct insn *insn)
{
	unsigned long pc = raise(s).pc;

	return image_is_text(pc) &&
	       arch_insn_decode(insn, (void *)pc, INSN_MAX_BYTES, pc) == 0;
}

TEST(trap, what_traps_by_design_is_refused_and_says_so)
{
	unsigned n = 0;

	for (unsigned i = 0; i < arch_trap_sample_count; i++) {
		struct kprobe p = { .pre_handler = seen_pre };
		struct insn insn;

		if (!find_raiser(&arch_trap_samples[i], &insn) ||
		    !(insn.flags & INSN_TRAP))
			continue;
		p.addr = insn.pc;
		EXPECT_EQ(register_kprobe(&p), -EOPNOTSUPP);
		EXPECT_TRUE(strstr(kprobe_reason(), "traps by design"));
		n++;
	}
	EXPECT_GE(n, 2);
}

/* The unit may be off, and the registers are not in a frame. */
TEST(trap, floating_point_and_vector_are_never_emulated)
{
	unsigned n = 0;

	step_way_set(&step_ways[STEP_WAY_EMULATED]);
	for (unsigned i = 0; i < arch_trap_sample_count; i++) {
		struct kprobe p = { .pre_handler = seen_pre };
		struct insn insn;

		if (!find_raiser(&arch_trap_samples[i], &insn) ||
		    arch_trap_samples[i].kind != TRAP_FLOAT)
			continue;
		EXPECT_TRUE(insn.flags & INSN_FPVEC);
		p.addr = insn.pc;
		EXPECT_EQ(register_kprobe(&p), -EOPNOTSUPP);
		n++;
	}
	step_way_set(NULL);
	EXPECT_GE(n, 1);
}

/* On every CPU ----------------------------------------------------------------- */

static void raise_all(void *unused __unused)
{
	for (unsigned i = 0; i < arch_trap_sample_count; i++) {
		const struct trap_sample *s = &arch_trap_samples[i];
		struct trap seen = raise(s);

		if (seen.kind != s->kind)
			FAIL("%s: told as %s", s->name,
			     trap_kind_name(seen.kind));
	}
}

TEST(trap, every_sample_may_be_raised_on_every_cpu_at_once)
{
	on_all_cpus(raise_all);
}

/* Interrupts are off in both, and the interrupted frame lies below. */
TEST(trap, traps_may_be_raised_in_an_interrupt)
{
	for (unsigned i = 0; i < cpu_count; i++)
		EXPECT_EQ(smp_call(i, raise_all, NULL), 0);
}

static void break_in_nmi(void *broken, struct pt_regs *regs __unused)
{
	*(unsigned long *)broken = keep_regs_trapping(3, 0x5a5a0000);
}

TEST(trap, breakpoints_may_be_raised_in_an_nmi)
{
	for (unsigned i = 0; i < cpu_count; i++) {
		unsigned long broken = 1;

		EXPECT_EQ(smp_nmi_call(i, break_in_nmi, &broken), 0);
		EXPECT_EQ(broken, 0);
	}
}

static void note_repaired(void *where)
{
	*(const struct trap **)where = trap_last_repaired();
}

TEST(trap, each_cpu_has_its_own_last_trap)
{
	const struct trap *last[MAX_CPUS];

	for (unsigned i = 0; i < cpu_count; i++) {
		EXPECT_EQ(smp_call(i, note_repaired, &last[i]), 0);
		for (unsigned j = 0; j < i; j++)
			EXPECT_TRUE(last[i] != last[j]);
	}
}

/* Registers -------------------------------------------------------------------- */

TEST(trap, a_breakpoint_leaves_all_registers_alone)
{
	EXPECT_EQ(keep_regs_trapping(500, 0x1234567890), 0);
}

TEST(trap, breakpoints_are_counted)
{
	unsigned long flags = arch_irq_save(), broken;
	u64 before = this_cpu()->traps[TRAP_BREAKPOINT], after;

	broken = keep_regs_trapping(7, 1);
	after = this_cpu()->traps[TRAP_BREAKPOINT];
	arch_irq_restore(flags);
	EXPECT_EQ(broken, 0);
	EXPECT_EQ(after - before, 7);
}

static bool end, broken_elsewhere;

static void break_always(void *seed)
{
	while (!load_acquire(&end))
		if (keep_regs_trapping(50, (unsigned long)seed))
			store_release(&broken_elsewhere, true);
}

static void nothing(void *unused __unused)
{
}

/* Breakpoints, the tick, calls from other CPUs: whatever comes in between. */
TEST(trap, interrupts_among_breakpoints_leave_all_registers_alone)
{
	struct thread *t[2];

	end = broken_elsewhere = false;
	for (unsigned long i = 0; i < 2; i++)
		t[i] = start_on(last_cpu(), break_always, (void *)(i + 9));
	for (unsigned i = 0; i < 200; i++)
		EXPECT_EQ(smp_call(last_cpu(), nothing, NULL), 0);
	thread_sleep(10 * NSEC_PER_MSEC);
	store_release(&end, true);
	join(t[0]);
	join(t[1]);
	EXPECT_FALSE(broken_elsewhere);
}

static void count_nmi(void *n, struct pt_regs *regs __unused)
{
	++*(unsigned *)n;
}

TEST(trap, nmis_among_breakpoints_leave_all_registers_alone)
{
	struct thread *t;
	unsigned n = 0;

	if (cpu_count < 2)
		SKIP("needs two CPUs");
	end = broken_elsewhere = false;
	stay_on(0);
	t = start_on(1, break_always, (void *)0xabcdef);
	for (unsigned i = 0; i < 300; i++)
		EXPECT_EQ(smp_nmi_call(1, count_nmi, &n), 0);
	store_release(&end, true);
	join(t);
	stay_anywhere();
	EXPECT_EQ(n, 300);
	EXPECT_FALSE(broken_elsewhere);
}

TEST(trap, what_a_trap_says_of_memory_is_where_it_was)
{
	for (unsigned i = 0; i < arch_trap_sample_count; i++) {
		const struct trap_sample *s = &arch_trap_samples[i];
		struct trap seen;

		if (s->kind != TRAP_MEMORY)
			continue;
		seen = raise(s);
		EXPECT_TRUE(seen.pc);
		/* Writing and fetching are not the same fault. */
		EXPECT_NE(seen.flags & (TRAP_WRITE | TRAP_EXEC),
			  TRAP_WRITE | TRAP_EXEC);
		if (!strncmp(s->name, "store", 5))
			EXPECT_TRUE(seen.flags & TRAP_WRITE);
		if (!strncmp(s->name, "load", 4))
			EXPECT_FALSE(seen.flags & TRAP_WRITE);
	}
}
