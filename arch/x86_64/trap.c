// SPDX-License-Identifier: MIT
/*
 * What happened: the IDT, from a vector to a struct trap, and what struct
 * pt_regs means to people and to backtraces.
 *
 * arch_trap_decode() is on the hit path: a table look-up for all vectors but
 * three. Everything else is not.
 */
#include <arch/trap.h>

#include <arch/cpu.h>
#include <arch/regs.h>
#include <arch/ret.h>
#include <arch/uaccess.h>
#include <kernel/percpu.h>
#include <kernel/symtab.h>
#include <lib/errno.h>
#include <probe/ret.h>
#include <probe/site.h>
#include <asm/trap.h>

#define VECTORS 256

/* The IDT (SDM 3A 6.14.1) ---------------------------------------------------- */

struct gate {
	u16 offset0;
	u16 selector;
	u8 ist;
	u8 type; /* present, DPL, 64-bit interrupt gate */
	u16 offset16;
	u32 offset32;
	u32 reserved;
};
STATIC_ASSERT(sizeof(struct gate) == 16);

#define GATE_INTERRUPT 0x8e
#define GATE_USER      0x60 /* DPL 3 */

enum {
	VEC_DB = 1,
	VEC_NMI = 2,
	VEC_BP = 3,
	VEC_OF = 4,
	VEC_DF = 8,
	VEC_PF = 14,
	VEC_MC = 18,
	VEC_EXCEPTIONS = 32,
};

extern const unsigned long vec_table[VECTORS];
extern const u8 vec_start[], vec_end[];
extern const u8 vec_restart[], vec_restart_return[];

static struct gate idt[VECTORS] __aligned(16);

__noprobe void arch_trap_restart(struct pt_regs *regs, struct pt_regs *outer,
				 void (*fn)(struct pt_regs *outer))
{
	regs->ip = (unsigned long)vec_restart;
	regs->sp = (unsigned long)outer;
	regs->di = (unsigned long)outer;
	regs->ax = (unsigned long)fn;
	regs->flags &= ~(unsigned long)(X86_FLAGS_IF | X86_FLAGS_TF |
					X86_FLAGS_DF);
}

void arch_trap_init(void)
{
	unsigned i;

	for (i = 0; i < VECTORS; i++) {
		idt[i].offset0 = vec_table[i];
		idt[i].offset16 = vec_table[i] >> 16;
		idt[i].offset32 = vec_table[i] >> 32;
		idt[i].selector = SEL_KERNEL_CODE;
		idt[i].type = GATE_INTERRUPT;
	}
	idt[VEC_NMI].ist = IST_NMI;
	idt[VEC_DF].ist = IST_DF;
	idt[VEC_MC].ist = IST_MC;
	/* `int3` and `int $4` are for user programs, too. */
	idt[VEC_BP].type |= GATE_USER;
	idt[VEC_OF].type |= GATE_USER;
}

void x86_idt_load(void)
{
	struct table_register idtr = { sizeof(idt) - 1, (u64)idt };

	__asm__ volatile("lidt %0" : : "m"(idtr));
}

/* No vectors: the #UD becomes a #DF, and that a shutdown (SDM 3A 6.15). */
int arch_trap_break_everything(void)
{
	static const struct table_register none;

	__asm__ volatile("lidt %0; ud2" : : "m"(none));
	return 0;
}

/* From a vector to a kind ------------------------------------------------------ */

struct exception {
	u8 kind;
	const char *name;
};

/* clang-format off */
static const struct exception exceptions[VEC_EXCEPTIONS] = {
	[0]	 = { TRAP_ARITHMETIC,	 "divide error" },
	[VEC_DB] = { TRAP_STEP,		 "debug" },
	[VEC_NMI] = { TRAP_NMI,		 "NMI" },
	[VEC_BP] = { TRAP_BREAKPOINT,	 "breakpoint" },
	[VEC_OF] = { TRAP_ARITHMETIC,	 "overflow" },
	[5]	 = { TRAP_TRAP,		 "bound range" },
	[6]	 = { TRAP_ILLEGAL,	 "invalid opcode" },
	[7]	 = { TRAP_FLOAT,	 "device not available" },
	[VEC_DF] = { TRAP_DOUBLE_FAULT,	 "double fault" },
	[9]	 = { TRAP_UNKNOWN,	 "coprocessor overrun" },
	[10]	 = { TRAP_PRIVILEGED,	 "invalid TSS" },
	[11]	 = { TRAP_PRIVILEGED,	 "segment not present" },
	[12]	 = { TRAP_PRIVILEGED,	 "stack segment fault" },
	[13]	 = { TRAP_PRIVILEGED,	 "general protection" },
	[VEC_PF] = { TRAP_MEMORY,	 "page fault" },
	[15]	 = { TRAP_UNKNOWN,	 "reserved exception" },
	[16]	 = { TRAP_FLOAT,	 "x87 floating point" },
	[17]	 = { TRAP_ALIGNMENT,	 "alignment check" },
	[VEC_MC] = { TRAP_MACHINE_CHECK, "machine check" },
	[19]	 = { TRAP_FLOAT,	 "SIMD floating point" },
	[20]	 = { TRAP_UNKNOWN,	 "virtualisation" },
	[21]	 = { TRAP_UNKNOWN,	 "control protection" },
	[22 ... 31] = { TRAP_UNKNOWN,	 "reserved exception" },
};
/* clang-format on */

