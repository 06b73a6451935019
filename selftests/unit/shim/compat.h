/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef UNIT_SHIM_COMPAT_H
#define UNIT_SHIM_COMPAT_H

#include <linux/perf_event.h>

#include "kernel.h"

/* As in module/compat.h, for a kernel that has config3. */
static inline bool auxpmu_more_config(const struct perf_event_attr *attr)
{
	return attr->config1 | attr->config2 | attr->config3;
}

#endif
