# SPDX-License-Identifier: MIT
#
# Sonde's build: one file, both machines from the same rules, everything it
# makes under build/. `make help` lists the targets.
#
#   ARCH=x86_64|ppc64    the machine (ENDIAN=little: ppc64 little-endian)
#   CROSS_COMPILE=PREFIX the compiler; found by itself where it stands below
#   DEBUG=0              without lock-rank checks and heap red zones
#   V=1                  show the commands

ARCH   ?= x86_64
ENDIAN ?= big
DEBUG  ?= 1
SMP    ?= 4

MACHINE := $(if $(filter little,$(ENDIAN)),ppc64le,$(ARCH))
B       := build/$(MACHINE)
PYTHON  := /usr/bin/python3
Q       := $(if $(V),,@)
say      = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')

ifeq ($(filter x86_64 ppc64,$(ARCH)),)
$(error ARCH=$(ARCH): there are x86_64 and ppc64)
endif
ifeq ($(filter big little,$(ENDIAN)),)
$(error ENDIAN=$(ENDIAN): there are big and little, of ppc64)
endif
ifeq ($(MACHINE),ppc64le)
override ARCH := ppc64
endif

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all kernel setup help clean
all: | setup ## build the kernels of both machines
	$(Q)$(MAKE) --no-print-directory ARCH=x86_64 kernel
	$(Q)$(MAKE) --no-print-directory ARCH=ppc64 kernel

# What is compiled ------------------------------------------------------------

# One list for both machines: neither builds while the other's file is missing.
arch_c := boot trap cpu smp irq timer mmu console poweroff text emit insn \
	reloc emulate probe jump
arch_S := boot vectors context uaccess ret setjmp detour

boot_c        := bootinfo
boot_c_x86_64 := multiboot2 pvh acpi
boot_c_ppc64  := openfirmware

