// SPDX-License-Identifier: MIT
/*
 * Emulation of what touches the pc, the stack, or the flags that a step would
 * disturb, and of moves that are cheaper to do than to step.
 *
 * Analysis is a function per kind of instruction, which fills a struct insn_op
 * from the registers; arch_insn_apply() does the operation's load and store and
 * only then, when nothing can fault any more, changes the registers.
 *
 * Not offered, so that the copy in the slot runs: fs and gs operands (their
 * bases are not in the frame), memory operands of user code (they need user
 * access rules), and stores below the stack pointer, where our own trap frame
 * is. A push is safe: the trap entry leaves room for it.
 *
 * Any context, but never a hit inside a hit: so it may be probed.
 */
#include <arch/insn.h>
#include <arch/uaccess.h>
#include <frame.h>
#include <lib/errno.h>

enum flag {
	FLAG_CF = 1 << 0,
	FLAG_PF = 1 << 2,
	FLAG_ZF = 1 << 6,
	FLAG_SF = 1 << 7,
	FLAG_IF = 1 << 9,
	FLAG_DF = 1 << 10,
	FLAG_OF = 1 << 11,
	FLAG_RF = 1 << 16,
	FLAG_VM = 1 << 17,
	/* What popf changes at privilege level 0 (SDM 2B POPF). */
	FLAGS_POP = 0x247fd5,
	FLAGS_POP_CLEARS = FLAG_RF | 3 << 19, /* VIF, VIP */
};

/* Stores this far below the stack pointer may meet the trap frame. */
#define BELOW_STACK 0x10000

enum { REG_AX, REG_CX, REG_DX, REG_BX, REG_SP, REG_BP };

/* What the functions below work on. */
struct analysis {
	const struct insn *insn;
	const struct arch_insn *a;
	const struct pt_regs *regs;
	struct insn_op *op;
};

/* Registers by number --------------------------------------------------------
 */

#define REG_OFFSET(name) offsetof(struct pt_regs, name)

static const u16 reg_offsets[16] = {
	REG_OFFSET(ax),	 REG_OFFSET(cx),  REG_OFFSET(dx),  REG_OFFSET(bx),
	REG_OFFSET(sp),	 REG_OFFSET(bp),  REG_OFFSET(si),  REG_OFFSET(di),
	REG_OFFSET(r8),	 REG_OFFSET(r9),  REG_OFFSET(r10), REG_OFFSET(r11),
	REG_OFFSET(r12), REG_OFFSET(r13), REG_OFFSET(r14), REG_OFFSET(r15),
};

static __always_inline unsigned long *reg_slot(struct pt_regs *regs, unsigned n)
{
	return (void *)((char *)regs + reg_offsets[n & 15]);
}

static __always_inline u64 reg_get(const struct pt_regs *regs, unsigned n)
{
	u64 value = *reg_slot((struct pt_regs *)regs, n);

	return n & 16 ? value >> 8 & 0xff : value;
}

/* A byte register without REX: 4..7 are ah ch dh bh. */
static __always_inline unsigned byte_reg(const struct arch_insn *a, unsigned n)
{
	if (n >= 4 && n < 8 && !(a->prefixes & X86_P_REX))
		return 16 + n - 4;
	return n;
}

static __always_inline unsigned modrm_reg(const struct arch_insn *a)
{
	return X86_REG(a) | (a->rex & X86_REX_R ? 8 : 0);
}

static __always_inline unsigned modrm_rm(const struct arch_insn *a)
{
	return X86_RM(a) | (a->rex & X86_REX_B ? 8 : 0);
}

/* The register in the opcode's low bits: push, pop, mov. */
static __always_inline unsigned opcode_reg(const struct arch_insn *a)
{
	return (a->opcode & 7) | (a->rex & X86_REX_B ? 8 : 0);
}

/* Operands -------------------------------------------------------------------
 */

