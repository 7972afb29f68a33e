// SPDX-License-Identifier: MIT
/*
 * What a vector's number and the syndrome registers mean; and reading a saved
 * context: arguments, back traces, names of registers.
 *
 * arch_trap_decode() is on the hit path. The rest is for reports and handlers,
 * reads memory fault-safely and never writes any.
 */
#include <arch/trap.h>
#include <arch/cpu.h>
#include <arch/detour.h>
#include <arch/mmu.h>
#include <arch/regs.h>
#include <arch/ret.h>
#include <arch/uaccess.h>
#include <asm/hcall.h>
#include <asm/trap.h>
#include <asm/text.h>
#include <kernel/image.h>
#include <kernel/panic.h>
#include <kernel/symtab.h>
#include <lib/errno.h>
#include <probe/ret.h>

/* H_SET_MODE (PAPR 14): resources and the values we want. */
#define MODE_BIG_ENDIAN	   0
#define MODE_LITTLE_ENDIAN 1
#define MODE_AIL_C4000	   3
#define RESOURCE_AIL	   3
#define RESOURCE_ENDIAN	   4

__noprobe void arch_trap_restart(struct pt_regs *regs, struct pt_regs *outer,
				 void (*fn)(struct pt_regs *outer))
{
	regs->nip = (unsigned long)vec_restart;
	regs->gpr[1] = (unsigned long)outer - FRAME_REGS;
	regs->gpr[3] = (unsigned long)outer;
	regs->gpr[12] = (unsigned long)fn;
	/*
	 * Nothing of what was interrupted is left, so nothing of its MSR counts:
	 * one reset may have hit in the first instructions of another, where
	 * translation and RI are off.
	 */
	regs->msr = MSR_SF | MSR_VECTOR_LOW | MSR_RI;
}

void arch_trap_init(void)
{
	long err = hcall(H_SET_MODE,
			 MSR_ENDIAN ? MODE_LITTLE_ENDIAN : MODE_BIG_ENDIAN,
			 RESOURCE_ENDIAN, 0, 0);

	if (!err)
		err = hcall(H_SET_MODE, MODE_AIL_C4000, RESOURCE_AIL, 0, 0);
	if (err)
		panic("the hypervisor refused our interrupt mode: %ld", err);
}

/* Deciding what happened ----------------------------------------------------- */

/* SRR1 after a program interrupt (ISA 3.1 III 7.5.9). */
#define SRR1_FLOAT	0x100000
#define SRR1_ILLEGAL	0x080000
#define SRR1_PRIVILEGED 0x040000
/* Bits of SRR1 that are never a copy of the MSR's (7.5). */
#define SRR1_CAUSE 0x783f0000ul
/* DSISR, and SRR1 after an instruction storage interrupt (7.5.3, 7.5.5). */
#define DSISR_PROTECTION 0x08000000
#define DSISR_STORE	 0x02000000
#define SRR1_NO_EXEC	 0x10000000

struct vector {
	u16 offset;
	u8 kind;
	const char *name;
};

/* Those that need a look at the syndrome come first, the hit path's on top. */
static const struct vector vectors[] = {
	{ 0xd00, TRAP_STEP, "trace" },
	{ 0x900, TRAP_INTERRUPT, "decrementer" },
	{ 0x500, TRAP_INTERRUPT, "external interrupt" },
	{ 0xa00, TRAP_INTERRUPT, "doorbell" },
	{ 0xe80, TRAP_INTERRUPT, "hypervisor doorbell" },
	{ 0x100, TRAP_NMI, "system reset" },
	{ 0x200, TRAP_MACHINE_CHECK, "machine check" },
	{ 0x300, TRAP_MEMORY, "data storage" },
	{ 0x380, TRAP_MEMORY, "data segment" },
	{ 0x400, TRAP_MEMORY, "instruction storage" },
	{ 0x480, TRAP_MEMORY, "instruction segment" },
	{ 0x600, TRAP_ALIGNMENT, "alignment" },
	{ 0x800, TRAP_FLOAT, "floating point unavailable" },
	{ 0xf20, TRAP_FLOAT, "vector unavailable" },
	{ 0xf40, TRAP_FLOAT, "VSX unavailable" },
	{ 0xf60, TRAP_PRIVILEGED, "facility unavailable" },
	{ 0xc00, TRAP_SYSCALL, "system call" },
	{ 0xe40, TRAP_ILLEGAL, "emulation assistance" },
};

/* tw, td (31), twi, tdi: always, if the operands say so. (ISA 3.1 I 3.3.11) */
static __always_inline bool is_conditional_trap(u32 word)
{
	unsigned op = word >> 26, xo = (word >> 1) & 0x3ff;

	if (word == ARCH_BREAK_WORD)
		return false;
	return op == 2 || op == 3 || (op == 31 && (xo == 4 || xo == 68));
}

