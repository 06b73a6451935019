# SPDX-License-Identifier: GPL-2.0-only
#
# Everything a person runs. The work is done by Kbuild (modules) and by the
# scripts in selftests/vm (everything in a guest or in the lab).

VM := selftests/vm
KERNEL ?=
export MIRROR MIRROR_SECURITY AUXPMU_CACHE
export SMP MEM APPEND ACCEL QEMU_ARGS HANG LIMIT

modules: ## build the modules for KERNEL=, a kernel of the lab, into build/KERNEL
	@$(VM)/lab make $(if $(filter 6.12,$(KERNEL)),demo,check)
	@$(VM)/modules "$(KERNEL)"

vm: modules ## boot KERNEL= with the modules ready; RUN='cmd' SHARE=dir SMP= MEM= APPEND= ACCEL= QEMU_ARGS=
	@$(VM)/run --kernel "$(KERNEL)" $(if $(SHARE),--share "$(SHARE)") --inst /auxpmu/build/$(KERNEL)/inst $(if $(RUN),"$$VM_RUN")

lab: ## make the lab: one Debian root tree in the cache, with all tools and kernels
	@$(VM)/lab make check

.PHONY: modules vm lab
# As typed: make would take the $ of a shell command for its own.
export VM_RUN := $(value RUN)
