// SPDX-License-Identifier: MIT
/*
 * A trap loses the reservation, so that a loop of ldarx and stdcx. would never
 * end: the store is done here, if memory is still as it was at the load. Threads
 * that are stepped take turns.
 */
#include <arch/regs.h>
#include <tests/cases/trace_step.h>

/* Extended opcodes of primary opcode 31 (ISA 3.1 II 4.6.2). */
static const struct pair {
	unsigned load, store, size;
} pairs[] = {
	{ 52, 694, 1 },	 /* lbarx, stbcx. */
	{ 116, 726, 2 }, /* lharx, sthcx. */
	{ 20, 150, 4 },	 /* lwarx, stwcx. */
	{ 84, 214, 8 },	 /* ldarx, stdcx. */
};

#define CR0    0xf0000000ul
#define CR0_EQ 0x20000000ul

static u64 loaded;

static unsigned long address(const struct pt_regs *regs, u32 word)
{
	unsigned a = word >> 16 & 31, b = word >> 11 & 31;

	return (a ? regs->gpr[a] : 0) + regs->gpr[b];
}

static u64 load(unsigned long at, unsigned size)
{
	switch (size) {
	case 1:
		return *(volatile u8 *)at;
	case 2:
		return *(volatile u16 *)at;
	case 4:
		return *(volatile u32 *)at;
	default:
		return *(volatile u64 *)at;
	}
}

#define SWAP(type, at, old, new)                                             \
	({                                                                   \
		type was = (type)(old);                                      \
		__atomic_compare_exchange_n((type *)(at), &was, (type)(new), \
					    false, __ATOMIC_SEQ_CST,         \
					    __ATOMIC_SEQ_CST);               \
	})

static bool store(unsigned long at, unsigned size, u64 value)
{
	switch (size) {
	case 1:
		return SWAP(u8, at, loaded, value);
	case 2:
		return SWAP(u16, at, loaded, value);
	case 4:
		return SWAP(u32, at, loaded, value);
	default:
		return SWAP(u64, at, loaded, value);
	}
}

void trace_step_begin(void)
{
	unsigned long msr;

	__asm__ volatile("mfmsr %0; ori %0, %0, %1; mtmsrd %0"
			 : "=&r"(msr)
			 : "i"(MSR_SE)
			 : "memory");
}

void trace_step_off(struct pt_regs *regs)
{
	regs->msr &= ~(unsigned long)MSR_SE;
}

bool trace_step_on(struct pt_regs *regs)
{
	u32 word = *(const u32 *)regs->nip, opcode = word >> 1 & 0x3ff;
	unsigned long at = address(regs, word);

	/* SRR0 and SRR1 are in use; the rfid brings SE back. */
	if (!(regs->msr & MSR_RI)) {
		trace_step_off(regs);
		return false;
	}
	regs->msr |= MSR_SE;
	for (const struct pair *p = pairs;
	     word >> 26 == 31 && p < pairs + ARRAY_SIZE(pairs); p++) {
		if (opcode == p->load) {
			loaded = load(at, p->size);
		} else if (opcode == p->store) {
			bool done = store(at, p->size,
					  regs->gpr[word >> 21 & 31]);

			regs->ccr = (regs->ccr & ~CR0) | (done ? CR0_EQ : 0);
			regs->nip += 4;
		}
	}
	return true;
}
