// SPDX-License-Identifier: MIT
/*
 * The first vty, by hypervisor calls of 16 bytes (PAPR 17). The bytes travel
 * in registers, the first one topmost, in either byte order. A vty takes all of
 * a call's bytes or says H_BUSY.
 */
#include <arch/console.h>
#include <arch/cpu.h>
#include <asm/hcall.h>
#include <kernel/bootinfo.h>
#include <lib/byteorder.h>
#include <lib/string.h>

#define CHUNK 16

/* 0 is the hypervisor's default: right for complaints about the tree. */
static unsigned long vty;

/* What H_GET_TERM_CHAR gave beyond what was asked for. */
static char pending[CHUNK];
static size_t pending_count;

void arch_console_init(const struct bootinfo *bi)
{
	vty = bi->vty_count ? bi->vtys[0] : 0;
}

void arch_console_write(const char *s, size_t n)
{
	while (n) {
		size_t len = min(n, (size_t)CHUNK);
		char chunk[CHUNK] = { 0 };
		long status;

		for (size_t i = 0; i < len; i++)
			chunk[i] = s[i];
		status = hcall(H_PUT_TERM_CHAR, vty, len, load_be64(chunk),
			       load_be64(chunk + 8));
		if (status == H_BUSY) {
			cpu_relax();
			continue;
		}
		/* Any other status: there is no console, nowhere to say so. */
		if (status != H_SUCCESS)
			return;
		s += len;
		n -= len;
	}
}

static void fill_pending(void)
{
	struct hcall_out out;

	if (hcall_out(&out, H_GET_TERM_CHAR, vty, 0, 0, 0) != H_SUCCESS)
		return;
	store_be64(pending, out.r5);
	store_be64(pending + 8, out.r6);
	pending_count = min((size_t)out.r4, (size_t)CHUNK);
}

size_t arch_console_read(char *buf, size_t n)
{
	size_t done = 0;

	while (done < n) {
		size_t len;

		if (!pending_count)
			fill_pending();
		if (!pending_count)
			break;
		len = min(pending_count, n - done);
		memcpy(buf + done, pending, len);
		memmove(pending, pending + len, pending_count - len);
		pending_count -= len;
		done += len;
	}
	return done;
}
