// SPDX-License-Identifier: MIT
/*
 * One CPU: what it is, setting it up, waiting.
 */
#include <arch/cpu.h>
#include <arch/timer.h>
#include <asm/hcall.h>
#include <asm/setup.h>
#include <asm/spr.h>
#include <kernel/percpu.h>
#include <lib/printf.h>

static const struct model {
	u16 version; /* PVR bits 0-15 */
	bool radix;
	const char *name;
} models[] = {
	{ 0x003f, false, "POWER7" },  { 0x004a, false, "POWER7+" },
	{ 0x004b, false, "POWER8E" }, { 0x004c, false, "POWER8NVL" },
	{ 0x004d, false, "POWER8" },  { 0x004e, true, "POWER9" },
	{ 0x0080, true, "POWER10" },
};

static const struct model *model_find(void)
{
	u16 version = (u16)(mfspr(SPR_PVR) >> 16);

	for (size_t i = 0; i < ARRAY_SIZE(models); i++)
		if (models[i].version == version)
			return &models[i];
	return NULL;
}

bool cpu_has_radix(void)
{
	const struct model *m = model_find();

	return m && m->radix;
}

const char *arch_cpu_name(void)
{
	static char name[32];
	const struct model *m = model_find();
	unsigned pvr = (unsigned)mfspr(SPR_PVR);

	if (m)
		snprintf(name, sizeof(name), "%s DD%u.%u", m->name,
			 (pvr >> 8) & 0xf, pvr & 0xf);
	else
		snprintf(name, sizeof(name), "PVR %#x", pvr);
	return name;
}

const char *arch_cpu_features(void)
{
	return "radix GTSE AIL3 NX";
}

void arch_cpu_init(struct cpu *cpu)
{
	cpu->self = cpu;
	__asm__ volatile("mr 13,%0" : : "r"(cpu) : "memory");
	mtspr(SPR_SPRG0, cpu);
	mtspr(SPR_PID, PID_NOBODY);
	mtspr(SPR_AMR, 0);
	mtspr(SPR_DEC, 0x7fffffff);
	/* Translation on; no unit that the kernel does not use itself. */
	__asm__ volatile("mtmsrd %0; isync"
			 :
			 : "r"(MSR_SF | MSR_VECTOR_LOW | MSR_RI)
			 : "memory");
}

/* H_CEDE enables interrupts itself when one is pending or comes (PAPR 14). */
void arch_cpu_idle(void)
{
	hcall(H_CEDE, 0, 0, 0, 0);
	arch_irq_enable();
}

/* Nothing but a reset gets through: no timer, no priority is favoured enough. */
void arch_cpu_halt(void)
{
	arch_irq_disable();
	arch_timer_arm(~0ull);
	hcall(H_CPPR, 0, 0, 0, 0);
	for (;;)
		hcall(H_CEDE, 0, 0, 0, 0);
}