/* Eight bytes at once: what comes from behind insn->bytes is shifted out. */
static __always_inline u64 signed_field(const struct insn *insn, unsigned off,
					unsigned size)
{
	unsigned unused = 64 - 8 * size;
	const char *at = (const char *)insn + offsetof(struct insn, bytes);
	u64 value;

	STATIC_ASSERT(sizeof(*insn) - offsetof(struct insn, bytes) >=
		      INSN_MAX_BYTES + sizeof(value));
	if (!size)
		return 0;
	__builtin_memcpy(&value, at + off, sizeof(value));
	return (s64)(value << unused) >> unused;
}

static __always_inline u64 immediate(const struct insn *insn)
{
	return signed_field(insn, insn->arch.imm_off, insn->arch.imm_size);
}

/* The memory operand's address, if rsp is @sp (SDM 2A 2.1.5). */
static u64 address(const struct analysis *x, u64 sp)
{
	const struct arch_insn *a = x->a;
	unsigned base = modrm_rm(a);
	u64 va = signed_field(x->insn, a->disp_off, a->disp_size);

	if (X86_RIP_REL(a))
		return x->insn->target;
	if (X86_HAS_SIB(a)) {
		unsigned index = (a->sib >> 3 & 7) |
				 (a->rex & X86_REX_X ? 8 : 0);

		base = (a->sib & 7) | (a->rex & X86_REX_B ? 8 : 0);
		if (index != REG_SP)
			va += reg_get(x->regs, index) << (a->sib >> 6);
		if ((base & 7) == REG_BP && X86_MOD(a) == 0)
			goto out;
	}
	va += base == REG_SP ? sp : reg_get(x->regs, base);
out:
	return a->prefixes & X86_P_ADDRSIZE ? (u32)va : va;
}

static __always_inline bool is_user(const struct analysis *x)
{
	return x->regs->cs & 3;
}

/* May we access the operand at all? */
static __always_inline bool memory_offered(const struct analysis *x)
{
	return x->a->segment != 0x64 && x->a->segment != 0x65 && !is_user(x);
}

/* Kinds of operation: false if not offered -----------------------------------
 */

/* The stack operation behind push and call: room for @size bytes. */
static bool store_on_stack(struct analysis *x, unsigned size)
{
	if (is_user(x))
		return false;
	x->op->sp = x->regs->sp - size;
	x->op->store_va = x->op->sp;
	x->op->store_size = size;
	return true;
}

static bool load_from_stack(struct analysis *x, unsigned size)
{
	if (is_user(x))
		return false;
	x->op->load_va = x->regs->sp;
	x->op->load_size = size;
	x->op->sp = x->regs->sp + size;
	return true;
}

/* The r/m operand's value into @op->value, now or by a load. */
static bool read_rm(struct analysis *x, unsigned size)
{
	const struct arch_insn *a = x->a;

	if (!X86_HAS_MEM(a)) {
		unsigned n = modrm_rm(a);

		x->op->value = reg_get(x->regs, size == 1 ? byte_reg(a, n) : n);
		return true;
	}
	if (!memory_offered(x))
		return false;
	x->op->load_va = address(x, x->regs->sp);
	x->op->load_size = size;
	return true;
}

static void to_reg(struct analysis *x, unsigned n, unsigned size)
{
	x->op->dest = X86_TO_REG;
	x->op->dest_reg = size == 1 ? byte_reg(x->a, n) : n;
	x->op->dest_size = size;
}

/* @op->store_value to the r/m operand. */
static bool write_rm(struct analysis *x, unsigned size)
{
	struct insn_op *op = x->op;

	if (!X86_HAS_MEM(x->a)) {
		op->value = op->store_value;
		to_reg(x, modrm_rm(x->a), size);
		return true;
	}
	if (!memory_offered(x))
		return false;
	op->store_va = address(x, op->sp);
	op->store_size = size;
	return op->store_va >= x->regs->sp ||
	       x->regs->sp - op->store_va > BELOW_STACK;
}

