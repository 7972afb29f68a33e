// SPDX-License-Identifier: MIT
/*
 * One CPU's private set-up: segments, TSS and its stacks, IDT, control
 * registers; and what CPUID says. Runs first on every CPU; no locks, no
 * allocation: everything is static and indexed by the CPU's number.
 *
 * Every protection feature is gated on CPUID: an unknown CR4 bit is a #GP, and
 * some emulators do worse.
 */
#include <arch/cpu.h>

#include <arch/trap.h>
#include <kernel/percpu.h>
#include <lib/string.h>
#include <asm/trap.h>

struct tss {
	u32 reserved0;
	u64 rsp[3];
	u64 reserved1;
	u64 ist[7];
	u64 reserved2;
	u16 reserved3;
	u16 iomap; /* beyond the limit: no I/O ports for user mode */
} __packed;
STATIC_ASSERT(sizeof(struct tss) == 104);

/* In the order of the SEL_ numbers; the TSS descriptor takes two. */
enum { GDT_TSS = SEL_TSS / 8, GDT_ENTRIES = GDT_TSS + 2 };

/* NMIs land on @nmi_landing for a moment and go on at cpu->nmi_sp; vectors.S. */
struct cpu_tables {
	u64 nmi_landing[32];
	u64 gdt[GDT_ENTRIES];
	struct tss tss;
} __aligned(64);

static const u64 gdt_template[GDT_TSS] = {
	[SEL_KERNEL_CODE / 8] = 0x00af9b000000ffff,
	[SEL_KERNEL_DATA / 8] = 0x00cf93000000ffff,
	[SEL_USER_CODE32 / 8] = 0x00cffb000000ffff,
	[SEL_USER_DATA / 8] = 0x00cff3000000ffff,
	[SEL_USER_CODE / 8] = 0x00affb000000ffff,
};

/* A protection feature: where CPUID tells of it, and what switches it on. */
struct feature {
	const char *name;
	u32 leaf;
	enum { EBX, ECX, EDX } reg;
	unsigned bit;
	u32 cr4, efer;
};

static const struct feature features[] = {
	{ "SMEP", 7, EBX, 7, CR4_SMEP, 0 },
	{ "SMAP", 7, EBX, 20, CR4_SMAP, 0 },
	{ "UMIP", 7, ECX, 2, CR4_UMIP, 0 },
	{ "NX", 0x80000001, EDX, 20, 0, EFER_NXE },
};

static struct cpu_tables cpu_tables[MAX_CPUS];

static char feature_names[64];
static char cpu_name[49];

static void cpuid(u32 leaf, u32 *regs)
{
	u32 a = leaf, b, c = 0, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	regs[0] = a;
	regs[1] = b;
	regs[2] = c;
	regs[3] = d;
}

static bool has_feature(const struct feature *f)
{
	u32 regs[4];

	cpuid(f->leaf & 0x80000000, regs);
	if (regs[0] < f->leaf)
		return false;
	cpuid(f->leaf, regs);
	return regs[1 + f->reg] & BIT(f->bit);
}

static void load_segments(struct cpu_tables *t)
{
	struct table_register gdtr = { sizeof(t->gdt) - 1, (u64)t->gdt };
	u64 tss = (u64)&t->tss;

	memcpy(t->gdt, gdt_template, sizeof(gdt_template));
	t->gdt[GDT_TSS] = (sizeof(t->tss) - 1) | (tss & 0xffffff) << 16 |
			  0x89ULL << 40 | (tss >> 24 & 0xff) << 56;
	t->gdt[GDT_TSS + 1] = tss >> 32;
	t->tss.iomap = sizeof(t->tss);

	__asm__ volatile("lgdt %0" : : "m"(gdtr));
	__asm__ volatile("pushq %0\n\t"
			 "leaq 1f(%%rip), %%rax\n\t"
			 "pushq %%rax\n\t"
			 "lretq\n"
			 "1:"
			 :
			 : "i"(SEL_KERNEL_CODE)
			 : "rax", "memory");
	__asm__ volatile("mov %0, %%ds; mov %0, %%es; mov %0, %%ss"
			 :
			 : "r"(SEL_KERNEL_DATA));
	__asm__ volatile("mov %0, %%fs; mov %0, %%gs" : : "r"(0));
	__asm__ volatile("ltr %w0" : : "r"(SEL_TSS));
}

static void set_stacks(const struct cpu *cpu, struct cpu_tables *t)
{
	t->tss.ist[IST_DF - 1] = cpu->trap_sp;
	t->tss.ist[IST_MC - 1] = cpu->mce_sp;
	t->tss.ist[IST_NMI - 1] =
		(u64)(t->nmi_landing + ARRAY_SIZE(t->nmi_landing));
}

static void set_control_registers(void)
{
	u64 cr0 = CR0_PG | CR0_WP | CR0_NE | CR0_ET | CR0_PE;
	u64 cr4 = CR4_PAE | CR4_OSFXSR | CR4_OSXMMEXCPT;
	u64 efer = x86_rdmsr(MSR_EFER);
	const struct feature *f;

	for (f = features; f < features + ARRAY_SIZE(features); f++) {
		if (!has_feature(f))
			continue;
		cr4 |= f->cr4;
		efer |= f->efer;
	}
	x86_wrmsr(MSR_EFER, efer);
	__asm__ volatile("mov %0, %%cr4" : : "r"(cr4) : "memory");
	__asm__ volatile("mov %0, %%cr0" : : "r"(cr0) : "memory");
}

void arch_cpu_init(struct cpu *cpu)
{
	struct cpu_tables *t = &cpu_tables[cpu->id];

	cpu->self = cpu;
	set_stacks(cpu, t);
	load_segments(t);
	/* Only now: loading the GS selector cleared the base. */
	x86_wrmsr(MSR_GS_BASE, (u64)cpu);
	x86_wrmsr(MSR_KERNEL_GS_BASE, 0);
	x86_idt_load();
	set_control_registers();
}

const char *arch_cpu_features(void)
{
	const struct feature *f;
	char *p = feature_names;

	for (f = features; f < features + ARRAY_SIZE(features); f++) {
		if (!has_feature(f))
			continue;
		if (p != feature_names)
			*p++ = ' ';
		memcpy(p, f->name, strlen(f->name) + 1);
		p += strlen(f->name);
	}
	return feature_names;
}

const char *arch_cpu_name(void)
{
	const char *name = cpu_name;
	u32 regs[4];
	u32 i;

	cpuid(0x80000000, regs);
	if (regs[0] < 0x80000004)
		return "x86_64";
	for (i = 0; i < 3; i++) {
		cpuid(0x80000002 + i, regs);
		memcpy(cpu_name + i * sizeof(regs), regs, sizeof(regs));
	}
	while (*name == ' ') /* some are right-justified */
		name++;
	return name;
}

/*
 * STI holds interrupts off for one more instruction, so none can come between
 * the check that there is nothing to do and HLT. A probe on either would break
 * that: no-probe.
 */
__noprobe void arch_cpu_idle(void)
{
	__asm__ volatile("sti; hlt" : : : "memory");
}

__noprobe void arch_cpu_halt(void)
{
	for (;;)
		__asm__ volatile("cli; hlt" : : : "memory");
}
