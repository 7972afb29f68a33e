// SPDX-License-Identifier: MIT
/*
 * Spinlocks: they exclude, and whoever breaks a rule is told. Rules are checked
 * in debug builds only.
 */
#include <kernel/lock.h>
#include <lib/string.h>
#include <tests/cases/threads.h>

#define ROUNDS 2000

static struct spinlock counter_lock = SPINLOCK("case", RANK_LEAF);
static unsigned long counter;

static void count_up(void *unused __unused)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned long flags = spin_lock_irqsave(&counter_lock);

		WRITE_ONCE(counter, READ_ONCE(counter) + 1);
		spin_unlock_irqrestore(&counter_lock, flags);
	}
}

TEST(lock, only_one_cpu_is_inside)
{
	counter = 0;
	on_all_cpus(count_up);
	EXPECT_EQ(counter, (unsigned long)cpu_count * ROUNDS);
	EXPECT_EQ(counter_lock.taken, 0);
}

static void try_to_count(void *unused __unused)
{
	for (unsigned i = 0; i < ROUNDS;) {
		unsigned long flags = arch_irq_save();

		if (spin_trylock(&counter_lock) == 0) {
			WRITE_ONCE(counter, READ_ONCE(counter) + 1);
			spin_unlock(&counter_lock);
			i++;
		}
		arch_irq_restore(flags);
	}
}

TEST(lock, only_one_cpu_succeeds_in_trying)
{
	counter = 0;
	on_all_cpus(try_to_count);
	EXPECT_EQ(counter, (unsigned long)cpu_count * ROUNDS);
}

TEST(lock, trying_a_held_lock_is_refused_at_once)
{
	struct spinlock l = SPINLOCK("case", RANK_LEAF);
	unsigned long flags = spin_lock_irqsave(&l);
	int held = spin_trylock(&l), freed;

	spin_unlock(&l);
	freed = spin_trylock(&l);
	spin_unlock(&l);
	arch_irq_restore(flags);
	EXPECT_EQ(held, -EBUSY);
	EXPECT_EQ(freed, 0);
}

TEST(lock, a_lock_knows_its_holder)
{
	struct spinlock l;
	unsigned long flags;
	int holder, me;

	spin_lock_init(&l, "case", RANK_LEAF);
	EXPECT_EQ(l.cpu, -1);
	flags = spin_lock_irqsave(&l);
	holder = l.cpu;
	me = (int)smp_processor_id();
	spin_unlock_irqrestore(&l, flags);
	EXPECT_EQ(holder, me);
	EXPECT_EQ(l.cpu, -1);
}

TEST(lock, irqsave_nests)
{
	struct spinlock a = SPINLOCK("case-a", RANK_CALL);
	struct spinlock b = SPINLOCK("case-b", RANK_LEAF);
	unsigned long outer = spin_lock_irqsave(&a);
	unsigned long inner = spin_lock_irqsave(&b);
	bool off_inside;

	spin_unlock_irqrestore(&b, inner);
	off_inside = arch_irqs_disabled();
	spin_unlock_irqrestore(&a, outer);
	EXPECT_TRUE(off_inside);
	EXPECT_FALSE(arch_irqs_disabled());
}

/* Rules ---------------------------------------------------------------------- */

static const char *complaint;
static unsigned complaints;
static void (*real_hook)(const char *what, const struct spinlock *l);

static void note(const char *what, const struct spinlock *l)
{
	if (!complaints++)
		complaint = what;
	/* It would wait for itself. */
	if (!strcmp(what, "taken twice by one CPU"))
		spin_unlock((struct spinlock *)l);
}

static void check_rule(void (*fn)(void))
{
	unsigned long flags;

	if (!DEBUG_BUILD)
		SKIP("needs DEBUG=1");
	flags = arch_irq_save();
	complaint = "";
	complaints = 0;
	real_hook = lock_violation;
	lock_violation = note;
	fn();
	lock_violation = real_hook;
	arch_irq_restore(flags);
}

