/* SPDX-License-Identifier: GPL-2.0-only */
/* The user-space view of events, and those parts of the kernel's side that the pure parts of drivers/ access. */
#ifndef UNIT_SHIM_LINUX_PERF_EVENT_H
#define UNIT_SHIM_LINUX_PERF_EVENT_H

#include_next <linux/perf_event.h>

#include "../kernel.h"

struct auxpmu_event;
struct perf_event {
	struct perf_event_attr attr;
	struct perf_event *parent;
	struct auxpmu_event *pmu_private;
};

#endif
