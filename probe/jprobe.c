// SPDX-License-Identifier: MIT
/*
 * Calling a handler with the function's own arguments. No second trap and no
 * detour of the pc: it is an ordinary pre-handler that calls on.
 */
#include <arch/uaccess.h>
#include <kernel/symtab.h>
#include <lib/errno.h>
#include <probe/jprobe.h>

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

static bool is_entry(unsigned long addr)
{
	struct symbol sym;

	return symtab_lookup(addr, &sym) == 0 && addr == symbol_entry(&sym);
}

int register_jprobe(struct jprobe *jp)
{
	unsigned flags = jp->kp.flags;
	int err;

	if (!jp->entry)
		return -EINVAL;
	jp->kp.pre_handler = jprobe_pre;
	/* Not before it is known to see arguments. */
	jp->kp.flags |= KPROBE_FLAG_DISABLED;
	err = register_kprobe(&jp->kp);
	if (err == 0) {
		if (!is_entry(jp->kp.addr))
			err = -EINVAL;
		else if (!(flags & KPROBE_FLAG_DISABLED))
			err = enable_kprobe(&jp->kp);
		if (err)
			unregister_kprobe(&jp->kp);
	}
	if (err)
		jp->kp.flags = flags;
	return err;
}

int unregister_jprobe(struct jprobe *jp)
{
	return unregister_kprobe(&jp->kp);
}