/* Instructions ---------------------------------------------------------------
 */

static bool emu_nop(struct analysis *x)
{
	(void)x;
	return true;
}

static bool emu_push_reg(struct analysis *x)
{
	x->op->store_value = reg_get(x->regs, opcode_reg(x->a));
	return store_on_stack(x, x->a->opsize);
}

static bool emu_push_imm(struct analysis *x)
{
	x->op->store_value = immediate(x->insn);
	return store_on_stack(x, x->a->opsize);
}

static bool emu_push_rm(struct analysis *x)
{
	if (!read_rm(x, x->a->opsize))
		return false;
	x->op->store_value = x->op->value;
	x->op->store_loaded = x->op->load_size != 0;
	return store_on_stack(x, x->a->opsize);
}

static bool emu_pop_reg(struct analysis *x)
{
	to_reg(x, opcode_reg(x->a), x->a->opsize);
	return load_from_stack(x, x->a->opsize);
}

/* pop E: the address is computed with the new rsp (SDM 2B POP). */
static bool emu_pop_rm(struct analysis *x)
{
	if (!load_from_stack(x, x->a->opsize))
		return false;
	if (!X86_HAS_MEM(x->a)) {
		to_reg(x, modrm_rm(x->a), x->a->opsize);
		return true;
	}
	x->op->store_loaded = 1;
	return write_rm(x, x->a->opsize);
}

static bool emu_pushf(struct analysis *x)
{
	x->op->store_value = x->regs->flags & ~(FLAG_RF | FLAG_VM);
	return store_on_stack(x, x->a->opsize);
}

static bool emu_popf(struct analysis *x)
{
	x->op->dest = X86_TO_FLAGS;
	x->op->dest_size = x->a->opsize;
	return load_from_stack(x, x->a->opsize);
}

static bool emu_cli(struct analysis *x)
{
	x->op->flags &= ~(u64)FLAG_IF;
	return !is_user(x);
}

static bool emu_sti(struct analysis *x)
{
	x->op->flags |= FLAG_IF;
	return !is_user(x);
}

static bool emu_flag(struct analysis *x)
{
	u64 *flags = &x->op->flags;

	switch (x->a->opcode) {
	case 0xf5:
		*flags ^= FLAG_CF;
		break;
	case 0xf8:
		*flags &= ~(u64)FLAG_CF;
		break;
	case 0xf9:
		*flags |= FLAG_CF;
		break;
	case 0xfc:
		*flags &= ~(u64)FLAG_DF;
		break;
	case 0xfd:
		*flags |= FLAG_DF;
		break;
	}
	return true;
}

static bool emu_call_rel(struct analysis *x)
{
	x->op->store_value = x->op->pc;
	x->op->pc = x->insn->target;
	return store_on_stack(x, 8);
}

/* The target is read before the push (SDM 2A CALL). */
static bool emu_call_rm(struct analysis *x)
{
	x->op->store_value = x->op->pc;
	x->op->dest = X86_TO_PC;
	return read_rm(x, 8) && store_on_stack(x, 8);
}

static bool emu_jmp_rel(struct analysis *x)
{
	x->op->pc = x->insn->target;
	return true;
}

/* Not for user code: a target that is no address would fault in our iret. */
static bool emu_jmp_rm(struct analysis *x)
{
	x->op->dest = X86_TO_PC;
	return !is_user(x) && read_rm(x, 8);
}

/* Condition codes in pairs: the odd one negates (SDM 1 B.1). */
static bool condition(unsigned code, u64 flags)
{
	static const u16 any_of[8] = {
		FLAG_OF, FLAG_CF, FLAG_ZF, FLAG_CF | FLAG_ZF,
		FLAG_SF, FLAG_PF, 0,	   FLAG_ZF,
	};
	bool holds = flags & any_of[code >> 1];

	if (code >= 12) /* l le: SF != OF, or ZF */
		holds |= !(flags & FLAG_SF) != !(flags & FLAG_OF);
	return holds != (code & 1);
}

