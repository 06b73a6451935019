/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two NMI handlers around the kernel's handler of performance interrupts, which acknowledges and
 * unmasks them whoever they are for: the first sees an interrupt as it comes, the second after the
 * kernel has acknowledged it. May sleep.
 */
#ifndef AUXPMU_INTEL_NMI_H
#define AUXPMU_INTEL_NMI_H

#include <linux/compiler.h>
#include <linux/list.h>

#include <asm/nmi.h>

/* The in-tree PMUs of the processor: each has that handler. */
static const char *const intel_nmi_kernels[] __maybe_unused = {
	"cpu", "cpu_core", "cpu_atom", NULL
};

/*
 * Each CPU calls this function when the kernel crashes into a kdump kernel (in NMI, except on the
 * CPU that crashes); it stops the in-tree driver of Intel PT.
 */
#define INTEL_CRASH	"cpu_emergency_stop_pt"

struct intel_nmi {
	struct nmiaction first;
	struct nmiaction second;
};

#define INTEL_NMI(_first, _first_name, _second, _second_name)			\
	{									\
		.first = {							\
			.handler = (_first),					\
			.flags = NMI_FLAG_FIRST,				\
			.name = (_first_name),					\
		},								\
		.second = {							\
			.handler = (_second),					\
			.name = (_second_name),					\
		},								\
	}

static inline int intel_nmi_register_one(struct nmiaction *one)
{
	INIT_LIST_HEAD(&one->list);
	return __register_nmi_handler(NMI_LOCAL, one);
}

static inline void intel_nmi_unregister_one(const struct nmiaction *one)
{
	unregister_nmi_handler(NMI_LOCAL, one->name);
}

static inline int intel_nmi_register(struct intel_nmi *nmi)
{
	int ret = intel_nmi_register_one(&nmi->first);

	if (ret)
		return ret;
	ret = intel_nmi_register_one(&nmi->second);
	if (ret)
		intel_nmi_unregister_one(&nmi->first);
	return ret;
}

static inline void intel_nmi_unregister(const struct intel_nmi *nmi)
{
	intel_nmi_unregister_one(&nmi->second);
	intel_nmi_unregister_one(&nmi->first);
}

#endif /* AUXPMU_INTEL_NMI_H */
