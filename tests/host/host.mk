# SPDX-License-Identifier: MIT
#
# Host tests: lib/ and boot/ built for the machine that builds, with the
# sanitizers on, and linked with tests/host/*.c and tests/lib/*.c (which the
# kernel runs too) into one program.
#	make host-test [TEST=GLOB]

HOST_CC ?= gcc
host_O := build/host
# lib/insn.c belongs to the instruction layer, which has its own tests.
host_src := $(filter-out lib/insn.c tests/host/%insn%, \
	$(wildcard lib/*.c boot/*.c tests/test.c tests/lib/*.c \
	tests/host/*.c))
host_obj := $(host_src:%.c=$(host_O)/%.o)
host_warnings := -Wall -Wextra -Wshadow -Wundef -Wvla -Wstrict-prototypes \
	-Wmissing-prototypes -Werror
# No builtins: otherwise the compiler would call libc's functions where a test
# means ours. No vptr and no recovery: the first finding ends the run.
HOST_CFLAGS := -std=gnu11 -O1 -g -D__SONDE_HOST__ -D_GNU_SOURCE -Iinclude \
	-fno-omit-frame-pointer -fsanitize=address,undefined \
	-fno-sanitize-recover=all $(host_warnings)

# These define names that libc has too.
$(host_O)/lib/string.o $(host_O)/lib/printf.o: \
	HOST_CFLAGS += -include tests/host/rename.h
# Looks at one machine's jumps.
$(host_O)/tests/host/t_window.o: HOST_CFLAGS += -Iarch/x86_64
# Would take the place of the sanitizer's own handlers.
$(host_O)/lib/ubsan.o: HOST_CFLAGS += -fno-sanitize=all \
	'-DUBSAN_HANDLER(name)=sonde_ubsan_\#\#name'

$(host_O)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,HOSTCC,$<)
	$(Q)$(HOST_CC) $(HOST_CFLAGS) -MMD -MP -c -o $@ $<

$(host_O)/sonde-host-test: $(host_obj)
	$(call say,HOSTLD,$@)
	$(Q)$(HOST_CC) $(HOST_CFLAGS) -o $@ $^

# The framework on cases that fail: its report must be the expected one.
selftest_obj := $(addprefix $(host_O)/,tests/host/selftest/cases.o \
	tests/host/main.o tests/test.o lib/printf.o lib/text.o lib/string.o)
$(host_O)/selftest: $(selftest_obj)
	$(Q)$(HOST_CC) $(HOST_CFLAGS) -o $@ $^

.PHONY: host-test
host-test: $(host_O)/sonde-host-test $(host_O)/selftest ## lib/ and boot/ under sanitizers [TEST=GLOB]
	@$(host_O)/selftest | diff -u tests/host/selftest/expected -
	@timeout 300 $< '$(TEST)'

-include $(host_obj:.o=.d) $(selftest_obj:.o=.d)
