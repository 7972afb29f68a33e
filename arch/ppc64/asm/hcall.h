/* SPDX-License-Identifier: MIT */
/*
 * Calls to the hypervisor (PAPR 14) and, through it, to RTAS (PAPR 7). Any
 * context, translation on or off; any lock is the caller's business.
 */
#ifndef SONDE_PPC64_ASM_HCALL_H
#define SONDE_PPC64_ASM_HCALL_H

#define H_SUCCESS	    0
#define H_BUSY		    1

#define H_GET_TERM_CHAR	    0x54
#define H_PUT_TERM_CHAR	    0x58
#define H_EOI		    0x64
#define H_CPPR		    0x68
#define H_IPI		    0x6c
#define H_XIRR		    0x74
#define H_CEDE		    0xe0
#define H_SET_MODE	    0x31c
#define H_REGISTER_PROC_TBL 0x37c
#define H_SIGNAL_SYS_RESET  0x380
#define H_RTAS		    0xf000 /* QEMU: r4 = address of the arguments */

#ifndef __ASSEMBLY__
#include <lib/compiler.h>

/* Arguments in in[0..3]; results r4 to r6 in out[0..2]. */
struct hcall_out {
	unsigned long r4, r5, r6;
};

static inline long hcall_out(struct hcall_out *out, unsigned long token,
			     unsigned long a, unsigned long b, unsigned long c,
			     unsigned long d)
{
	register unsigned long r3 __asm__("r3") = token;
	register unsigned long r4 __asm__("r4") = a;
	register unsigned long r5 __asm__("r5") = b;
	register unsigned long r6 __asm__("r6") = c;
	register unsigned long r7 __asm__("r7") = d;

	__asm__ volatile("sc 1"
			 : "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7)
			 :
			 : "r0", "r8", "r9", "r10", "r11", "r12", "lr", "ctr",
			   "xer", "cr0", "cr1", "cr5", "cr6", "cr7", "memory");
	*out = (struct hcall_out){ r4, r5, r6 };
	return (long)r3;
}

static inline long hcall(unsigned long token, unsigned long a, unsigned long b,
			 unsigned long c, unsigned long d)
{
	struct hcall_out out;

	return hcall_out(&out, token, a, b, c, d);
}

#define RTAS_ARGS_MAX 8 /* arguments and results together */

/* As firmware reads it: every cell big-endian. Image memory: below 4 GiB. */
struct rtas_args {
	u32 token;
	u32 nargs;
	u32 nret;
	u32 cell[RTAS_ARGS_MAX];
};

/*
 * Calls @token with the @nargs values of @in through the block @args, which is
 * the caller's for that long. Returns RTAS's status, 0 for success; -1 if there
 * is no such call. poweroff.c.
 */
int rtas_call(struct rtas_args *args, u32 token, unsigned nargs, unsigned nret,
	      const u32 *in);
#endif
#endif
