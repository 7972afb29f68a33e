// SPDX-License-Identifier: MIT
/* What the test framework needs of the kernel. */
#include <kernel/frames.h>
#include <kernel/heap.h>
#include <kernel/log.h>
#include <kernel/thread.h>
#include <kernel/timer.h>
#include <kernel/vm.h>
#include <probe/ret.h>
#include <probe/session.h>
#include <probe/site.h>
#include <probe/window.h>
#include <tests/test.h>

void test_puts(const char *line)
{
	kprintf("%s", line);
}

void test_leak_snapshot(struct test_leaks *leaks)
{
	test_leaks_add(leaks, "probes with calls under way", ret_orphans());
	test_leaks_add(leaks, "frames", frames_total() - frames_free());
	test_leaks_add(leaks, "heap bytes", heap_bytes_used());
	test_leaks_add(leaks, "heap objects", heap_objects_used());
	test_leaks_add(leaks, "mapped pages", vm_pages_used());
	test_leaks_add(leaks, "threads", thread_count());
	test_leaks_add(leaks, "sessions", session_count());
	test_leaks_add(leaks, "sites", site_count());
	test_leaks_add(leaks, "slots", exec_units_used());
	test_leaks_add(leaks, "stubs", window_stub_count());
	test_leaks_add(leaks, "window pages", window_page_count());
}
