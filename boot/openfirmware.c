// SPDX-License-Identifier: MIT
/*
 * Open Firmware (IEEE 1275, with PAPR's properties): walks the device tree by
 * client interface calls. Numbers in properties are big-endian cells of 32 bits
 * whatever the kernel's byte order.
 *
 * Runs before the kernel is where it was linked: addresses must come from code,
 * never from data, so there are no tables of names here.
 */
#include <kernel/bootinfo.h>
#include <lib/byteorder.h>
#include <lib/errno.h>
#include <lib/string.h>
#include <lib/text.h>

/* More devices under one node than any machine has: the list is a circle. */
#define SIBLINGS_MAX 4096
#define NO_NODE	     0U

struct of {
	struct bootinfo *bi;
	const struct of_client *client;
};

/* Calls --------------------------------------------------------------------*/

/* One argument, one result that is a node; NO_NODE where there is none. */
static u32 call_node(const struct of *of, const char *service, u64 arg)
{
	u64 args[OF_ARGS_MAX] = { arg };

	if (of->client->call(of->client, service, 1, 1, args))
		return NO_NODE;
	/* -1 says "no such thing" just like 0, depending on the service. */
	return (u32)args[1] == ~0U ? NO_NODE : (u32)args[1];
}

static u32 find_node(const struct of *of, const char *path)
{
	return call_node(of, "finddevice", (uintptr_t)path);
}

/*
 * Reads the property @name of @node. Returns its whole size, of which at most
 * @size bytes were stored, or -ENOENT.
 */
static int get_prop(const struct of *of, u32 node, const char *name, void *buf,
		    size_t size)
{
	u64 args[OF_ARGS_MAX] = { node, (uintptr_t)name, (uintptr_t)buf, size };
	s32 len;

	if (of->client->call(of->client, "getprop", 4, 1, args))
		return -ENOENT;
	len = (s32)args[4];
	return len < 0 ? -ENOENT : len;
}

/* A property of one 32-bit cell. -ENOENT, or -EINVAL if it is no such thing. */
static int get_u32(const struct of *of, u32 node, const char *name, u32 *value)
{
	u8 cell[4];
	int len = get_prop(of, node, name, cell, sizeof(cell));

	if (len < 0)
		return len;
	if (len != sizeof(cell))
		return -EINVAL;
	*value = load_be32(cell);
	return 0;
}

/* A property of one or two cells. */
static int get_u64(const struct of *of, u32 node, const char *name, u64 *value)
{
	u8 cells[8];
	int len = get_prop(of, node, name, cells, sizeof(cells));

	if (len < 0)
		return len;
	if (len != 4 && len != 8)
		return -EINVAL;
	*value = len == 4 ? load_be32(cells) : load_be64(cells);
	return 0;
}

/* Whether the text property @name is there and is (or starts with) @text. */
static bool prop_is(const struct of *of, u32 node, const char *name,
		    const char *text)
{
	char buf[32];
	int len = get_prop(of, node, name, buf, sizeof(buf));
	size_t want = strlen(text) + 1;

	return len >= 0 && (size_t)len >= want && want <= sizeof(buf) &&
	       !memcmp(buf, text, want);
}

static int fail(const struct of *of, int err, const char *what)
{
	return bootinfo_fail(of->bi, err, "openfirmware: %s", what);
}

/*
 * Moves *@child to the next child of @parent, the first if it is NO_NODE.
 * Returns 1, 0 when there are no more, or -EINVAL if there are too many.
 */
static int next_child(const struct of *of, u32 parent, u32 *child,
		      unsigned *count)
{
	*child = *child == NO_NODE ? call_node(of, "child", parent)
				   : call_node(of, "peer", *child);
	if (*child == NO_NODE)
		return 0;
	if (++*count > SIBLINGS_MAX)
		return fail(of, -EINVAL, "the device tree runs in a circle");
	return 1;
}

/* CPUs ----------------------------------------------------------------------*/

