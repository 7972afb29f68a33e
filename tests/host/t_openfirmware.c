// SPDX-License-Identifier: MIT
/*
 * boot/openfirmware.c on a captured device tree, whole and broken.
 */
#include <stdlib.h>
#include <string.h>
#include "../test.h"
#include "firmware.h"
#include "ours.h"
#include <lib/byteorder.h>
#include <lib/errno.h>

static struct fake_of *load(void)
{
	return fake_of_load("pseries.dtb");
}

static int parse(struct bootinfo *bi, struct fake_of *of)
{
	of->calls = 0;
	return openfirmware_parse(bi, &of->client);
}

TEST(openfirmware, the_tree_of_pseries_is_understood)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct fake_of *of = load();

	EXPECT_EQ(parse(bi, of), 0);
	EXPECT_STREQ(bi->error, "");
	EXPECT_STREQ(bi->protocol, "openfirmware");
	EXPECT_STREQ(bi->cmdline, "test=all quiet -- probe list");
	EXPECT_EQ(bi->cpu_count, 4);
	for (u32 i = 0; i < bi->cpu_count; i++) {
		EXPECT_EQ(bi->cpus[i].hw_id, i);
		EXPECT_TRUE(bi->cpus[i].enabled);
	}
	EXPECT_EQ(bi->boot_cpu_hw_id, 0);
	EXPECT_EQ(bi->timebase_hz, 512000000);
	EXPECT_EQ(bi->initrd_pa, 0x520000);
	EXPECT_EQ(bi->initrd_size, 5000);
	EXPECT_EQ(bootinfo_ram_size(bi), (512 << 20) - 5000);
	EXPECT_EQ(bi->rtas.power_off, 0x2003);
	EXPECT_EQ(bi->rtas.start_cpu, 0x2006);
	EXPECT_EQ(bi->rtas.os_term, 0x201f);
	EXPECT_EQ(bi->rtas.set_xive, 0x200a);
	EXPECT_EQ(bi->rtas.query_cpu_stopped_state, 0x2005);
	EXPECT_EQ(bi->vty_count, 1);
	EXPECT_EQ(bi->vtys[0], 0x71000000);
	fake_of_free(of);
}

TEST(openfirmware, any_refused_call_does_no_harm)
{
	struct fake_of *of = load();
	unsigned calls;

	EXPECT_EQ(parse(bootinfo_fresh(), of), 0);
	calls = of->calls;
	for (unsigned n = 1; n <= calls; n++) {
		struct bootinfo *bi = bootinfo_fresh();
		int err;

		of->refuse_call = n;
		err = parse(bi, of);
		ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
	}
	fake_of_free(of);
}

/* Runs @change on each property in turn, several times, and parses. */
static void damage_every_prop(int times,
			      void (*change)(struct of_node *node,
					     unsigned prop, int time))
{
	struct fake_of *whole = load();

	for (unsigned n = 0; n < whole->node_count; n++) {
		for (unsigned p = 0; p < whole->nodes[n].prop_count; p++) {
			for (int t = 0; t < times; t++) {
				struct bootinfo *bi = bootinfo_fresh();
				struct fake_of *of = load();
				int err;

				change(&of->nodes[n], p, t);
				err = parse(bi, of);
				fake_of_free(of);
				ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
			}
		}
	}
	fake_of_free(whole);
}

static void remove_prop(struct of_node *node, unsigned prop, int time __unused)
{
	of_prop_remove(node, node->props[prop].name);
}

TEST(openfirmware, any_missing_property_does_no_harm)
{
	damage_every_prop(1, remove_prop);
}

static void resize_prop(struct of_node *node, unsigned prop, int time)
{
	static const u32 sizes[] = { 0, 1, 3, 5, 7, 12, 64, 65, 3000 };
	static const u8 bytes[3000];

	of_prop_set(node, node->props[prop].name, bytes, sizes[time]);
}

TEST(openfirmware, any_property_of_odd_size_does_no_harm)
{
	damage_every_prop(9, resize_prop);
}

