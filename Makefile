# SPDX-License-Identifier: GPL-2.0-only
#
# Everything that a person runs; `make help` lists it. Kbuild builds the modules; the
# scripts in selftests/vm do whatever needs a guest or another kernel's headers.

VERSION := $(shell cat VERSION)
VM := selftests/vm

comma := ,
# The kernel to build for and to install to.
KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
# Kernels of the lab: one for modules and vm, several for check, soak and bench; ARCH= selects another architecture
# (selftests/vm/arch).
KERNEL ?=
DESTDIR ?=
built := .
devel = $(DESTDIR)/usr/lib/auxpmu/$(KVER)
dkms_source := /usr/src/auxpmu-$(VERSION)
man4 = $(DESTDIR)/usr/share/man/man4
pages := $(wildcard docs/man/*.4)
modules := auxpmu auxpmu_synth auxpmu_pt auxpmu_bts auxpmu_etm
public_headers := $(addprefix module/,auxpmu.h chunks.h window.h software.h kernels.h)

# What the lab's scripts take from the environment.
export AUXPMU_CACHE MIRROR MIRROR_SECURITY
export SMP MEM APPEND ACCEL QEMU_ARGS HW PROFILE FAULT LENIENT SEED HANG LIMIT TESTS DEBUG FRESH
# Exported only if not empty: the kernel's Makefile asks only whether it is set.
ifneq ($(ARCH),)
export ARCH
endif
# Unexpanded: make would take the $ of a shell command for its own.
export VM_RUN := $(value RUN)
# The directory in which the user typed make, also with make -C.
export VM_PWD := $(value PWD)

# --- modules ------------------------------------------------------------------------

ifeq ($(KERNEL),)
modules: need-headers ## (default) build for the running kernel; KVER= or KDIR= another; KERNEL= one of the lab, ARCH=arm64 of that architecture
	@$(MAKE) -C "$(KDIR)" M="$(CURDIR)" modules
else
modules:
	@$(VM)/lab make $(if $(filter 6.12,$(KERNEL)),demo,check)
	@$(VM)/modules "$(KERNEL)"
endif

# Kbuild takes a path with a blank for two.
need-headers:
	@[ $(words $(CURDIR)) = 1 ] || { echo "auxpmu: Kbuild cannot build in \"$(CURDIR)\", a path with a blank:" \
		"move the project, or make modules KERNEL= in the lab" >&2; exit 1; }
	@[ -e "$(KDIR)/Makefile" ] || { echo "auxpmu: no headers of kernel $(KVER) in $(KDIR):" \
		"apt-get install linux-headers-$(KVER), or name another place with KDIR=" >&2; exit 1; }

# Not by Kbuild: the headers of the kernel it was built for may be gone.
clean: ## remove what was built, not the lab
	@find $(wildcard module drivers) -type f \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' \
		-o -name '.*.cmd' -o -name '.*.d' -o -name 'features.h*' -o -name Module.symvers -o -name modules.order \) -delete
	@rm -f *.o .*.o *.ko *.mod *.mod.c .*.cmd .*.d Module.symvers modules.order
	@rm -rf build auxpmu-*.tar.gz hwsim-*.tar.gz

# --- installation -------------------------------------------------------------------

# What writes to the machine says who has to run it before it does anything.
need-root:
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" = 0 ] || { echo "auxpmu: make $(MAKECMDGOALS) writes to /usr and /lib/modules:" \
		"sudo make $(MAKECMDGOALS)$(if $(filter install,$(MAKECMDGOALS)), (or DESTDIR=folder))" >&2; exit 1; }

# One installation at a time: modules of both kinds would replace and remove each other's.
by_make = $(wildcard $(foreach dir,$(1),$(DESTDIR)$(dir)/updates/auxpmu.ko*))
by_dkms = $(wildcard $(DESTDIR)/lib/modules/$(KVER)/updates/dkms/auxpmu.ko*)

# The package that owns user space's header, which both kinds of installation write.
user_header = $(DESTDIR)/usr/include/linux/auxpmu.h
header_owner = $(if $(DESTDIR),,$(shell dpkg-query -S "$(user_header)" 2>/dev/null | sed 's/:.*//'))

# Without a key to sign with Kbuild prints an OpenSSL error for each module, and installs it all the same.
unsigned = $(shell key=$$(sed -nE 's/^CONFIG_MODULE_SIG_KEY="?([^"]*)"?$$/\1/p' "$(KDIR)/include/config/auto.conf" 2>/dev/null); \
	   case $$key in (pkcs11:*) ;; (*) cd "$(KDIR)" && [ -e "$$key" ] || echo CONFIG_MODULE_SIG_ALL= ;; esac)

install: need-root need-headers header-not-packaged ## install modules, headers, Module.symvers and man pages (DESTDIR=); build first
	@[ -z "$(by_dkms)" ] || { echo "auxpmu: DKMS has installed the modules for kernel $(KVER):" \
		"remove them first, with make dkms-uninstall or apt-get remove auxpmu-dkms" >&2; exit 1; }
	@$(MAKE) -s devel-install
	@$(MAKE) -C "$(KDIR)" M="$(CURDIR)" $(unsigned) $(if $(DESTDIR),INSTALL_MOD_PATH="$(DESTDIR)") INSTALL_MOD_DIR=updates modules_install
	@$(if $(DESTDIR),,depmod "$(KVER)" && echo "auxpmu: installed for kernel $(KVER), depmod included: sudo modprobe auxpmu")

devel-install: kernel-devel-install
	@install -d "$(DESTDIR)/usr/include/linux" "$(man4)"
	@install -m 644 uapi/linux/auxpmu.h "$(user_header)"
	@install -m 644 $(pages) "$(man4)"

# Only what belongs to one kernel.
kernel-devel-install:
	@[ -e $(built)/Module.symvers ] || { echo "auxpmu: nothing is built yet: make" >&2; exit 1; }
	@install -d "$(devel)/include/uapi/linux"
	@install -m 644 $(public_headers) $(built)/module/features.h "$(devel)/include"
	@install -m 644 uapi/linux/auxpmu.h "$(devel)/include/uapi/linux"
	@install -m 644 $(built)/Module.symvers VERSION "$(devel)"

uninstall: need-root ## undo install
	@[ -z "$(by_dkms)" ] || { echo "auxpmu: it is DKMS that has installed the modules for kernel $(KVER): make dkms-uninstall" >&2; exit 1; }
ifeq ($(call by_make,/lib/modules/$(KVER))$(wildcard $(devel)),)
	@echo "auxpmu: nothing is installed for kernel $(KVER); KVER= names another"
else
	@rm -rf "$(devel)"
	@rmdir --ignore-fail-on-non-empty "$(DESTDIR)/usr/lib/auxpmu" 2>/dev/null || true
	@[ -e "$(DESTDIR)/usr/lib/auxpmu" ] || rm -f $(if $(header_owner),,"$(user_header)") $(foreach page,$(notdir $(pages)),"$(man4)/$(page)") # shared by all kernels
	@rm -f $(foreach name,$(modules),"$(DESTDIR)/lib/modules/$(KVER)/updates/$(name)".ko*)
	@rmdir --ignore-fail-on-non-empty "$(DESTDIR)/lib/modules/$(KVER)/updates" "$(man4)" 2>/dev/null || true
	@$(if $(DESTDIR),,depmod "$(KVER)")
endif

dkms-install: need-root not-packaged header-not-packaged ## let DKMS build and install the modules, now and for every kernel to come
	@command -v dkms >/dev/null || { echo "auxpmu: dkms is missing: apt-get install dkms" >&2; exit 1; }
	@[ ! -e "$(dkms_source)" ] || { echo "auxpmu: version $(VERSION) is there already: make dkms-uninstall" >&2; exit 1; }
	@[ -z "$(call by_make,/lib/modules/*)" ] || { echo "auxpmu: make install has installed $(call by_make,/lib/modules/*):" \
		"make uninstall (KVER= names its kernel)" >&2; exit 1; }
	@$(pack) -c $(dist_files) | tar -x -C /usr/src
	@dkms install "auxpmu/$(VERSION)" -k "$(KVER)" $(if $(filter file,$(origin KDIR)),,--kernelsourcedir "$(KDIR)") || \
		{ $(MAKE) -s dkms-uninstall; echo "auxpmu: not installed, see above" >&2; exit 1; }

dkms-uninstall: need-root not-packaged ## undo dkms-install, for all kernels
	@[ -e "$(dkms_source)" ] || echo "auxpmu: DKMS has no version $(VERSION)"
	@[ ! -e "/var/lib/dkms/auxpmu/$(VERSION)" ] || dkms remove "auxpmu/$(VERSION)" --all
	@rm -rf "$(dkms_source)"

# What a package has put there is the package manager's.
not-packaged:
	@! dpkg-query -S "$(dkms_source)/dkms.conf" >/dev/null 2>&1 || \
		{ echo "auxpmu: version $(VERSION) is there, from a package: apt-get purge auxpmu-dkms" >&2; exit 1; }

header-not-packaged:
	@$(if $(header_owner),echo "auxpmu: $(user_header) belongs to the package $(header_owner): apt-get purge $(header_owner)$(comma)" \
		"or install the modules as a package$(comma) too (make deb)" >&2; exit 1)

# Only what is needed to build and install; works in an unpacked tarball, too.
dist_files = Kbuild Makefile VERSION dkms.conf packaging $(wildcard README.md CONTRIBUTING.md LICENSE CHANGELOG.md) \
	$(shell find module uapi drivers docs -type f \( -name '*.[chS]' -o -name '*.sh' -o -name '*.md' -o -name '*.svg' -o -name '*.4' \
		-o -name Kbuild -o -name Makefile \) ! -name '*.mod.c' ! -path module/features.h 2>/dev/null)

pack_any = tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$${SOURCE_DATE_EPOCH:-$$(date +%s)}
pack = $(pack_any) --transform='s,^,auxpmu-$(VERSION)/,'

dist: ## the source tarball, for packagers
	@$(pack) -czf auxpmu-$(VERSION).tar.gz $(dist_files)
	@echo auxpmu-$(VERSION).tar.gz

# --- lab and guests -------------------------------------------------------------------

# The tarball of make dist has what it takes to build and install, and no lab.
ifeq ($(wildcard $(VM)/lab),)
in_a_lab := dist-hwsim deb deb-check demo pt bts check quick soak bench fuzz fuzz-hwsim coverage planted vm lab lab-refresh new-backend
$(in_a_lab):
	@echo "auxpmu: make $@ is not in the source tarball: it takes a clone of the repository" >&2; exit 1
else

# The virtual trace hardware alone, with its documentation as README, for other projects.
hwsim_files = $(shell git ls-files selftests/hwsim 2>/dev/null || find selftests/hwsim -type f -not -path '*/build/*')

dist-hwsim: ## the virtual trace hardware as a tarball of its own
	@$(pack_any) --transform='s,^docs/virtual-hardware.md,README.md,;s,^selftests/hwsim/,,;s,^,hwsim-$(VERSION)/,' \
		-czf hwsim-$(VERSION).tar.gz LICENSE VERSION docs/virtual-hardware.md $(hwsim_files)
	@echo hwsim-$(VERSION).tar.gz

deb: ## packages for Debian, in build/deb: auxpmu-dkms, auxpmu-tools, qemu-trace-hwsim
	@$(VM)/lab make check
	@packaging/deb

deb-check: ## build them twice, and install, upgrade and purge them in Debian 12, 13 and sid, for all kernels
	@$(VM)/lab make check
	@$(VM)/deb --all

demo: ## everything from nothing: lab, modules, a guest, a trace, verified; ARCH=
	@$(VM)/demo

pt: ## a shell with perf, gdb and cc at a virtual Intel PT, in the current directory; RUN='cmd' DRIVER=auxpmu_pt KERNEL=6.12 PROFILE= SMP= SHARE=dir LOGS=dir HW= FAULT=
	@$(VM)/shell pt "$$VM_RUN"

bts: ## the same at a virtual branch trace store; DRIVER=auxpmu_bts
	@$(VM)/shell bts "$$VM_RUN"

check: ## all tests, in the lab and on all kernels; KERNEL="6.12 7.2" TESTS=pattern DEBUG=1 ARCH=arm64
	@$(VM)/check $(KERNEL)

quick: ## a few minutes of make check, of one kernel, and what that leaves out; KERNEL=
	@$(VM)/check --quick $(KERNEL)

soak: ## long runs in guests: KERNEL= ARCH=arm64
	@$(VM)/check --only guest-soak $(KERNEL)

bench: ## measurements in guests: KERNEL=
	@$(VM)/check --only guest-bench $(KERNEL)

fuzz: $(if $(KERNEL),modules,need-kernel) ## operations on AUX PMUs from seeds, in a guest: KERNEL= SEED=1 MINUTES=10; HW=pt or bts PROFILE=skylake on virtual hardware; CONTROL=1 without auxpmu; TRIES= to shorten what a guest dies of
	@$(VM)/programs
ifeq ($(HW),)
	@$(VM)/lab run -l check -e "CONTROL=$(CONTROL)" -e "TRIES=$(TRIES)" -- selftests/fuzz/run "$(KERNEL)" "$(or $(SEED),1)" "$(or $(MINUTES),10)"
else
	@$(VM)/lab run -l check $(if $(CONTROL),,-e DRIVER=auxpmu_$(HW)) -e "SEED=$(or $(SEED),1)" -e "FUZZ=--seconds $$((60 * $(or $(MINUTES),10)))" \
		-e "LIMIT=$$((900 + 120 * $(or $(MINUTES),10)))" -- selftests/hwsim/guest-check "$(KERNEL)" "$(or $(PROFILE),skylake)" $(HW),pmu fuzz-users
endif

fuzz-hwsim: $(if $(KERNEL),,need-kernel) ## random programs of users and in ring 0, traced by the virtual hardware and stepped: KERNEL= PROFILE=skylake SEED=1 MINUTES=10 of each
	@$(VM)/programs
	@$(VM)/lab run -l check -e "SEED=$(or $(SEED),1)" -e "FUZZ=--seconds $$((60 * $(or $(MINUTES),10)))" -e "LIMIT=$$((900 + 240 * $(or $(MINUTES),10)))" \
		-- selftests/hwsim/guest-check "$(KERNEL)" "$(or $(PROFILE),skylake)" pt,bts,pmu fuzz fuzz-kernel

coverage: ## which lines of the modules the tests, the fuzzer and fault knobs reach; NAME= of guests
	@selftests/coverage/run $(NAME)

planted: ## plant bugs in copies of the tree and see the tests catch them; KERNEL= (6.12), FRESH=1, ARCH=arm64, after make check
	@$(VM)/planted $(or $(KERNEL),6.12)

vm: $(if $(KERNEL),$(if $(MODULE),,modules),need-kernel) ## boot KERNEL= with the modules; MODULE=folder tests that backend; ARCH=arm64 RUN='cmd' SHARE=dir SMP= MEM= APPEND= ACCEL=tcg|kvm QEMU_ARGS= HW=pt,bts,pmu PROFILE= FAULT= LENIENT= SEED= LOGS=dir
ifneq ($(MODULE),)
	@$(VM)/backend "$(KERNEL)" "$(MODULE)" "$$VM_RUN"
else
	@SAY_LOG=1 $(VM)/run --kernel "$(KERNEL)" --inst /auxpmu/build/$(KERNEL)/inst --log "/auxpmu/build/log/vm/$(KERNEL)" \
		$(if $(SHARE),--share "$(SHARE)") $(if $(LOGS),--logs "$(LOGS)") "$$VM_RUN"
endif

new-backend: ## a repository for a backend of your own, which passes the tests: NAME= DIR=
	@packaging/new-backend "$(NAME)" $(if $(DIR),"$(DIR)")

need-kernel:
	@echo "auxpmu: make $(firstword $(MAKECMDGOALS)): KERNEL= which? Say KERNEL=6.12; after make lab, selftests/vm/lab kernels lists them" >&2; exit 1

lab: ## make the lab, the cached Debian tree with all tools and kernels
	@$(VM)/lab make check

lab-refresh: ## make it again from the packages of today
	@$(VM)/lab refresh

endif # in_a_lab

help: ## this list
	@sed -nE $(if $(in_a_lab),-e '/^ifeq.*lab/$(comma)/^endif # in_a_lab/d') -e 's/^([a-z-]+):[^#]*## (.*)/\1\t\2/p' Makefile | expand -t 16

.DEFAULT_GOAL := modules
.PHONY: modules need-headers need-root clean install devel-install kernel-devel-install uninstall dkms-install dkms-uninstall not-packaged header-not-packaged \
	dist dist-hwsim deb deb-check demo pt bts check quick soak bench fuzz fuzz-hwsim coverage planted vm need-kernel new-backend lab \
	lab-refresh help