/*
 * A trap whose word is not there any more is a breakpoint as well: one that was
 * taken away between the trap and now. The generic side looks again.
 */
static __always_inline void decode_program(const struct pt_regs *regs,
					   struct trap *t)
{
	unsigned long cause = t->code;

	if (cause & SRR1_TRAP) {
		t->kind = TRAP_BREAKPOINT;
		t->name = "program check (trap)";
		if (!(t->flags & TRAP_REAL_MODE) && !user_mode(regs) &&
		    is_conditional_trap(*(const volatile u32 *)regs->nip))
			t->kind = TRAP_TRAP;
	} else if (cause & SRR1_ILLEGAL) {
		t->kind = TRAP_ILLEGAL;
		t->name = "program check (illegal instruction)";
	} else if (cause & SRR1_PRIVILEGED) {
		t->kind = TRAP_PRIVILEGED;
		t->name = "program check (privileged instruction)";
	} else if (cause & SRR1_FLOAT) {
		t->kind = TRAP_FLOAT;
		t->name = "program check (floating point)";
	}
}

static __always_inline void decode_memory(const struct pt_regs *regs,
					  struct trap *t)
{
	if (t->vector >= 0x400) {
		t->addr = regs->nip;
		t->flags |= TRAP_EXEC;
		if (t->code & (DSISR_PROTECTION | SRR1_NO_EXEC))
			t->flags |= TRAP_PROTECTION;
		return;
	}
	t->addr = regs->dar;
	if (t->vector != 0x300)
		return;
	t->code = regs->dsisr;
	if (regs->dsisr & DSISR_STORE)
		t->flags |= TRAP_WRITE;
	if (regs->dsisr & DSISR_PROTECTION)
		t->flags |= TRAP_PROTECTION;
}

__noprobe void arch_trap_decode(struct pt_regs *regs, struct trap *t)
{
	t->kind = TRAP_UNKNOWN;
	t->flags = 0;
	t->vector = regs->trap & ~0x1ful;
	t->code = regs->msr;
	regs->msr &= ~SRR1_CAUSE;
	t->addr = 0;
	t->pc = regs->nip;
	t->name = "unknown vector";
	if ((regs->msr & (MSR_IR | MSR_DR)) != (MSR_IR | MSR_DR))
		t->flags = TRAP_REAL_MODE;
	if (t->vector == 0x700) {
		decode_program(regs, t);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		if (vectors[i].offset != t->vector)
			continue;
		t->kind = vectors[i].kind;
		t->name = vectors[i].name;
		break;
	}
	if (t->kind == TRAP_MEMORY)
		decode_memory(regs, t);
	else if (t->kind == TRAP_ALIGNMENT)
		t->addr = regs->dar;
	if (regs->trap & PT_TRAP_NO_STACK) {
		t->kind = TRAP_DOUBLE_FAULT;
		t->name = "no usable stack";
	}
}

/*
 * The interrupted code had MSR[RI] off. If it was vec_restore itself, before r1
 * left the frame, it can start again; otherwise its SRR0 and SRR1 are lost.
 */
void arch_trap_recover(struct pt_regs *regs)
{
	if (regs->nip < (unsigned long)vec_window_start ||
	    regs->nip >= (unsigned long)vec_window_end)
		panic_regs(regs, "unrecoverable: interrupted with MSR[RI] off");
	regs->nip = (unsigned long)vec_window_start;
}

/* The hypervisor stays, whatever we do to ourselves. */
int arch_trap_break_everything(void)
{
	return -EOPNOTSUPP;
}

/* Samples -------------------------------------------------------------------- */

const struct trap_sample arch_trap_samples[] = {
	{ "conditional word trap", TRAP_TRAP, sample_tw },
	{ "conditional doubleword trap", TRAP_TRAP, sample_td },
	{ "unconditional trap", TRAP_BREAKPOINT, sample_break },
	{ "illegal instruction", TRAP_ILLEGAL, sample_illegal },
	{ "single step", TRAP_STEP, sample_step },
	{ "load from nowhere", TRAP_MEMORY, sample_load },
	{ "store to nowhere", TRAP_MEMORY, sample_store },
	{ "store to text", TRAP_MEMORY, sample_store_text },
	{ "load outside the address space", TRAP_MEMORY, sample_segment },
	{ "execute data", TRAP_MEMORY, sample_fetch },
	{ "unaligned reservation", TRAP_ALIGNMENT, sample_alignment },
	{ "floating point unavailable", TRAP_FLOAT, sample_float },
	{ "vector unavailable", TRAP_FLOAT, sample_vector },
	{ "VSX unavailable", TRAP_FLOAT, sample_vsx },
};
const unsigned arch_trap_sample_count = ARRAY_SIZE(arch_trap_samples);

/* Reading a context ---------------------------------------------------------- */

#define GPR(n)                    \
	{                         \
		"r" #n, PT_GPR(n) \
	}

