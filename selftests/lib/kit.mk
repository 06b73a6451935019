# SPDX-License-Identifier: GPL-2.0-only
#
# Compiles programs that use the kit: objects of DIR go to O/obj, those of the rooms beside this file to O/obj/lib; programs
# are static, so that they run in any guest. Needs g++ 13 or newer. The Makefile that includes this sets DIR and O before, and
# links KIT, SYNTH and PERFDATA as needed: each room needs those before it in this list.

LIB := $(dir $(lastword $(MAKEFILE_LIST)))

CXX ?= g++
ifneq ($(MAKECMDGOALS),clean)
# The programs write text with std::format, which the library of g++ has from 13 on.
ifneq ($(shell printf '\043include <format>\n' | $(CXX) -std=c++20 -x c++ -fsyntax-only - >/dev/null 2>&1 && echo has it),has it)
$(error auxpmu: the tests take a compiler with std::format: g++ 13 or newer (Debian 13); $(CXX) is \
	$(or $(shell $(CXX) --version 2>/dev/null | head -n 1),not there). Name another one with CXX=, or let the lab build: make check)
endif
endif
CXXFLAGS ?= -O2
WARN := -Wall -Wextra -Werror
# Includes name the room: "kit/event.h". <linux/auxpmu.h> is that of this tree, whatever is installed.
INCLUDES := -I$(LIB) -I$(LIB)../../uapi

room = $(patsubst $(LIB)%.cc,$(O)/obj/lib/%.o,$(wildcard $(LIB)$(1)/*.cc))
# To record, and to read what was recorded.
KIT := $(call room,kit)
# To have a synthetic PMU make trace, and to prove it.
SYNTH := $(call room,synth)
# To prove what perf recorded of one.
PERFDATA := $(call room,perfdata)

compile = $(CXX) -std=c++20 $(CXXFLAGS) $(WARN) $(INCLUDES) -MMD -MP -c -o $@ $<
link = $(CXX) -static $(CXXFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS)

$(O)/obj/lib/%.o: $(LIB)%.cc
	@mkdir -p $(@D)
	$(compile)

$(O)/obj/%.o: $(DIR)%.cc
	@mkdir -p $(@D)
	$(compile)

# The verifier reads every byte of every trace.
$(O)/obj/lib/synth/trace_%.o: CXXFLAGS += -O3

-include $(foreach room,/ /*/ /lib/*/,$(wildcard $(O)/obj$(room)*.d))