/* A case with interrupts off whose violations are only noted. */
#define TEST_RULE(name_)                  \
	static void rule_##name_(void);   \
	TEST(lock, name_)                 \
	{                                 \
		check_rule(rule_##name_); \
	}                                 \
	static void rule_##name_(void)

TEST_RULE(a_lower_rank_after_a_higher_one_is_a_violation)
{
	struct spinlock low = SPINLOCK("low", RANK_WAIT);
	struct spinlock high = SPINLOCK("high", RANK_LEAF);

	spin_lock(&high);
	spin_lock(&low);
	spin_unlock(&low);
	spin_unlock(&high);
	EXPECT_EQ(complaints, 1);
	EXPECT_STREQ(complaint, "taken after a lock of a higher rank");
}

TEST_RULE(an_equal_rank_is_a_violation_unless_nested)
{
	struct spinlock a = SPINLOCK("a", RANK_LEAF);
	struct spinlock b = SPINLOCK("b", RANK_LEAF);
	unsigned before;

	spin_lock(&a);
	spin_lock_nested(&b);
	before = complaints;
	spin_unlock(&b);
	spin_lock(&b);
	spin_unlock(&b);
	spin_unlock(&a);
	EXPECT_EQ(before, 0);
	EXPECT_EQ(complaints, 1);
}

TEST_RULE(rising_ranks_are_none_in_whatever_order_they_are_freed)
{
	struct spinlock a = SPINLOCK("a", RANK_WAIT);
	struct spinlock b = SPINLOCK("b", RANK_RUNQ);
	struct spinlock c = SPINLOCK("c", RANK_LEAF);
	unsigned all, without_a, none;

	spin_lock(&a);
	spin_lock(&b);
	spin_lock(&c);
	all = locks_held();
	spin_unlock(&a);
	without_a = locks_held();
	spin_unlock(&c);
	spin_unlock(&b);
	none = locks_held();
	EXPECT_EQ(complaints, 0);
	EXPECT_EQ(all, BIT(RANK_WAIT) | BIT(RANK_RUNQ) | BIT(RANK_LEAF));
	EXPECT_EQ(without_a, BIT(RANK_RUNQ) | BIT(RANK_LEAF));
	EXPECT_EQ(none, 0);
}

TEST_RULE(a_lock_got_by_trying_does_not_hide_a_higher_one)
{
	struct spinlock low = SPINLOCK("low", RANK_WAIT);
	struct spinlock middle = SPINLOCK("middle", RANK_RUNQ);
	struct spinlock high = SPINLOCK("high", RANK_LEAF);
	int err;

	spin_lock(&high);
	err = spin_trylock(&low);
	spin_lock(&middle);
	spin_unlock(&middle);
	spin_unlock(&low);
	spin_unlock(&high);
	EXPECT_EQ(err, 0);
	EXPECT_EQ(complaints, 1);
}

TEST_RULE(taking_twice_is_told_before_it_hangs)
{
	struct spinlock l = SPINLOCK("case", RANK_LEAF);

	spin_lock(&l);
	spin_lock(&l);
	spin_unlock(&l);
	EXPECT_GE(complaints, 1);
	EXPECT_STREQ(complaint, "taken twice by one CPU");
}

TEST_RULE(freeing_what_one_does_not_hold_is_a_violation)
{
	struct spinlock l = SPINLOCK("case", RANK_LEAF);

	spin_unlock(&l);
	EXPECT_EQ(complaints, 1);
	EXPECT_STREQ(complaint, "freed by a CPU that does not hold it");
}

TEST_RULE(taking_with_interrupts_on_is_a_violation)
{
	struct spinlock l = SPINLOCK("case", RANK_LEAF);

	preempt_disable(); /* the list of locks held is the CPU's */
	arch_irq_enable();
	spin_lock(&l);
	arch_irq_disable();
	spin_unlock(&l);
	preempt_enable_no_resched();
	EXPECT_GE(complaints, 1);
	EXPECT_STREQ(complaint, "taken with interrupts on");
}