/* clang-format off */
const struct reg_desc arch_reg_descs[] = {
	{ "nip", PT_NIP }, { "msr", PT_MSR },
	{ "lr", PT_LINK }, { "ctr", PT_CTR },
	{ "xer", PT_XER }, { "cr", PT_CCR },
	{ "dar", PT_DAR }, { "dsisr", PT_DSISR },
	GPR(0), GPR(1), GPR(2), GPR(3), GPR(4), GPR(5), GPR(6), GPR(7),
	GPR(8), GPR(9), GPR(10), GPR(11), GPR(12), GPR(13), GPR(14), GPR(15),
	GPR(16), GPR(17), GPR(18), GPR(19), GPR(20), GPR(21), GPR(22), GPR(23),
	GPR(24), GPR(25), GPR(26), GPR(27), GPR(28), GPR(29), GPR(30), GPR(31),
};
/* clang-format on */
const unsigned arch_reg_desc_count = ARRAY_SIZE(arch_reg_descs);

/* The first eight are in r3 to r10; all have a place in the caller's frame. */
#define PARAMETER_SAVE_AREA 32

unsigned long regs_get_kernel_argument(const struct pt_regs *regs, unsigned n)
{
	u64 value;

	if (n < 8)
		return regs->gpr[3 + n];
	if (arch_peek((void *)(regs->gpr[1] + PARAMETER_SAVE_AREA + 8ul * n),
		      &value, sizeof(value)))
		return 0;
	return value;
}

static bool peek_word(unsigned long va, unsigned long *value)
{
	u64 v;

	if (!IS_ALIGNED(va, 8) || arch_peek((void *)va, &v, sizeof(v)))
		return false;
	*value = v;
	return true;
}

/* Frames of a trace at most: a circle of frames must end. */
#define UNWIND_MAX 256

/*
 * The link register of the innermost function is its return address until the
 * function calls something. @saved is what stands where the function would save
 * it: the same once it did, an older one before.
 */
static bool link_is_caller(const struct pt_regs *regs, unsigned long saved)
{
	struct symbol sym;

	/* It has just returned, and the link register is a leftover. */
	if (regs->nip == (unsigned long)ret_landing)
		return false;

	if (!image_is_text(regs->link) || regs->link == saved)
		return false;
	/* In no function: gone astray by a call, perhaps through NULL. */
	if (symtab_lookup(regs->nip, &sym) || regs->nip <= symbol_entry(&sym))
		return true;
	/* A call of its own left an address inside the function. */
	return regs->link - sym.addr > sym.size || regs->link == sym.addr;
}

/* Is @pc where vectors.S or detour.S calls C, so that a struct pt_regs is there? */
static bool frame_is_trap(unsigned long pc)
{
	return pc == (unsigned long)vec_trap_return ||
	       pc == (unsigned long)vec_break_return || ret_is_in_body(pc) ||
	       (pc >= (unsigned long)detour_start &&
		pc < (unsigned long)detour_end);
}

/*
 * @pc, or the true return address if a return probe has changed it to @pc: of
 * the call that was made with the stack pointer @sp.
 */
static unsigned long true_return(const struct thread *t, unsigned long sp,
				 unsigned long pc)
{
	unsigned long caller;

	if (pc != (unsigned long)ret_landing)
		return pc;
	caller = ret_caller(t, sp);
	return caller ? caller : pc;
}

void arch_unwind(const struct thread *t, const struct pt_regs *regs,
		 bool (*fn)(unsigned long pc, void *arg), void *arg)
{
	unsigned long sp = regs->gpr[1], caller, pc;
	bool innermost = true;
	struct pt_regs trapped;

	pc = true_return(t, sp, regs->nip);
	if (!fn(regs->nip, arg) || (pc != regs->nip && !fn(pc, arg)))
		return;
	for (unsigned i = 0; i < UNWIND_MAX; i++, sp = caller) {
		if (!peek_word(sp + FRAME_BACK_CHAIN, &caller))
			return;
		if (!caller || !peek_word(caller + FRAME_LR, &pc))
			pc = 0;
		/* The innermost function has no frame yet, or it has. */
		if (innermost && link_is_caller(regs, pc) &&
		    !fn(true_return(t, caller, true_return(t, sp, regs->link)),
			arg))
			return;
		innermost = false;
		pc = true_return(t, caller, pc);
		if (!pc || !fn(pc, arg))
			return;
		if (!frame_is_trap(pc))
			continue;
		/* The caller's frame is a trap's: go on with what it saved. */
		if (arch_copy_safe(&trapped, (void *)(caller + FRAME_REGS),
				   sizeof(trapped)))
			return;
		regs = &trapped;
		innermost = true;
		caller = trapped.gpr[1];
		if (user_mode(&trapped) || !fn(trapped.nip, arg))
			return;
	}
}
