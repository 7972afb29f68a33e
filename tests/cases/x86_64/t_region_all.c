/* SPDX-License-Identifier: MIT */
/*
 * Regions all over the kernel: as many as find room beside each other, while it
 * works, is interrupted, and some of them go and come back.
 */
#include "../text.h"
#include "../work.h"
#include "region_area.h"
#include <kernel/smp.h>
#include <kernel/symtab.h>
#include <kernel/vm.h>
#include <probe/patch.h>

#define MAX 4096
/* Of so many functions one: what places probes is slow while it has breakpoints. */
#define SHARE 8
#define SOME  16
#define PAGES ((MAX * (sizeof(struct kprobe) + sizeof(void *))) / PAGE_SIZE + 1)

static struct kprobe *probes;
static struct kprobe **list;
static unsigned nr;

/* No-probe: it would hit itself. */
static __noprobe int on_hit(struct kprobe *p __unused,
			    struct pt_regs *regs __unused)
{
	return 0;
}

static void choose(unsigned long pc)
{
	probes[nr].addr = pc;
	probes[nr].pre_handler = on_hit;
	list[nr] = &probes[nr];
	nr++;
}

/* One region behind the other. Under probe_mutex. */
static void choose_of(const struct symbol *sym)
{
	static struct region region;
	unsigned long pc = sym->addr, end = sym->addr + sym->size;
	struct insn insn;
	const char *why;

	while (pc < end && image_is_text(pc) && nr < MAX) {
		unsigned len;

		insn.len = 0;
		if (deny_check(pc, &insn, &why) == 0 &&
		    insn.len < ARCH_JUMP_SIZE && !region_check(pc, &region)) {
			choose(pc);
			len = region_size(&region);
		} else if (arch_insn_decode(&insn, (const void *)pc, end - pc,
					    pc) != -ENODATA) {
			len = insn.len;
		} else {
			return;
		}
		pc += len;
	}
}

static bool prepare(void)
{
	struct symbol sym = { .addr = 0 };
	unsigned n = 0;

	probes = vm_alloc(PAGES, VM_READ | VM_WRITE);
	nr = 0;
	if (!probes)
		return false;
	list = (struct kprobe **)(probes + MAX);
	memset(probes, 0, PAGES * PAGE_SIZE);
	mutex_lock(&probe_mutex);
	while (symtab_next(sym.addr, &sym) == 0) {
		if (n++ % SHARE == 0)
			choose_of(&sym);
	}
	mutex_unlock(&probe_mutex);
	return true;
}

static unsigned count_regions(void)
{
	unsigned n = 0;

	mutex_lock(&probe_mutex);
	for (unsigned i = 0; i < nr; i++)
		n += is_region(probes[i].addr);
	mutex_unlock(&probe_mutex);
	return n;
}

static void do_nothing(void *arg __unused, struct pt_regs *regs __unused)
{
}

static void work_and_interrupt(void)
{
	work_everywhere();
	for (unsigned i = 0; i < cpu_count; i++) {
		if (i != smp_processor_id())
			EXPECT_EQ(smp_nmi_call(i, do_nothing, NULL), 0);
	}
}

static void everywhere(enum patch_mode mode)
{
	enum patch_mode mode_before = patch_mode();
	u64 before = text_hash();
	unsigned n;

	ASSERT_TRUE(prepare());
	ASSERT_GE(nr, SOME);
	patch_mode_set(mode);
	opt_wish(JUMP_REGION);
	EXPECT_EQ(register_kprobes(list, nr), 0);
	EXPECT_EQ(opt_sync(), 0);
	n = count_regions();
	test_note("%u of %u", n, nr);
	EXPECT_GE(n, nr / 100 * 99);
	work_and_interrupt();
	/* Some go, and come back while others stand around them. */
	for (unsigned i = 0; i < nr; i += nr / SOME)
		EXPECT_EQ(disable_kprobe(&probes[i]), 0);
	work_and_interrupt();
	for (unsigned i = 0; i < nr; i += nr / SOME)
		EXPECT_EQ(enable_kprobe(&probes[i]), 0);
	EXPECT_EQ(opt_sync(), 0);
	EXPECT_GE(count_regions(), nr / 100 * 99);
	work_and_interrupt();
	EXPECT_EQ(unregister_kprobes(list, nr), 0);
	opt_wish(JUMP_NONE);
	patch_mode_set(mode_before);
	EXPECT_EQ(text_hash(), before);
	vm_free(probes);
}

TEST(region_all, the_kernel_works_with_regions_everywhere_by_break)
{
	everywhere(PATCH_BREAK);
}

TEST(region_all, the_kernel_works_with_regions_everywhere_by_stop)
{
	everywhere(PATCH_STOP);
}
