// SPDX-License-Identifier: MIT
/*
 * Calling a handler with the function's own arguments. No second trap and no
 * detour of the pc: it is an ordinary pre-handler that calls on.
 */
#include <arch/uaccess.h>
#include <lib/errno.h>
#include <probe/jprobe.h>
#include "site.h"

static int jprobe_pre(struct kprobe *p, struct pt_regs *regs)
{
	struct jprobe *jp = container_of(p, struct jprobe, kp);
	u64 stack[ARCH_CALL_STACK_WORDS] = { 0 };
	const void *args = (const void *)(kernel_stack_pointer(regs) +
					  ARCH_CALL_STACK_ARGS);

	/* A shallow stack ends before: what is not there is no argument. */
	(void)!arch_copy_safe(stack, args, sizeof(stack));
	arch_call_as(jp->entry, regs, stack, ARCH_CALL_STACK_WORDS);
	return 0;
}

int register_jprobe(struct jprobe *jp)
{
	if (!jp || !jp->entry)
		return probe_refuse(-EINVAL, "it has no handler");
	jp->kp.pre_handler = jprobe_pre;
	/* Where the arguments are. */
	kprobe_flags_set(&jp->kp, KPROBE_FLAG_ENTRY);
	return register_kprobe(&jp->kp);
}

int unregister_jprobe(struct jprobe *jp)
{
	return unregister_kprobe(&jp->kp);
}