static bool emu_jcc(struct analysis *x)
{
	if (condition(x->a->opcode & 15, x->regs->flags))
		x->op->pc = x->insn->target;
	return true;
}

/* loopne loope loop jrcxz; 67 makes the counter ecx (SDM 2A LOOP, JCC). */
static bool emu_loop(struct analysis *x)
{
	bool narrow = x->a->prefixes & X86_P_ADDRSIZE;
	bool zero = x->regs->flags & FLAG_ZF;
	u64 count = x->regs->cx;
	bool taken;

	if (x->a->opcode != 0xe3) {
		count--;
		if (narrow)
			count = (u32)count;
		x->op->value = count;
		to_reg(x, REG_CX, 8);
	} else if (narrow) {
		count = (u32)count;
	}
	switch (x->a->opcode) {
	case 0xe0:
		taken = count && !zero;
		break;
	case 0xe1:
		taken = count && zero;
		break;
	case 0xe2:
		taken = count;
		break;
	default:
		taken = !count;
	}
	if (taken)
		x->op->pc = x->insn->target;
	return true;
}

static bool emu_ret(struct analysis *x)
{
	x->op->dest = X86_TO_PC;
	if (!load_from_stack(x, 8))
		return false;
	x->op->sp += (u16)immediate(x->insn);
	return true;
}

static bool emu_leave(struct analysis *x)
{
	if (is_user(x) || x->a->opsize != 8)
		return false;
	x->op->load_va = x->regs->bp;
	x->op->load_size = 8;
	x->op->sp = x->regs->bp + 8;
	to_reg(x, REG_BP, 8);
	return true;
}

static bool emu_lea(struct analysis *x)
{
	x->op->value = address(x, x->regs->sp);
	to_reg(x, modrm_reg(x->a), x->a->opsize);
	return true;
}

/* Operand size of mov: the opcode's low bit chooses bytes or not. */
static __always_inline unsigned mov_size(const struct arch_insn *a)
{
	return a->opcode & 1 ? a->opsize : 1;
}

static bool emu_mov_to_rm(struct analysis *x)
{
	unsigned size = mov_size(x->a), n = modrm_reg(x->a);

	x->op->store_value = reg_get(x->regs,
				     size == 1 ? byte_reg(x->a, n) : n);
	return write_rm(x, size);
}

static bool emu_mov_to_reg(struct analysis *x)
{
	unsigned size = mov_size(x->a);

	to_reg(x, modrm_reg(x->a), size);
	return read_rm(x, size);
}

static bool emu_mov_imm_reg(struct analysis *x)
{
	x->op->value = immediate(x->insn);
	to_reg(x, opcode_reg(x->a), x->a->opcode & 8 ? x->a->opsize : 1);
	return true;
}

static bool emu_mov_imm_rm(struct analysis *x)
{
	x->op->store_value = immediate(x->insn);
	return write_rm(x, mov_size(x->a));
}

static bool (*const analysers[])(struct analysis *) = {
	[X86_EMU_NOP] = emu_nop,
	[X86_EMU_PUSH_REG] = emu_push_reg,
	[X86_EMU_POP_REG] = emu_pop_reg,
	[X86_EMU_PUSH_IMM] = emu_push_imm,
	[X86_EMU_PUSH_RM] = emu_push_rm,
	[X86_EMU_POP_RM] = emu_pop_rm,
	[X86_EMU_PUSHF] = emu_pushf,
	[X86_EMU_POPF] = emu_popf,
	[X86_EMU_CLI] = emu_cli,
	[X86_EMU_STI] = emu_sti,
	[X86_EMU_FLAG] = emu_flag,
	[X86_EMU_CALL_REL] = emu_call_rel,
	[X86_EMU_CALL_RM] = emu_call_rm,
	[X86_EMU_JMP_REL] = emu_jmp_rel,
	[X86_EMU_JMP_RM] = emu_jmp_rm,
	[X86_EMU_JCC] = emu_jcc,
	[X86_EMU_LOOP] = emu_loop,
	[X86_EMU_RET] = emu_ret,
	[X86_EMU_LEAVE] = emu_leave,
	[X86_EMU_LEA] = emu_lea,
	[X86_EMU_MOV_TO_RM] = emu_mov_to_rm,
	[X86_EMU_MOV_TO_REG] = emu_mov_to_reg,
	[X86_EMU_MOV_IMM_REG] = emu_mov_imm_reg,
	[X86_EMU_MOV_IMM_RM] = emu_mov_imm_rm,
};

