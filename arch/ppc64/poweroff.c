// SPDX-License-Identifier: MIT
/*
 * The end, and the call that firmware wants it to be made with. RTAS power-off
 * leaves QEMU with 0; ibm,os-term says that the system died, which QEMU turns
 * into 1 under -action panic=exit-failure. There is nothing finer.
 */
#include <arch/poweroff.h>
#include <arch/cpu.h>
#include <arch/mmu.h>
#include <asm/hcall.h>
#include <kernel/bootinfo.h>
#include <arch/boot.h>
#include <lib/byteorder.h>

int rtas_call(struct rtas_args *args, u32 token, unsigned nargs, unsigned nret,
	      const u32 *in)
{
	if (!token)
		return -1;
	args->token = cpu_to_be32(token);
	args->nargs = cpu_to_be32(nargs);
	args->nret = cpu_to_be32(nret);
	for (unsigned i = 0; i < nargs; i++)
		args->cell[i] = cpu_to_be32(in[i]);
	for (unsigned i = nargs; i < nargs + nret; i++)
		args->cell[i] = 0;
	if (hcall(H_RTAS, virt_to_phys(args), 0, 0, 0) != H_SUCCESS)
		return -1;
	return nret ? (int)be32_to_cpu(args->cell[nargs]) : 0;
}

/* Not shared with anybody: whoever else is running, this call goes through. */
static struct rtas_args off_args;
static const char os_term_text[] = "Sonde failed";

void arch_poweroff(int status)
{
	u32 mask[] = { ~0u, ~0u }; /* no wake-up events */
	u32 text[] = { (u32)virt_to_phys(os_term_text) };

	arch_irq_disable();
	for (;;) {
		if (status)
			rtas_call(&off_args, boot_info.rtas.os_term, 1, 1,
				  text);
		else
			rtas_call(&off_args, boot_info.rtas.power_off, 2, 1,
				  mask);
		/* QEMU stops us some time after the call returned. */
		cpu_relax();
	}
}