srcs := $(arch_c:%=arch/$(ARCH)/%.c) $(arch_S:%=arch/$(ARCH)/%.S)
srcs += $(patsubst %,boot/%.c,$(boot_c) $(boot_c_$(ARCH)))
srcs += $(sort $(wildcard kernel/*.c lib/*.c probe/*.c monitor/*.c))
srcs += $(sort $(wildcard tests/test.c tests/kernel/*.c tests/cases/*.[cS] \
	tests/cases/$(ARCH)/*.[cS] tests/lib/*.c tests/bench/*.c))
objs := $(srcs:%=$(B)/%.o)
insn_table := $(B)/gen/gen/insn_table.h

# With what ------------------------------------------------------------------

elf_x86_64    := x86_64-elf-
elf_ppc64     := powerpc64-elf-
debian_x86_64 := $(if $(filter x86_64,$(shell uname -m)),,x86_64-linux-gnu-)
debian_ppc64  := powerpc64-linux-gnu-
CROSS_COMPILE ?= $(if $(shell command -v $(elf_$(ARCH))gcc),$(elf_$(ARCH)),$\
	$(debian_$(ARCH)))
CC      := $(CROSS_COMPILE)gcc
LD      := $(CROSS_COMPILE)ld
NM      := $(CROSS_COMPILE)nm
OBJDUMP := $(CROSS_COMPILE)objdump

warnings := -Wall -Wextra -Wshadow -Wundef -Wvla -Wstrict-prototypes \
	-Wmissing-prototypes -Wframe-larger-than=1024 -Wstack-usage=1024 -Werror

machine_x86_64  := -m64 -mcmodel=kernel -mno-red-zone -mgeneral-regs-only \
	-fcf-protection=none -fno-omit-frame-pointer
machine_ppc64   := -m64 -mbig-endian -mabi=elfv2 -mcpu=power8 -mtune=power9 \
	-mno-altivec -mno-vsx -msoft-float -mcmodel=medium -ffixed-r13 \
	-mtraceback=no -fno-jump-tables
machine_ppc64le := $(subst -mbig-,-mlittle-,$(machine_ppc64))

ldflags_x86_64  := -m elf_x86_64 -z max-page-size=4096
ldflags_ppc64   := -m elf64ppc -EB -z max-page-size=65536
ldflags_ppc64le := -m elf64lppc -EL -z max-page-size=65536

cppflags := -Iinclude -Iarch/$(ARCH) -I$(B)/gen -I. -MMD -MP
cppflags += -DSONDE_MACHINE='"$(MACHINE)"'
cppflags += $(if $(filter 0,$(DEBUG)),,-DSONDE_DEBUG)
common   := $(machine_$(MACHINE)) -ffreestanding -nostdlib -fno-pie -g \
	-fno-asynchronous-unwind-tables
cflags   := $(common) -std=gnu11 -O2 $(warnings) -fno-strict-aliasing \
	-fno-common -fno-tree-vectorize -fno-stack-protector
# Calls within a file keep to the ABI, too: a return probe changes what it allows.
cflags   += -fno-ipa-ra
ldflags  := $(ldflags_$(MACHINE)) -T linker/$(ARCH).ld -static --build-id=none \
	-z noexecstack -z norelro --orphan-handling=error --fatal-warnings

# How ------------------------------------------------------------------------

kernel: $(B)/kernel.elf $(B)/kernel.sym $(B)/kernel.dis

# Installs compilers and whatever else the goal asks for (SETUP), at once, if
# anything is missing; takes no time otherwise.
setup:
	$(Q)tools/setup build-$(ARCH) $(SETUP)

# Changed flags rebuild everything.
flags := $(CC) $(cppflags) $(cflags) $(ldflags)
.PHONY: force
$(B)/flags: force
	$(Q)mkdir -p $(@D)
	$(Q)echo '$(flags)' | cmp -s - $@ || echo '$(flags)' >$@

$(B)/%.c.o: %.c $(B)/flags | setup
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(cppflags) $(cflags) -c -o $@ $<

$(B)/%.S.o: %.S $(B)/flags | setup
	$(call say,AS,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(cppflags) $(common) -D__ASSEMBLY__ -c -o $@ $<

$(B)/symtab%.o: $(B)/symtab%.s
	$(Q)$(CC) $(common) -c -o $@ $<

$(insn_table): arch/$(ARCH)/insn.map tools/insn-gen $(wildcard \
		tools/insn_gen/*.py) | setup
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)tools/insn-gen $< >$@
$(patsubst %,$(B)/arch/$(ARCH)/%.c.o,insn reloc emulate probe jump): $(insn_table)

# Encodings of every line of the map, for tests.
insn_corpus := $(insn_table:%_table.h=%_corpus.h)
$(insn_corpus): arch/$(ARCH)/insn.map tools/insn-gen $(wildcard \
		tools/insn_gen/*.py) | setup
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)tools/insn-gen --corpus $< >$@
$(B)/tests/cases/$(ARCH)/native.c.o: $(insn_corpus)

# Two links: the first without symbol table says what the second one puts in.
$(B)/symtab0.s: tools/symtab | setup
	$(Q)mkdir -p $(@D)
	$(Q)tools/symtab >$@

$(B)/kernel0.elf: $(objs) $(B)/symtab0.o linker/$(ARCH).ld linker/debug.ld
	$(Q)$(LD) $(ldflags) -o $@ $(objs) $(B)/symtab0.o

$(B)/symtab1.s: $(B)/kernel0.elf tools/symtab
	$(Q)tools/symtab $< >$@

$(B)/kernel.elf: $(B)/kernel0.elf $(B)/symtab1.o
	$(call say,LD,$@)
	$(Q)$(LD) $(ldflags) -Map $(@:.elf=.map) -o $@ $(objs) $(B)/symtab1.o
	$(Q)tools/symtab --verify $@ $(B)/symtab1.s

$(B)/kernel.sym: $(B)/kernel.elf
	$(Q)$(NM) -n $< >$@

$(B)/kernel.dis: $(B)/kernel.elf
	$(Q)$(OBJDUMP) -d $< >$@

-include $(objs:.o=.d)

# Running and testing --------------------------------------------------------

# What these goals need besides a compiler: groups of tools/setup.
all:        SETUP += build-x86_64 build-ppc64
run debug:  SETUP += run-$(ARCH) $(by_$(BOOT))
debug:      SETUP += debug
iso:        SETUP += iso
by_bios := iso
by_uefi := iso uefi
qemu-test icount-test stress bench coverage: SETUP += run-x86_64 run-ppc64
boot-test:  SETUP += run-x86_64 run-ppc64 iso uefi
gdb-test:   SETUP += run-x86_64 run-ppc64 debug pytest
runner-test: SETUP += run-x86_64 run-ppc64 pytest
check:      SETUP += check
host-test fuzz: SETUP += host
insn-test decode-test: SETUP += host decode

CMD     ?=
CMDLINE ?=
export CMD CMDLINE
run_args = --machine $(MACHINE) --smp $(SMP) $(if $(BOOT),--boot $(BOOT)) \
	$(if $(CPU),--cpu $(CPU)) --cmd "$$CMD" \
	--cmdline "$$CMDLINE$(if $(TEST), test=$(TEST))"
test_args = $(if $(filter command,$(origin SMP)),--smp $(SMP)) \
	$(if $(TEST),--test '$(TEST)')
pytest = $(PYTHON) -m pytest -q -p no:cacheprovider

.PHONY: run debug iso qemu-test boot-test icount-test stress gdb-test \
	runner-test check test bench coverage
run: $(B)/kernel.elf ## boot to the monitor; CMD='a; b' [TEST SMP BOOT CPU CMDLINE]
	$(Q)tools/run $(run_args)

debug: $(B)/kernel.elf ## boot stopped, under gdb [as run]
	$(Q)tools/run $(run_args) --gdb

iso: $(B)/kernel.elf ## CD image for GRUB, BIOS and UEFI, in build/ARCH [CMD CMDLINE]
	$(Q)tools/run $(run_args) --iso $(B)/sonde.iso

qemu-test: all ## self-tests on both machines, 1 and 4 CPUs [TEST=GLOB SMP=N]
	$(Q)tests/qemu/run.py $(test_args)

icount-test: all ## deterministic machines: two runs must print the same [TEST SMP]
	$(Q)tests/qemu/run.py --icount $(test_args)

# Minutes, not seconds: all instructions in every way, storms of a minute.
stress_tests := everywhere,storm,ret_storm
stress_words := everywhere=1 storm=60
stress: all ## probes on every instruction, storms; in full [TEST=GLOB SMP=N]
	$(Q)tests/qemu/run.py --smp $(SMP) --silence 1200 --total 7200 \
		--test '$(or $(TEST),$(stress_tests))' \
		--words '$(stress_words)'
	$(Q)tests/qemu/run.py --smp 1 --icount --silence 1200 --total 7200 \
		--test '$(or $(TEST),everywhere)' --words everywhere=1

boot-test: all ## every firmware, CPU model and byte order
	$(Q)$(MAKE) --no-print-directory ENDIAN=little kernel
	$(Q)tests/qemu/run.py --boot-matrix

gdb-test: all ## a gdb session on both machines
	$(Q)$(pytest) tests/gdb

runner-test: all ## the test runner finds crashes, hangs, missing lines
	$(Q)$(pytest) tests/qemu

# One nanosecond per instruction: two runs print the same bytes.
on_both = $(Q)for m in x86_64 ppc64; do \
	tools/run --machine $$m --icount $(1) || exit; done

bench: all ## what probes cost in guest instructions, beside Linux
	$(call on_both,--smp 1 --cmd bench)
	$(call on_both,--smp 4 --cmd 'bench stops')

coverage: all ## how many instructions of the kernel can be probed
	$(call on_both,--smp 1 --cmd coverage)

check: all ## format, symmetry, spelling, static analysis, docs
	$(Q)tools/check

test: ## check, and all goals ending in -test, fuzz; one summary at the end
	$(Q)tests/all

-include tests/host/host.mk tests/host/decode/decode.mk
$(host_obj): | setup

clean: ## remove build/
	rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## */  \1\t/p' Makefile tests/host/*.mk \
		tests/host/*/*.mk 2>/dev/null | expand -t 16
	@echo 'With ARCH=x86_64 (default) or ppc64, ENDIAN=little, DEBUG=0, V=1.'
	@echo 'run, debug: SMP=N CPUs (4), CPU=MODEL of QEMU, CMDLINE="kernel words",'
	@echo '  BOOT=pvh|bios|uefi, on ppc64 vof|slof; run: CMD="a; b" runs and leaves.'
	@echo 'Tests: TEST=GLOB of suite.name; qemu-test: SMP=N instead of 1 and 4.'