static void fill_prop(struct of_node *node, unsigned prop, int time)
{
	static const u8 values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };

	memset(node->props[prop].bytes, values[time], node->props[prop].size);
}

TEST(openfirmware, any_property_of_odd_value_does_no_harm)
{
	damage_every_prop(5, fill_prop);
}

TEST(openfirmware, random_damage_does_no_harm)
{
	struct fake_of *of = load();
	u64 seed = 83;

	for (int i = 0; i < 20000; i++) {
		struct bootinfo *bi = bootinfo_fresh();
		struct of_node *node =
			&of->nodes[random_below(&seed, of->node_count)];
		struct of_prop *prop =
			&node->props[random_below(&seed, node->prop_count)];
		u8 old, *at;
		int err;

		if (!prop->size)
			continue;
		at = &prop->bytes[random_below(&seed, prop->size)];
		old = *at;
		*at = (u8)random_next(&seed);
		err = parse(bi, of);
		*at = old;
		ASSERT_STREQ(bootinfo_unsound(bi, err), NULL);
	}
	fake_of_free(of);
}

TEST(openfirmware, a_tree_that_runs_in_a_circle_ends)
{
	static const char *const nodes[] = { "/memory", "/cpus/PowerPC,POWER9",
					     "/vdevice/nvram" };

	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		struct bootinfo *bi = bootinfo_fresh();
		struct fake_of *of = load();
		struct of_node *node = fake_of_find(of, nodes[i]);

		/* Its own next sibling, and of no use. */
		node->peer = (u32)(node - of->nodes) + 1;
		of_prop_set(node, "device_type", "none", 5);
		EXPECT_EQ(parse(bi, of), -EINVAL);
		EXPECT_STREQ(bi->error,
			     "openfirmware: the device tree runs in a circle");
		fake_of_free(of);
	}
}

/* Parses the tree without one property; the reason must be this. */
static void expect_missing(const char *path, const char *prop, int wanted,
			   const char *reason)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct fake_of *of = load();

	of_prop_remove(fake_of_find(of, path), prop);
	EXPECT_EQ(parse(bi, of), wanted);
	EXPECT_STREQ(bi->error, reason);
	fake_of_free(of);
}

TEST(openfirmware, missing_memory_is_said)
{
	expect_missing("/memory", "device_type", -ENODATA,
		       "openfirmware: no memory");
	expect_missing("/memory", "reg", -EINVAL,
		       "openfirmware: a memory node with a bad reg");
}

TEST(openfirmware, half_an_initrd_is_refused)
{
	expect_missing("/chosen", "linux,initrd-start", -EINVAL,
		       "openfirmware: an initrd without start or end");
	expect_missing("/chosen", "linux,initrd-end", -EINVAL,
		       "openfirmware: an initrd without start or end");
}

TEST(openfirmware, a_missing_command_line_is_an_empty_one)
{
	struct bootinfo *bi = bootinfo_fresh();

	expect_missing("/chosen", "bootargs", 0, "");
	EXPECT_STREQ(bi->cmdline, "");
}

static void expect_missing_node(const char *path, const char *reason)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct fake_of *of = load();

	fake_of_find(of, path)->name[0] = 'X';
	EXPECT_EQ(parse(bi, of), -ENODEV);
	EXPECT_STREQ(bi->error, reason);
	fake_of_free(of);
}

TEST(openfirmware, missing_nodes_are_named)
{
	expect_missing_node("/chosen", "openfirmware: no /chosen");
	expect_missing_node("/cpus", "openfirmware: no /cpus");
	expect_missing_node("/rtas", "openfirmware: no /rtas");
}

TEST(openfirmware, a_missing_timebase_is_said)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct fake_of *of = load();

	for (unsigned i = 0; i < of->node_count; i++)
		if (of_node_prop(&of->nodes[i], "timebase-frequency"))
			of_prop_remove(&of->nodes[i], "timebase-frequency");
	EXPECT_EQ(parse(bi, of), -ENODATA);
	EXPECT_STREQ(bi->error, "openfirmware: no timebase-frequency");
	fake_of_free(of);
}