/* One CPU per thread: the interrupt server numbers are what starts it. */
static int parse_cpu(const struct of *of, u32 node)
{
	bool enabled = true;
	u8 servers[16 * 4];
	char status[8];
	int len, err;

	len = get_prop(of, node, "status", status, sizeof(status));
	if (len > 0)
		enabled = prop_is(of, node, "status", "okay") ||
			  prop_is(of, node, "status", "ok");

	len = get_prop(of, node, "ibm,ppc-interrupt-server#s", servers,
		       sizeof(servers));
	if (len < 0)
		len = get_prop(of, node, "reg", servers, sizeof(servers));
	if (len < 4 || len % 4 || (size_t)len > sizeof(servers))
		return fail(of, -EINVAL, "a CPU without its number");
	for (int i = 0; i < len; i += 4) {
		err = bootinfo_add_cpu(of->bi, load_be32(servers + i), enabled);
		if (err)
			return err;
	}

	/* The same for all. */
	if (!of->bi->timebase_hz)
		err = get_u64(of, node, "timebase-frequency",
			      &of->bi->timebase_hz);
	if (err == -EINVAL)
		return fail(of, err, "timebase-frequency is no number");
	return 0;
}

static int parse_cpus(const struct of *of)
{
	u32 cpus = find_node(of, "/cpus"), node = NO_NODE;
	unsigned count = 0;
	int more;

	if (cpus == NO_NODE)
		return fail(of, -ENODEV, "no /cpus");
	while ((more = next_child(of, cpus, &node, &count)) > 0) {
		int err = 0;

		if (prop_is(of, node, "device_type", "cpu"))
			err = parse_cpu(of, node);
		if (err)
			return err;
	}
	if (more < 0)
		return more;
	if (!of->bi->cpu_count)
		return fail(of, -ENODEV, "no CPU under /cpus");
	if (!of->bi->timebase_hz)
		return fail(of, -ENODATA, "no timebase-frequency");
	return 0;
}

/* The CPU that runs this: /chosen names an instance of it, or it is the first. */
static int parse_boot_cpu(const struct of *of, u32 chosen)
{
	struct bootinfo *bi = of->bi;
	u32 instance, node = NO_NODE;

	bi->boot_cpu_hw_id = bi->cpus[0].hw_id;
	if (!get_u32(of, chosen, "cpu", &instance))
		node = call_node(of, "instance-to-package", instance);
	if (node != NO_NODE &&
	    get_u32(of, node, "reg", &bi->boot_cpu_hw_id) == -EINVAL)
		return fail(of, -EINVAL, "the boot CPU has no number");
	return 0;
}

/* Memory --------------------------------------------------------------------*/

/* One or two cells at *@p, moving it on. */
static u64 take_cells(const u8 **p, u32 cells)
{
	u64 value = cells == 1 ? load_be32(*p) : load_be64(*p);

	*p += cells * 4;
	return value;
}

static int parse_memory_node(const struct of *of, u32 node, u32 address_cells,
			     u32 size_cells)
{
	u32 pair = (address_cells + size_cells) * 4;
	u8 reg[32 * 16];
	int len = get_prop(of, node, "reg", reg, sizeof(reg));
	const u8 *p = reg;

	if (len < 0 || (u32)len % pair || (size_t)len > sizeof(reg))
		return fail(of, -EINVAL, "a memory node with a bad reg");
	while (p < reg + len) {
		u64 base = take_cells(&p, address_cells);
		u64 size = take_cells(&p, size_cells);
		int err = bootinfo_add(of->bi, base, size, BOOTINFO_RAM);

		if (err)
			return err;
	}
	return 0;
}

static int parse_memory(const struct of *of)
{
	u32 root = find_node(of, "/"), node = NO_NODE;
	/* What holds where the root does not say (IEEE 1275, #address-cells). */
	u32 address_cells = 2, size_cells = 1;
	unsigned count = 0;
	int more;

	if (root == NO_NODE)
		return fail(of, -ENODEV, "no device tree");
	if (get_u32(of, root, "#address-cells", &address_cells) == -EINVAL ||
	    get_u32(of, root, "#size-cells", &size_cells) == -EINVAL ||
	    address_cells - 1 > 1 || size_cells - 1 > 1)
		return fail(of, -EINVAL, "the root has odd #address-cells");
	while ((more = next_child(of, root, &node, &count)) > 0) {
		int err = 0;

		if (prop_is(of, node, "device_type", "memory"))
			err = parse_memory_node(of, node, address_cells,
						size_cells);
		if (err)
			return err;
	}
	if (more < 0)
		return more;
	if (!bootinfo_ram_size(of->bi))
		return fail(of, -ENODATA, "no memory");
	return 0;
}

/* /chosen, /rtas, /vdevice --------------------------------------------------*/