static const struct exception soft_int = { TRAP_TRAP, "int n" };
static const struct exception interrupt = { TRAP_INTERRUPT, "interrupt" };

/* Bits of a page fault's error code (SDM 3A 4.7). */
enum { PF_PRESENT = 1, PF_WRITE = 2, PF_FETCH = 16 };

static __always_inline unsigned long read_cr2(void)
{
	unsigned long va;

	__asm__ volatile("mov %%cr2, %0" : "=r"(va));
	return va;
}

static __always_inline void decode_page_fault(struct trap *t)
{
	t->addr = read_cr2();
	if (t->code & PF_PRESENT)
		t->flags |= TRAP_PROTECTION;
	if (t->code & PF_WRITE)
		t->flags |= TRAP_WRITE;
	if (t->code & PF_FETCH)
		t->flags |= TRAP_EXEC;
}

/*
 * A #DB may have several causes at once, and DR6 keeps them until cleared (SDM
 * 3B 18.2.3). It also shows matches of breakpoints that are not enabled. One on
 * an instruction comes before it: RF lets the return get past it.
 */
static __always_inline void decode_debug(struct pt_regs *regs, struct trap *t)
{
	unsigned long dr6, dr7, i;

	__asm__ volatile("mov %%dr6, %0" : "=r"(dr6));
	__asm__ volatile("mov %%dr7, %0" : "=r"(dr7));
	__asm__ volatile("mov %0, %%dr6" : : "r"((unsigned long)DR6_CLEAR));
	t->code = dr6;
	if (likely(!(dr7 & 0xff)))
		return;

	for (i = 0; i < 4; i++) {
		if (!(dr6 >> i & 1) || !(dr7 >> i * 2 & 3))
			continue;
		t->kind = TRAP_WATCH;
		if (!(dr7 >> (16 + i * 4) & 3))
			regs->flags |= X86_FLAGS_RF;
	}
	if (t->kind == TRAP_WATCH && dr6 & DR6_BS)
		t->flags |= TRAP_ALSO_STEP;
}

__noprobe void arch_trap_decode(struct pt_regs *regs, struct trap *t)
{
	const struct exception *e;

	t->vector = regs->vector;
	if (t->vector < VEC_EXCEPTIONS)
		e = &exceptions[t->vector];
	else
		e = t->vector < VEC_DEVICES ? &soft_int : &interrupt;
	t->kind = e->kind;
	t->name = e->name;
	t->flags = 0;
	t->code = regs->orig_ax;
	t->addr = 0;
	t->pc = regs->ip;

	if (t->vector == VEC_BP)
		t->pc = regs->ip - 1;
	else if (t->vector == VEC_DB)
		decode_debug(regs, t);
	else if (t->vector == VEC_PF)
		decode_page_fault(t);
	else if (t->vector == VEC_DF)
		t->addr = read_cr2(); /* where a push failed, if one did */
}

/* struct pt_regs for people ---------------------------------------------------- */

#define REG(name, field)                              \
	{                                             \
		name, offsetof(struct pt_regs, field) \
	}

const struct reg_desc arch_reg_descs[] = {
	REG("ax", ax),	 REG("bx", bx),	  REG("cx", cx),       REG("dx", dx),
	REG("si", si),	 REG("di", di),	  REG("bp", bp),       REG("sp", sp),
	REG("r8", r8),	 REG("r9", r9),	  REG("r10", r10),     REG("r11", r11),
	REG("r12", r12), REG("r13", r13), REG("r14", r14),     REG("r15", r15),
	REG("ip", ip),	 REG("cs", cs),	  REG("flags", flags), REG("ss", ss),
};
const unsigned arch_reg_desc_count = ARRAY_SIZE(arch_reg_descs);

/* Six in registers, then the stack above the return address (psABI 3.2.3). */
unsigned long regs_get_kernel_argument(const struct pt_regs *regs, unsigned n)
{
	static const u8 argument[] = { FRAME_DI, FRAME_SI, FRAME_DX,
				       FRAME_CX, FRAME_R8, FRAME_R9 };
	u64 value;

	if (n < ARRAY_SIZE(argument))
		return *(const unsigned long *)((const char *)regs +
						argument[n]);
	n -= ARRAY_SIZE(argument);
	if (arch_peek((const u64 *)regs->sp + 1 + n, &value, sizeof(value)))
		return 0;
	return value;
}

/* Not inlined: its own frame is what it reads. */
__noinline void arch_regs_capture(struct pt_regs *regs)
{
	unsigned long *frame = __builtin_frame_address(0);

	*regs = (struct pt_regs){
		.bp = frame[0],
		.ip = frame[1],
		.sp = (unsigned long)(frame + 2),
		.cs = SEL_KERNEL_CODE,
		.ss = SEL_KERNEL_DATA,
		.flags = arch_flags(),
	};
}

