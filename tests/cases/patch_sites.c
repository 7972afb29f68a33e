// SPDX-License-Identifier: MIT
#include <arch/regs.h>
#include <arch/text.h>
#include <lib/string.h>
#include <tests/cases/patch_sites.h>
#include <tests/test.h>

/*
 * From one round to the next all bytes change that can on both machines: a mixture
 * is none of these.
 */
#define VALUES 128
#define FACTOR 0x101

struct patch_rounds patch_rounds;

unsigned patch_value(unsigned round, unsigned site)
{
	return (round + site) % VALUES * FACTOR;
}

unsigned patch_call(unsigned site)
{
	unsigned long at = (unsigned long)patch_area + site * PATCH_STRIDE;

	return ((unsigned (*)(void))at)();
}

static void resume(const struct text_patch *p, struct pt_regs *regs)
{
	arch_text_site_resume(p->bytes, regs);
	if (patch_rounds.in_trap)
		patch_rounds.in_trap(regs);
}

static void fill(unsigned site, unsigned value)
{
	struct text_patch *p = &patch_rounds.list[site];
	u8 code[ARCH_TEXT_SITE_SIZE];

	arch_text_site_code(code, value);
	p->addr = (unsigned long)patch_area + site * PATCH_STRIDE;
	p->len = patch_rounds.len;
	p->resume = resume;
	memcpy(p->bytes, code, p->len);
}

void patch_prepare(unsigned round)
{
	for (unsigned i = 0; i < patch_rounds.sites; i++)
		fill(i, patch_value(round, i));
}

void patch_round(unsigned round)
{
	patch_prepare(round);
	store_release(&patch_rounds.begun, round);
	EXPECT_EQ(text_patch_mode(patch_rounds.list, patch_rounds.sites,
				  patch_rounds.mode),
		  0);
	store_release(&patch_rounds.done, round);
}

bool patch_look(unsigned site)
{
	/* Pairs with the stores in patch_round(). */
	unsigned low = load_acquire(&patch_rounds.done);
	unsigned got = patch_call(site);
	unsigned high = load_acquire(&patch_rounds.begun);

	/* By how many rounds it is newer than what it may be at least. */
	unsigned ahead = (got + VALUES * FACTOR - patch_value(low, site)) /
			 FACTOR % VALUES;

	return got % FACTOR == 0 && ahead <= high - low;
}

void patch_restore(void)
{
	for (unsigned i = 0; i < patch_rounds.sites; i++)
		fill(i, 0);
	EXPECT_EQ(text_patch(patch_rounds.list, patch_rounds.sites), 0);
}