static int parse_bootargs(const struct of *of, u32 chosen)
{
	struct bootinfo *bi = of->bi;
	int len = get_prop(of, chosen, "bootargs", bi->cmdline,
			   sizeof(bi->cmdline));

	if (len < 0)
		len = 0;
	if ((size_t)len >= sizeof(bi->cmdline)) {
		bi->cmdline[0] = '\0';
		return bootinfo_fail(
			bi, -E2BIG,
			"openfirmware: command line longer than %zu bytes",
			sizeof(bi->cmdline) - 1);
	}
	bi->cmdline[len] = '\0';
	return 0;
}

static int parse_initrd(const struct of *of, u32 chosen)
{
	u64 start, end;
	int no_start = get_u64(of, chosen, "linux,initrd-start", &start);
	int no_end = get_u64(of, chosen, "linux,initrd-end", &end);

	if (no_start == -ENOENT && no_end == -ENOENT)
		return 0;
	if (no_start || no_end || end < start)
		return fail(of, -EINVAL, "an initrd without start or end");
	of->bi->initrd_pa = start;
	of->bi->initrd_size = end - start;
	return bootinfo_add(of->bi, start, end - start, BOOTINFO_MODULE);
}

static void get_token(const struct of *of, u32 rtas, const char *name,
		      u32 *token)
{
	if (get_u32(of, rtas, name, token))
		*token = 0;
}

static int parse_rtas(const struct of *of)
{
	struct bootinfo_rtas *rtas = &of->bi->rtas;
	u32 node = find_node(of, "/rtas");

	if (node == NO_NODE)
		return fail(of, -ENODEV, "no /rtas");
	get_token(of, node, "power-off", &rtas->power_off);
	get_token(of, node, "start-cpu", &rtas->start_cpu);
	get_token(of, node, "stop-self", &rtas->stop_self);
	get_token(of, node, "query-cpu-stopped-state",
		  &rtas->query_cpu_stopped_state);
	get_token(of, node, "ibm,os-term", &rtas->os_term);
	get_token(of, node, "ibm,set-xive", &rtas->set_xive);
	get_token(of, node, "ibm,get-xive", &rtas->get_xive);
	get_token(of, node, "ibm,int-on", &rtas->int_on);
	get_token(of, node, "ibm,int-off", &rtas->int_off);
	return 0;
}

static void add_vty(const struct of *of, u32 node)
{
	struct bootinfo *bi = of->bi;
	u8 irq[8]; /* source, sense (PAPR B) */
	u32 unit;

	if (!prop_is(of, node, "device_type", "serial") ||
	    get_u32(of, node, "reg", &unit))
		return;
	for (unsigned i = 0; i < bi->vty_count; i++)
		if (bi->vtys[i] == unit)
			return;
	if (!bi->vty_count &&
	    get_prop(of, node, "interrupts", irq, sizeof(irq)) == sizeof(irq))
		bi->vty_irq = load_be32(irq);
	if (bi->vty_count < BOOTINFO_VTYS_MAX)
		bi->vtys[bi->vty_count++] = unit;
}

/* A machine may have no console at all: that is not for us to refuse. */
static int parse_vtys(const struct of *of, u32 chosen)
{
	u32 vdevice = find_node(of, "/vdevice"), node = NO_NODE, stdout_handle;
	unsigned count = 0;
	int more;

	if (!get_u32(of, chosen, "stdout", &stdout_handle)) {
		node = call_node(of, "instance-to-package", stdout_handle);
		if (node != NO_NODE)
			add_vty(of, node);
	}
	if (vdevice == NO_NODE)
		return 0;
	node = NO_NODE;
	while ((more = next_child(of, vdevice, &node, &count)) > 0)
		add_vty(of, node);
	return more;
}

int openfirmware_parse(struct bootinfo *bi, const struct of_client *client)
{
	struct of of = { bi, client };
	u32 chosen;
	int err;

	strscpy(bi->protocol, "openfirmware", sizeof(bi->protocol));
	chosen = find_node(&of, "/chosen");
	if (chosen == NO_NODE)
		return fail(&of, -ENODEV, "no /chosen");
	/* The console first, so that there is somewhere to complain. */
	err = parse_vtys(&of, chosen);
	if (!err)
		err = parse_bootargs(&of, chosen);
	if (!err)
		err = parse_rtas(&of);
	if (!err)
		err = parse_cpus(&of);
	if (!err)
		err = parse_boot_cpu(&of, chosen);
	if (!err)
		err = parse_memory(&of);
	if (!err)
		err = parse_initrd(&of, chosen);
	return err;
}