/* Backtraces ------------------------------------------------------------------- */

#define UNWIND_MAX 256

static bool read_word(unsigned long va, unsigned long *value)
{
	u64 v;

	if (va & 7 || arch_peek((void *)va, &v, sizeof(v)))
		return false;
	*value = v;
	return true;
}

/*
 * Where the return address is while @regs' function has no frame of its own: at
 * its first instruction, behind its `push %rbp`, and at its `ret`, whether that
 * pops more or not. 0: it has.
 */
static unsigned long frameless_return(const struct pt_regs *regs)
{
	struct symbol sym;
	u64 opcode;

	if (!arch_peek((void *)regs->ip, &opcode, 1) && (opcode & ~1ul) == 0xc2)
		return regs->sp;
	if (symtab_lookup(regs->ip, &sym))
		return 0;
	if (regs->ip == sym.addr)
		return regs->sp;
	if (regs->ip == sym.addr + 1)
		return regs->sp + 8;
	return 0;
}

/* The return address at @va; the true one if a return probe has changed it. */
static bool read_return(const struct thread *t, unsigned long va,
			unsigned long *pc)
{
	unsigned long caller;

	if (!read_word(va, pc))
		return false;
	if (*pc == (unsigned long)ret_landing) {
		caller = ret_caller(t, va);
		*pc = caller ? caller : *pc;
	}
	return true;
}

/*
 * Where the struct pt_regs is if @pc is in code that makes one and calls C, or 0.
 * vectors.S calls with it on top of the stack, so that it lies above the callee's
 * @bp and return address. vec_restart, ret.S and detours have bp point to it, which
 * the callee's frame has @saved.
 */
static unsigned long frame_at(unsigned long pc, unsigned long bp,
			      unsigned long saved)
{
	if (pc == (unsigned long)vec_restart_return || ret_is_in_body(pc) ||
	    exec_at(pc))
		return saved;
	if (pc >= (unsigned long)vec_start && pc < (unsigned long)vec_end)
		return bp + 16;
	return 0;
}

/*
 * Each frame is the caller's bp with the return address above it. Where a trap,
 * a detour or ret.S has made a frame, the walk goes on in what it interrupted,
 * whatever stack that is.
 */
void arch_unwind(const struct thread *t, const struct pt_regs *regs,
		 bool (*fn)(unsigned long pc, void *arg), void *arg)
{
	struct pt_regs trapped;
	unsigned long bp, pc, next, frame;
	unsigned n = 0;

again:
	if (!fn(regs->ip, arg))
		return;
	if (regs->ip == (unsigned long)ret_landing &&
	    (pc = ret_caller(t, regs->sp - 8)) && !fn(pc, arg))
		return;
	next = frameless_return(regs);
	if (next && (!read_return(t, next, &pc) || !fn(pc, arg)))
		return;

	for (bp = regs->bp; bp && n++ < UNWIND_MAX; bp = next) {
		if (!read_word(bp, &next) || !read_return(t, bp + 8, &pc) ||
		    !pc)
			return;
		frame = frame_at(pc, bp, next);
		if (frame) {
			if (arch_copy_safe(&trapped, (void *)frame,
					   sizeof(trapped)))
				return;
			regs = &trapped;
			goto again;
		}
		if (!fn(pc, arg) || next <= bp)
			return;
	}
}

/* Samples: uaccess.S ------------------------------------------------------------ */

void sample_divide(void);
void sample_overflow(void);
void sample_illegal(void);
void sample_breakpoint(void);
void sample_int_n(void);
void sample_protection(void);
void sample_selector(void);
void sample_read(void);
void sample_write(void);
void sample_write_text(void);
void sample_execute(void);
void sample_step(void);
void sample_watch(void);
void sample_float(void);

const struct trap_sample arch_trap_samples[] = {
	{ "divide by zero", TRAP_ARITHMETIC, sample_divide },
	{ "int $4", TRAP_ARITHMETIC, sample_overflow },
	{ "ud2", TRAP_ILLEGAL, sample_illegal },
	{ "int3", TRAP_BREAKPOINT, sample_breakpoint },
	{ "int $0x80", TRAP_TRAP, sample_int_n },
	{ "non-canonical address", TRAP_PRIVILEGED, sample_protection },
	{ "selector beyond the GDT", TRAP_PRIVILEGED, sample_selector },
	{ "load from page 0", TRAP_MEMORY, sample_read },
	{ "store to page 0", TRAP_MEMORY, sample_write },
	{ "store to text", TRAP_MEMORY, sample_write_text },
	{ "jump to data", TRAP_MEMORY, sample_execute },
	{ "single step", TRAP_STEP, sample_step },
	{ "watched store", TRAP_WATCH, sample_watch },
	{ "x87 switched off", TRAP_FLOAT, sample_float },
};
const unsigned arch_trap_sample_count = ARRAY_SIZE(arch_trap_samples);