enum insn_emu arch_insn_analyse(const struct insn *insn,
				const struct pt_regs *regs, struct insn_op *op)
{
	struct analysis x = { insn, &insn->arch, regs, op };

	op->fault_va = 0;
	op->load_size = op->store_size = op->store_loaded = 0;
	op->dest = X86_TO_NONE;
	op->pc = insn->pc + insn->len;
	op->sp = regs->sp;
	op->flags = regs->flags;
	if (insn->deny != INSN_OK || insn->arch.emu == X86_EMU_NONE ||
	    !analysers[insn->arch.emu](&x))
		return INSN_EMU_NONE;
	return op->load_size || op->store_size ? INSN_EMU_NEEDS_MEMORY
					       : INSN_EMU_DONE_IN_REGS;
}

/* Applying -------------------------------------------------------------------
 */

/* No address: the jump itself faults, not its target (SDM 1 3.3.7.1). */
static __always_inline bool is_canonical(u64 va)
{
	return !(va >> 47) || va >> 47 == 0x1ffff;
}

/* By one access each, as the instruction's own are: a device counts them. */
static int access_memory(struct insn_op *op)
{
	if (op->load_size) {
		op->fault_va = op->load_va;
		if (arch_peek((void *)(uintptr_t)op->load_va, &op->value,
			      op->load_size))
			return -EFAULT;
		if (op->store_loaded)
			op->store_value = op->value;
	}
	if (op->dest == X86_TO_PC && !is_canonical(op->value)) {
		op->fault_va = op->value;
		return -EFAULT;
	}
	if (op->store_size) {
		op->fault_va = op->store_va;
		if (arch_poke((void *)(uintptr_t)op->store_va, op->store_value,
			      op->store_size))
			return -EFAULT;
	}
	op->fault_va = 0;
	return 0;
}

/* Byte and word writes keep the rest, double words clear it (SDM 1 3.4.1.1). */
static void reg_set(struct pt_regs *regs, const struct insn_op *op)
{
	unsigned long *reg = reg_slot(regs, op->dest_reg);

	if (op->dest_reg & 16)
		*reg = (*reg & ~0xff00ul) | (op->value & 0xff) << 8;
	else if (op->dest_size == 1)
		*reg = (*reg & ~0xfful) | (op->value & 0xff);
	else if (op->dest_size == 2)
		*reg = (*reg & ~0xfffful) | (op->value & 0xffff);
	else if (op->dest_size == 4)
		*reg = (u32)op->value;
	else
		*reg = op->value;
}

static void flags_set(struct pt_regs *regs, const struct insn_op *op)
{
	unsigned long mask = FLAGS_POP;

	if (op->dest_size == 2)
		mask &= 0xffff;
	regs->flags &= ~(mask | FLAGS_POP_CLEARS);
	regs->flags |= op->value & mask;
}

int arch_insn_apply(struct insn_op *op, struct pt_regs *regs)
{
	int error = access_memory(op);

	if (error)
		return error;
	regs->sp = op->sp;
	regs->flags = op->flags;
	regs->ip = op->pc;
	switch (op->dest) {
	case X86_TO_REG:
		reg_set(regs, op);
		break;
	case X86_TO_PC:
		regs->ip = op->value;
		break;
	case X86_TO_FLAGS:
		flags_set(regs, op);
		break;
	}
	return 0;
}
