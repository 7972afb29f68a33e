/* SPDX-License-Identifier: MIT */
/*
 * Instructions on the host's processor, with registers, flags, memory and vector
 * state as a test wants them.
 *
 *	text	0x10000000	the instruction in the middle, int3 around it
 *	near	0x18000000	its copy in reach
 *	far	0x7000_0000_0000 its copy out of reach
 *	data	0x20000000	random values; pointers point in here; targets
 *				of indirect branches in it point into text
 *	stack	0x30000000
 */
#ifndef SONDE_TESTS_NATIVE_X86_64_H
#define SONDE_TESTS_NATIVE_X86_64_H

#include <signal.h>
#include <arch/insn.h>
#include <frame.h>

#define TEXT  0x10000000ul
#define NEAR  0x18000000ul
#define FAR   0x700000000000ul
#define DATA  0x20000000ul
#define STACK 0x30000000ul
#define SIZE  0x10000ul /* of the code areas */
#define RAM   0x2000ul	/* of data and stack */
#define PC    (TEXT + SIZE / 2)

/* The layout of a signal's vector state (SDM 1 13.4). */
struct vectors {
	u16 fcw, fsw;
	u8 ftw, reserved;
	u8 pointers[18]; /* of the last x87 instruction */
	u32 mxcsr, mxcsr_mask;
	u8 st[8][16];
	u8 xmm[16][16];
	u8 unused[96];
	u64 present; /* XSTATE_BV, if the context has it at all */
	u64 header[7];
	u8 ymm_high[16][16];
};

struct state {
	struct pt_regs regs;
	struct vectors vectors;
	u8 data[RAM], stack[RAM];
	int signal; /* SIGTRAP, or that of a fault */
};

/* Maps the areas and takes the signals; once. False if that is impossible. */
bool native_set_up(void);
/* Fills a code area with int3 and puts @code in its middle. */
void native_place(u64 area, const u8 *code, unsigned n);
/* Memory as @state has it; and back. */
void native_load(const struct state *state);
void native_save(struct state *state);
/* Runs what stands at @pc until it traps. */
void native_run(u64 pc, const struct state *before, struct state *after);
/* The next state at random. */
void native_state(struct state *state);
/* popf must find flags that a program may set, on all of the stack. */
void native_flags_on_stack(struct state *state);
/* What differs, or NULL; the eight bytes that end at @below do not count. */
const char *native_differs(const struct state *a, const struct state *b,
			   u64 below);
/* Fails the case: @b should be @a. */
void native_say(const char *what, const char *how, const u8 *code, unsigned n,
		const struct state *a, const struct state *b);

#endif
