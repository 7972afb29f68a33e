# SPDX-License-Identifier: MIT
#
# The instruction layer on the host: `make decode-test [FILES=...]` compares the
# decoders with others, `make insn-test` runs the unit tests, `make fuzz` feeds
# decoder, relocator and emulator with anything.

decode_O   := build/host/decode
decode_src := $(addprefix tests/host/decode/,main elf objdump known compare)
decode_run := tests/host/decode/run
decode_cflags = -std=gnu11 -O2 -g -D__SONDE_HOST__ -D_GNU_SOURCE -Iinclude \
	-I$(decode_O)/$* -Iarch/$* -Wall -Wextra -Wshadow -Werror
decode_machines := $(patsubst tests/host/decode/%.known,%,\
	$(wildcard tests/host/decode/*.known))
RANDOM_STRINGS ?= 10000000

decode_files = build/x86_64/kernel.elf build/ppc64/kernel.elf \
	build/ppc64le/kernel.elf \
	$(wildcard /lib/x86_64-linux-gnu/libc.so.6 \
	/usr/lib/x86_64-linux-gnu/libcrypto.so.3 \
	/usr/lib/gcc/x86_64-linux-gnu/*/cc1 \
	/usr/bin/x86_64-linux-gnu-objdump /usr/bin/x86_64-linux-gnu-ld.bfd \
	/usr/bin/x86_64-linux-gnu-as \
	/usr/lib/x86_64-linux-gnu/libbfd-*-system.so \
	/usr/powerpc64*-linux-gnu/lib/libc.so.6)
FILES ?= $(wildcard $(decode_files))

$(decode_O)/%/gen/insn_table.h: arch/%/insn.map tools/insn-gen \
		tools/insn_gen/lines.py tools/insn_gen/%.py | setup
	@mkdir -p $(@D)
	tools/insn-gen $< >$@

$(decode_O)/decode-%: $(decode_O)/%/gen/insn_table.h arch/%/insn.c \
		arch/%/asm/insn.h tests/host/decode/%.c $(decode_src:%=%.c) \
		tests/host/decode/referee.h include/arch/insn.h lib/insn.c
	gcc $(decode_cflags) -o $@ $(filter %.c,$^) -lcapstone -lZydis

# Unit tests, with the sanitizers on.
insn_test_obj := $(addprefix build/host/,tests/test.o tests/host/main.o \
	lib/printf.o lib/string.o lib/text.o lib/ubsan.o)
insn_test_src = lib/insn.c $(wildcard arch/$*/insn.c arch/$*/reloc.c \
	arch/$*/emulate.c tests/host/decode/t_*_$*.c)

$(decode_O)/insn-test-%: $(decode_O)/%/gen/insn_table.h $(insn_test_obj) force
	gcc $(decode_cflags) -O1 -fsanitize=address,undefined \
		-fno-sanitize-recover=all -o $@ $(insn_test_src) \
		$(insn_test_obj)

# Native execution beside relocated copies and emulation, where the host is of
# that kind. Without sanitizers: test code gets at any address, their own too.
native_machine := $(filter x86_64,$(shell uname -m))
native_obj := $(addprefix $(decode_O)/plain/,tests/test.o tests/host/main.o \
	lib/printf.o lib/string.o lib/text.o)
native_src = lib/insn.c $(wildcard arch/$*/insn.c arch/$*/reloc.c \
	arch/$*/emulate.c tests/host/decode/native_run_$*.c) \
	tests/host/decode/native_$*.c

$(decode_O)/plain/%.o: %.c
	@mkdir -p $(@D)
	gcc -std=gnu11 -O2 -g -D__SONDE_HOST__ -D_GNU_SOURCE -Iinclude \
		$(if $(filter lib/%,$<),-include tests/host/rename.h) \
		-MMD -MP -c -o $@ $<
-include $(native_obj:.o=.d)

$(decode_O)/native-%: $(decode_O)/%/gen/insn_table.h \
		$(decode_O)/%/gen/insn_corpus.h $(native_obj) force
	gcc $(decode_cflags) -o $@ $(native_src) $(native_obj)

# ppc64: in QEMU's user mode, built with Debian's big-endian libc.
ppc64_cc  := powerpc64-linux-gnu-gcc -static -std=gnu11 -O2 -g \
	-D__SONDE_HOST__ -D_GNU_SOURCE -Iinclude -Iarch/ppc64 \
	-I$(decode_O)/ppc64 -Wall -Wextra -Wshadow -Werror
ppc64_obj := $(native_obj:$(decode_O)/plain/%=$(decode_O)/plain-ppc64/%)

$(decode_O)/plain-ppc64/%.o: %.c
	@mkdir -p $(@D)
	$(ppc64_cc) $(if $(filter lib/%,$<),-include tests/host/rename.h) \
		-MMD -MP -c -o $@ $<
-include $(ppc64_obj:.o=.d)

$(decode_O)/%/gen/insn_corpus.h: arch/%/insn.map tools/insn-gen \
		tools/insn_gen/lines.py tools/insn_gen/%.py \
		tools/insn_gen/%_corpus.py
	@mkdir -p $(@D)
	tools/insn-gen --corpus $< >$@

$(decode_O)/native-ppc64: $(decode_O)/ppc64/gen/insn_table.h \
		$(decode_O)/ppc64/gen/insn_corpus.h $(ppc64_obj) force
	$(ppc64_cc) -o $@.elf lib/insn.c arch/ppc64/insn.c \
		arch/ppc64/reloc.c arch/ppc64/emulate.c \
		tests/host/decode/native_ppc64.c $(ppc64_obj)
	@printf '#!/bin/sh\nexec qemu-ppc64 -cpu power10 $@.elf "$$@"\n' >$@
	@chmod +x $@

.PHONY: insn-test
insn_tests := $(decode_machines:%=$(decode_O)/insn-test-%) \
	$(native_machine:%=$(decode_O)/native-%) $(decode_O)/native-ppc64
insn-test: $(insn_tests) ## instructions on the host [TEST=GLOB]
	@$(decode_run) $(^:%="timeout 300 % '$(TEST)'")

FUZZ_SECONDS ?= 60
$(decode_O)/fuzz-%: $(decode_O)/%/gen/insn_table.h tests/host/decode/fuzz.c \
		force
	clang $(decode_cflags) -O1 -fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=all -o $@ tests/host/decode/fuzz.c \
		$(filter-out tests/%,$(insn_test_src))

fuzz_one = '$(1) -max_total_time=$(FUZZ_SECONDS) -max_len=256 -verbosity=0 \
	-print_final_stats=1 -artifact_prefix=$(1)- 2>&1 && \
	echo 1 passed, 0 failed, 0 skipped'
.PHONY: fuzz
fuzz: $(decode_machines:%=$(decode_O)/fuzz-%) ## decode, relocate, emulate anything [FUZZ_SECONDS=60]
	@$(decode_run) $(foreach fuzz,$^,$(call fuzz_one,$(fuzz)))

# What tools/dis pipes objdump's lines through.
annotate_ppc64 := -DINSN_TEXT_LITTLE=insn_text_little
$(decode_O)/annotate-%: $(decode_O)/%/gen/insn_table.h tools/annotate.c \
		include/arch/insn.h lib/insn.c arch/%/insn.c arch/%/reloc.c \
		arch/%/emulate.c
	gcc $(decode_cflags) $(annotate_$*) -o $@ $(filter %.c,$^)

.PRECIOUS: $(decode_O)/%/gen/insn_table.h $(decode_O)/%/gen/insn_corpus.h
.PHONY: decode-test
decode-test: $(decode_machines:%=$(decode_O)/decode-%) ## decoders against others [FILES=...]
	@$(decode_run) $(foreach m,$(decode_machines),'$(decode_O)/decode-$m \
		-r $(RANDOM_STRINGS) tests/host/decode/$m.known $(FILES)')