TEST(openfirmware, threads_of_one_core_are_cpus)
{
	static const u8 servers[] = { 0, 0, 0, 8, 0, 0, 0, 9 };
	struct bootinfo *bi = bootinfo_fresh();
	struct fake_of *of = load();
	struct of_node *cpus = fake_of_find(of, "/cpus");

	of_prop_set(&of->nodes[cpus->child - 1], "ibm,ppc-interrupt-server#s",
		    servers, sizeof(servers));
	EXPECT_EQ(parse(bi, of), 0);
	EXPECT_EQ(bi->cpu_count, 5);
	EXPECT_EQ(bi->cpus[0].hw_id, 8);
	EXPECT_EQ(bi->cpus[1].hw_id, 9);
	fake_of_free(of);
}

TEST(openfirmware, more_threads_than_a_core_can_have_are_refused)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct fake_of *of = load();
	struct of_node *cpus = fake_of_find(of, "/cpus");
	u8 servers[17 * 4];

	for (u32 i = 0; i < 17; i++)
		store_be32(servers + i * 4, 100 + i);
	of_prop_set(&of->nodes[cpus->child - 1], "ibm,ppc-interrupt-server#s",
		    servers, sizeof(servers));
	EXPECT_EQ(parse(bi, of), -EINVAL);
	EXPECT_STREQ(bi->error, "openfirmware: a CPU without its number");
	fake_of_free(of);
}

TEST(openfirmware, a_disabled_cpu_is_listed_as_such)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct fake_of *of = load();
	struct of_node *cpus = fake_of_find(of, "/cpus");

	of_prop_set(&of->nodes[cpus->child - 1], "status", "disabled", 9);
	EXPECT_EQ(parse(bi, of), 0);
	EXPECT_FALSE(bi->cpus[0].enabled);
	EXPECT_TRUE(bi->cpus[1].enabled);
	fake_of_free(of);
}

TEST(openfirmware, the_boot_cpu_is_the_chosen_one)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct fake_of *of = load();
	struct of_node *cpus = fake_of_find(of, "/cpus");
	u32 second = of->nodes[cpus->child - 1].peer;

	of_prop_set_u32(fake_of_find(of, "/chosen"), "cpu", second);
	EXPECT_EQ(parse(bi, of), 0);
	EXPECT_EQ(bi->boot_cpu_hw_id, 1);
	fake_of_free(of);
}

TEST(openfirmware, stdout_comes_first_among_the_vtys)
{
	struct bootinfo *bi = bootinfo_fresh();
	struct fake_of *of = load();
	struct of_node *nvram = fake_of_find(of, "/vdevice/nvram");

	of_prop_set(nvram, "device_type", "serial", 7);
	of_prop_set_u32(nvram, "reg", 0x71000010);
	of_prop_set_u32(fake_of_find(of, "/chosen"), "stdout",
			(u32)(nvram - of->nodes) + 1);
	EXPECT_EQ(parse(bi, of), 0);
	EXPECT_EQ(bi->vty_count, 2);
	EXPECT_EQ(bi->vtys[0], 0x71000010);
	EXPECT_EQ(bi->vtys[1], 0x71000000);
	fake_of_free(of);
}

TEST(openfirmware, cells_of_one_word_are_understood)
{
	static const u8 reg[] = { 0, 0, 0, 0, 0x10, 0, 0, 0 };
	struct bootinfo *bi = bootinfo_fresh();
	struct fake_of *of = load();

	of_prop_set_u32(fake_of_find(of, "/"), "#address-cells", 1);
	of_prop_set_u32(fake_of_find(of, "/"), "#size-cells", 1);
	of_prop_set(fake_of_find(of, "/memory"), "reg", reg, sizeof(reg));
	EXPECT_EQ(parse(bi, of), 0);
	EXPECT_EQ(bootinfo_ram_size(bi), (256 << 20) - 5000);
	fake_of_free(of);
}
